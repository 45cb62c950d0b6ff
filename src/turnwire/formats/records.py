"""Records of formats: reads an object by its table, and returns it as a message like that of any wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire.contract import LIMITS, Limits, Refusal, record_bytes
from turnwire.errors import DecodeError, Reason
from turnwire.json.plan import MISSING, value_at
from turnwire.json.text import input_bytes, read_object, refusal, write
from turnwire.message import Message

if TYPE_CHECKING:
    from typing import Self

    from typing_extensions import Buffer

    from turnwire.formats.table import Compiled

_KINDS = {str: "string", dict: "object", list: "array", bool: "boolean", type(None): "null", float: "fraction"}


def kind_of(value: Any) -> str:
    """The kind of a JSON value, by the words of ``turnwire.json.plan.KINDS``."""
    if type(value) is int:
        return "negative" if value < 0 else "count"
    return _KINDS[type(value)]


def _in_words(*kinds: str) -> str:
    """Kinds of JSON values, for people."""
    names = dict.fromkeys("number" if kind in ("count", "negative", "fraction") else kind for kind in kinds)
    return " or ".join(f"{'an' if name[0] in 'ao' else 'a'} {name}" for name in names)


class Record(Message):
    """A record of a format: the object as it was read, in ``fields``; members that the table does not name are there,
    too. Compares by value; the attributes of every message (``kind``, ``sender``, ``time`` ...) are the values of a
    scan."""

    __slots__ = ("fields",)

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = fields

    def __eq__(self, other: object) -> bool:
        return (
            self.fields == other.fields if isinstance(other, Record) and type(other) is type(self) else NotImplemented
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<{self.__wire__} {', '.join(self.fields)}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _of, (self.__wire__, self.fields)

    def plain_values(self) -> dict[str, Any]:
        """The object as it was read: ``fields`` itself."""
        return self.fields

    def replace(self, **changes: Any) -> Self:
        """A copy with some members of the object replaced or added. Raises DecodeError."""
        return self.from_dict({**self.fields, **changes})


def _of(wire: str, fields: dict[str, Any]) -> Any:
    from turnwire.registry import wire as named

    return named(wire).message(fields)


class Reading:
    """Reads and writes the records of a format, by its layouts in their order."""

    def __init__(self, wire: str, layouts: Sequence[Compiled]) -> None:
        self.wire, self.layouts = wire, tuple(layouts)
        self.message: type[Record] = type(
            f"{wire.title().replace('_', '')}Record", (Record,), {"__wire__": wire, "__slots__": ()}
        )
        self._last: tuple[bytes, Limits, dict[str, Any]] = (b"{}", LIMITS, {})

    def _fields(self, data: str | Buffer, limits: Limits = LIMITS) -> dict[str, Any]:
        """The object in some bytes; each layout asks for it. Raises DecodeError."""
        raw = data if type(data) is bytes else input_bytes(data, self.wire)
        last = self._last
        if last[:2] != (raw, limits):
            last = self._last = (raw, limits, read_object(raw, self.wire, limits=limits))
        return last[2]

    def is_of(self, layout: Compiled, data: str | Buffer) -> bool:
        """True if these bytes are an object with the signs of a layout. Never raises."""
        raw = record_bytes(data) or b""
        if not all(f'"{key}"'.encode() in raw for key in layout.keys):
            return False
        try:
            return layout.is_signed(self._fields(raw))
        except DecodeError:
            return False

    def detect(self, data: str | Buffer) -> bool:
        """True if the members of one record are those of this format. Never raises."""
        return any(self.is_of(layout, data) for layout in self.layouts)

    def decode(
        self, data: str | Buffer, *, limits: Limits = LIMITS, unknown: str = "error", layout: Compiled | None = None
    ) -> Record:
        """Reads the record in ``data``: one JSON object, with white space around it ignored. layout: the one that is
        asked first. Raises DecodeError if it is not strict JSON, lacks the signs of the format, or a required member is
        missing or of another type."""
        fields = self._fields(data, limits) if layout else read_object(data, self.wire, limits=limits)
        refused = self._fault(layout, fields) if layout and layout.is_signed(fields) else self.fault(fields)
        if refused is not None:
            raise refusal(data, self.wire, *refused)
        return self.message(fields)

    def fault(self, fields: dict[str, Any]) -> Refusal | None:
        """The fault for which an object is no record: reason, words, JSON pointer; None if it is one."""
        layout = next((layout for layout in self.layouts if layout.is_signed(fields)), None)
        if layout is None:
            return Reason.UNKNOWN_KIND, f"this object has no members of {self.wire}", ""
        return self._fault(layout, fields)

    @staticmethod
    def _fault(layout: Compiled, fields: dict[str, Any]) -> Refusal | None:
        broken = layout.broken(fields)
        if broken is None:
            return None
        path, kinds = broken
        there = value_at(fields, path) is not MISSING
        told = f"{path} is {_in_words(kind_of(value_at(fields, path))) if there else 'missing'}"
        text = f"{told}; it must be {'missing' if kinds in ((), ('null',)) else _in_words(*kinds)}"
        return Reason.WRONG_TYPE if there else Reason.MISSING_FIELD, text, f"/{path}"

    def encode(self, message: Record, strict: bool = True) -> str:
        """The JSON text of a record, its members in their own order."""
        return write(message.fields, self.wire)
