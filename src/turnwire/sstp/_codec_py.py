"""The quick judgement of an SSTP object, that it is plain, so that no rule has a finding.

Twin of ``_native/sstp/codec.pyx``.

"Plain" errs on the careful side: what is not plain goes through ``turnwire.sstp.rules``, which says what is wrong, if
anything is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turnwire.errors import EncodeError
from turnwire.json._write_py import write

Row = tuple[str, str, bool]
"""(name, type, whether its absence is a finding), with the type words of ``turnwire.sstp.spec.Field``."""


def _text(value: Any) -> bool:
    return type(value) is str and value[:1] > " " and value[0] != "<"


def _clock(value: Any) -> bool:
    return type(value) is int and value > 0


def _fraction(value: Any) -> bool:
    return type(value) in (float, int) and 0 <= value <= 1


def _list(value: Any) -> bool:
    return type(value) is list


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


def _text_or_null(value: Any) -> bool:
    return value is None or _text(value)


def _artifacts(value: Any) -> bool:
    return type(value) is list and all(
        isinstance(item, dict)
        and _text(item.get("type"))
        and _text(item.get("name"))
        and "value" in item
        and (not isinstance(item["value"], str) or _text(item["value"]))
        for item in value
    )


_JUDGES: dict[str, Callable[[Any], bool]] = {
    "text": _text,
    "clock": _clock,
    "fraction": _fraction,
    "list": _list,
    "texts": _texts,
    "text_or_null": _text_or_null,
    "artifacts": _artifacts,
}


class PlainCodec:
    """Tells plain messages from those that need a closer look.

    Args:
        kinds: for each kind its word, its class (with slots ``_fields``, ``_plain`` and ``_held``), its schema_id,
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
        self.kinds = {
            word: (
                cls,
                schema,
                [(name, _JUDGES[kind], needed) for name, kind, needed in header],
                [(name, _JUDGES[kind], needed) for name, kind, needed in payload],
            )
            for word, cls, schema, header, payload in kinds
        }

    def is_known(self, message: Any) -> bool:
        """True if a message was found plain, and nothing that could be changed has been handed out since."""
        return type(message) in self.classes and message._plain is not False

    def is_plain_text(self, data: Any) -> bool:
        """True if a text is surely a plain message, which this twin cannot tell without reading it."""
        return False

    def is_plain(self, fields: Any) -> bool:
        """True if no rule can have a finding about this object."""
        return self._class(fields) is not None

    def decode(self, data: Any, limits: Any) -> Any:
        """The message in ``data``. Raises DecodeError."""
        fields, source = self.read(data, limits)
        return self._made(fields, data, True if source is None else source)

    def message(self, fields: dict[str, Any], data: Any) -> Any:
        """A message over the object that was read from ``data``. Raises DecodeError."""
        return self._made(fields, data, True)

    def _made(self, fields: dict[str, Any], data: Any, plain: Any) -> Any:
        cls = self._class(fields)
        if cls is None:
            return self.closer(fields, data)
        message = cls.__new__(cls)
        message._fields = fields
        message._plain = plain
        return message

    def text(self, message: Any, strict: bool) -> str | None:
        """The text of a message that is plain, and that strict writing takes; None where that is not sure."""
        if type(message) not in self.classes:
            return None
        fields, plain = message._fields, message._plain
        if not plain and self._class(fields) is not type(message):
            return None
        if strict and "session_id" not in fields["header"]:
            return None
        if isinstance(plain, bool):
            try:
                return write(fields)
            except EncodeError:
                return None
        return plain.decode() if isinstance(plain, bytes) else plain

    def _class(self, fields: Any) -> Any:
        header = fields.get("header")
        payload = fields.get("payload")
        if not isinstance(header, dict) or not isinstance(payload, dict):
            return None
        word = header.get("kind")
        known = self.kinds.get(word) if type(word) is str else None
        if known is None or "protocol" in header or ("directed_to" in header and "directed_to" in payload):
            return None
        cls, schema, header_rows, payload_rows = known
        if header.get("schema_id") != schema or not _conforms(header, header_rows):
            return None
        if "directed_to" in header:
            return cls if _conforms({**payload, "directed_to": header["directed_to"]}, payload_rows) else None
        return cls if _conforms(payload, payload_rows) else None


def _conforms(part: dict[str, Any], rows: Iterable[tuple[str, Callable[[Any], bool], bool]]) -> bool:
    for name, judge, needed in rows:
        if name in part:
            if not judge(part[name]):
                return False
        elif needed:
            return False
    return True
