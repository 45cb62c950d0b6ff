"""Reads and writes plain SSTP messages, of which no rule has a finding. Twin of ``_native/sstp/codec.pyx``.

This twin asks the rules themselves; the compiled one may take a plain message for one that is not, and then they are
asked, too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from turnwire.contract import LIMITS
from turnwire.errors import EncodeError
from turnwire.json._write_py import compacted, write
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

    __slots__ = ("classes", "closer", "kinds", "read")

    def __init__(
        self,
        kinds: list[tuple[str, type, str, tuple[Row, ...], tuple[Row, ...]]],
        read: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
        closer: Callable[[dict[str, Any], Any], Any],
    ) -> None:
        self.read = read
        self.closer = closer
        self.classes = frozenset(cls for _, cls, _, _, _ in kinds)
        self.kinds = {word: cls for word, cls, _, _, _ in kinds}

    def is_known(self, message: Any) -> bool:
        """True if a message was found plain, and nothing that could be changed has been handed out since."""
        return type(message) in self.classes and message._plain is not False

    def is_plain(self, fields: Any) -> bool:
        """True if no rule can have a finding about this object."""
        return self._class(fields) is not None

    def decode(self, data: Any, limits: Any) -> Any:
        """The message in ``data``. Raises DecodeError."""
        fields, _ = self.read(data, limits)
        message = self._made(fields, data)
        if limits is LIMITS:
            message._text = data if type(data) is bytes or type(data) is str else input_bytes(data, WIRE)
        return message

    def message(self, fields: dict[str, Any], data: Any) -> Any:
        """A message over the object that was read from ``data``. Raises DecodeError."""
        return self._made(fields, data)

    def _made(self, fields: dict[str, Any], data: Any) -> Any:
        cls = self._class(fields)
        if cls is None:
            return self.closer(fields, data)
        message = cls.of(fields)
        message._plain = True
        return message

    def text(self, message: Any, strict: bool) -> str | None:
        """The text of a message that is plain, and that strict writing takes; None where that is not sure."""
        if type(message) not in self.classes:
            return None
        fields = message._fields
        if not message._plain and (message._text is not None or self._class(fields) is not type(message)):
            return None
        if strict and "session_id" not in fields["header"]:
            return None
        if message._text is not None:
            return compacted(message._text)
        try:
            return write(fields)
        except EncodeError:
            return None

    def _class(self, fields: Any) -> Any:
        """The class of a plain object, None for one that is not plain."""
        return None if any(findings(fields)) else self.kinds[fields["header"]["kind"]]
