"""Reads plain SSTP messages, of which no rule has a finding. Twin of ``_native/sstp/codec.pyx``.

This twin asks the rules themselves; the compiled one may take a plain message for one that is not, and then they are
asked, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.contract import LIMITS
from turnwire.json.faults import input_bytes
from turnwire.sstp.rules import findings
from turnwire.sstp.spec import WIRE

Row = tuple[str, str, bool]
"""(name, type, whether its absence is a finding), with the type words of ``turnwire.sstp.spec.Field``."""


class PlainCodec:
    """Tells plain messages from those that need a closer look.

    Args:
        kinds: for each kind its word, its class (with slots ``_fields``, ``_plain`` and ``_text``), its schema_id,
            the rows of its header (without kind and schema_id) and those of its payload.
        read: reads text into an object, which it returns with the text where writing it gives that again; takes the
            text and the limits.
        closer: makes a message from an object that is not plain, and the text it was read from.
    """

    def __init__(
        self,
        kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]],
        read: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
        closer: Callable[[dict[str, Any], Any], Any],
    ) -> None:
        self.read = read
        self.closer = closer
        self.kinds = {word: cls for word, cls, _, _, _ in kinds}

    def is_known(self, message: Any) -> bool:
        """True if a message was found plain, and nothing that could be changed has been handed out since."""
        return type(message) in self.kinds.values() and message._plain is not False

    def is_plain(self, fields: Any) -> bool:
        """True if no rule can have a finding about this object."""
        return not any(findings(fields))

    def decode(self, data: Any, limits: Any) -> Any:
        """The message in ``data``. Raises DecodeError."""
        fields, _ = self.read(data, limits)
        message = self.message(fields, data)
        if limits is LIMITS:
            message._text = data if type(data) is bytes or type(data) is str else input_bytes(data, WIRE)
        return message

    def message(self, fields: dict[str, Any], data: Any) -> Any:
        """A message over the object that was read from ``data``. Raises DecodeError."""
        if not self.is_plain(fields):
            return self.closer(fields, data)
        message = self.kinds[fields["header"]["kind"]].of(fields)  # type: ignore[attr-defined]
        message._plain = True
        return message

    def text(self, message: Any, strict: bool) -> Any:
        """None: this twin leaves all writing to ``turnwire.sstp.codec``."""
        return None
