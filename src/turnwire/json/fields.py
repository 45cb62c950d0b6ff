"""Tables of the fields of JSON objects: what a field is, the row of the codec that it makes, the rules that judge it.

A wire's ``spec`` has its kinds of values and its tables. The compiled codec says of an object only that it surely
follows its table; what is wrong with any other is said here, so that both cores say the same in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import NoneType
from typing import Any, NamedTuple

from turnwire.errors import Issue, Reason
from turnwire.json._codec_py import Row
from turnwire.json.faults import kind_of, pointer_step

Fault = tuple[Reason, str, str]
"""A reason, a severity and words."""


Types = type[Any] | tuple[type[Any], ...]
_WORDS: dict[Types, str] = {
    str: "a string", (str, NoneType): "a string", dict: "an object", bool: "true or false", int: "an integer",
    (int, float): "a number",
}  # fmt: skip


class FieldKind(NamedTuple):
    """A kind of values.

    name: that of ``Row.kind``, unless there is a ``row``. types: in Python. scanned: the kinds of JSON values that a
    scan takes for it (``json.plan.KINDS``). schema: as JSON Schema. told: in words for a model. text: the form of its
    text (``json.plan.FORMS``). bad: why reading refuses a value of the right type. fault: (value, field) -> what is
    wrong with such a value, or None. items: the kind of the items of an array, or of the members of an object. strict:
    what strict writing adds to the schema. fills: how it fills a column.
    """

    name: str
    types: Types
    scanned: tuple[str, ...]
    schema: Mapping[str, Any] = {}
    told: str = ""
    text: str = ""
    bad: Reason = Reason.WRONG_TYPE
    fault: Callable[[Any, Field], Fault | None] | None = None
    items: FieldKind | None = None
    strict: Mapping[str, Any] = {}
    fills: str = ""
    row: str = ""

    @property
    def words(self) -> str:
        """The types in words."""
        return _WORDS.get(self.types, "an array")


class Field(NamedTuple):
    """One field of an object: its name on the wire, the kind of its value, and its need, one of the wire's words.

    example: what the specification shows. values: of a closed set. table: of a record, or of the records in an array.
    nullable: whether it may be null. late: its absence is a warning on read although it is needed. text: a few words.
    """

    name: str
    kind: FieldKind
    need: str
    example: Any = None
    values: tuple[str, ...] = ()
    table: Table | None = None
    nullable: bool = False
    late: bool = False
    text: str = ""


class Table(NamedTuple):
    """One object: its name, the section that defines it, its fields."""

    name: str
    section: str
    fields: tuple[Field, ...]


def row_of(field: Field, must: bool, rules: Callable[[Table], Any], mark: str = "", clean: tuple[str, ...] = ()) -> Row:
    """The row of a field in the rules of the codec; rules: those of a table in the same core."""
    inner = None if field.table is None else rules(field.table)
    kind, words = field.kind.row or field.kind.name, tuple(map(str, field.values))
    return Row(field.name, kind, must, field.nullable, mark, words, clean, inner)


def findings(
    fields: Any, table: Iterable[Field], path: str, absent: Mapping[str, str], owner: Table | None = None
) -> Iterator[Issue]:
    """The issues of the fields of an object, in the order of its table; an "error" is what reading refuses.

    absent: need -> the severity of the absence of such a field, if that is an issue. owner: the object, to name it.
    """
    for field in table:
        name = field.name
        if name in fields:
            yield from field_issues(fields[name], field, f"{path}/{name}", absent)
        elif (severity := absent.get(field.need)) is not None:
            text = f"{owner.name} must have {name} (section {owner.section})" if owner else f"{name} is required"
            yield Issue(Reason.MISSING_FIELD, f"{path}/{name}", "warning" if field.late else severity, text)


def field_issues(
    value: Any, field: Field, where: str, absent: Mapping[str, str], kind: FieldKind | None = None
) -> Iterator[Issue]:
    """The issues of the value of a field, or of one item of it, which is of another ``kind``."""
    if value is None and field.nullable and kind is None:
        return
    kind = kind or field.kind
    if not isinstance(value, kind.types) or (isinstance(value, bool) and kind.types not in (bool, object)):
        shown = repr(value) if kind.types is int and isinstance(value, float) else kind_of(value)
        yield Issue(Reason.WRONG_TYPE, where, "error", f"{kind.words} is expected here, not {shown}")
    elif kind.items is not None:
        is_plain = field.table is None and kind.items.fault is None
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if not (is_plain and isinstance(item, kind.items.types)):
                yield from field_issues(item, field, f"{where}/{pointer_step(str(key))}", absent, kind.items)
    elif field.table is not None:
        yield from findings(value, field.table.fields, where, absent, field.table if field.table.section else None)
    elif kind.fault is not None and (fault := kind.fault(value, field)) is not None:
        yield Issue(fault[0], where, *fault[1:])
