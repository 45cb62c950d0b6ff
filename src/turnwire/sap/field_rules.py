"""Checks the fields of a SAP object against their table.

The compiled core only tells that there is surely nothing to say. All else is judged here, so that both cores say the
same words in the same order.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite
from typing import Any

from turnwire.errors import Issue, Reason
from turnwire.json.pointers import pointer_step
from turnwire.sap.spec import VERSION, Field, Kind, Table
from turnwire.sap.times import DIGEST, UUID, read_time

ERROR, WARNING = "error", "warning"
HIGHEST_PRESSURE = 100


def judge(fields: Any, table: Table, path: str = "") -> Iterator[Issue]:
    """The issues of an object, in the order of its table: an "error" is what reading refuses."""
    if not isinstance(fields, dict):
        yield _wrong_type(path, "an object", fields)
        return
    for field in table.fields:
        name = field.name
        if name in fields:
            value = fields[name]
            if not (_fine(value, field) or (value is None and field.nullable)):
                yield from _judge_value(value, field, f"{path}/{name}", field.kind)
        elif field.need == "MUST":
            text = f"{table.name} must have {name} (section {table.section})"
            yield Issue(Reason.MISSING_FIELD, f"{path}/{name}", WARNING if field.late else ERROR, text)


_TEXT, _ENUM, _UUID, _TIME, _VERSION, _ANY = Kind.TEXT, Kind.ENUM, Kind.UUID, Kind.TIME, Kind.VERSION, Kind.ANY


def _fine(value: Any, field: Field) -> bool:
    """True if there is surely nothing to say about a value; most are so, and :func:`_judge_value` takes longer."""
    kind = field.kind
    if kind is _ANY:
        return True
    if type(value) is not str:
        return False
    if kind is _TEXT:
        return True
    if kind is _UUID:
        return UUID.fullmatch(value) is not None
    if kind is _ENUM:
        return value in field.values
    if kind is _TIME:
        moment = read_time(value)
        return moment is not None and bool(moment[1])
    return kind is _VERSION and value == VERSION


_TYPES: dict[Kind, tuple[type[Any] | tuple[type[Any], ...], str]] = {
    **dict.fromkeys((Kind.TEXT, Kind.UUID, Kind.TIME, Kind.VERSION, Kind.ENUM, Kind.DIGEST), (str, "a string")),
    **dict.fromkeys((Kind.OBJECT, Kind.RECORD, Kind.NUMBERS, Kind.PRESSURE), (dict, "an object")),
    **dict.fromkeys((Kind.TEXTS, Kind.OBJECTS, Kind.RECORDS), ((list, tuple), "an array")),
    Kind.BOOLEAN: (bool, "true or false"),
    Kind.COUNT: (int, "an integer"),
}
_ITEMS = {Kind.TEXTS: Kind.TEXT, Kind.OBJECTS: Kind.OBJECT, Kind.RECORDS: Kind.RECORD}
"""The kind of the items of an array."""


def _judge_value(value: Any, field: Field, where: str, kind: Kind) -> Iterator[Issue]:
    types, wanted = _TYPES.get(kind, (object, ""))
    if not isinstance(value, types) or (kind is Kind.COUNT and isinstance(value, bool)):
        yield _wrong_type(where, wanted, value)
    elif kind is Kind.RECORD and field.table is not None:
        yield from judge(value, field.table, where)
    elif kind in _ITEMS:
        inner = _ITEMS[kind]
        types = _TYPES[inner][0]
        for index, item in enumerate(value):
            if inner is Kind.RECORD or not isinstance(item, types):
                yield from _judge_value(item, field, f"{where}/{index}", inner)
    elif kind in (Kind.NUMBERS, Kind.PRESSURE):
        for name, number in value.items():
            if not _is_number(number):
                yield _wrong_type(f"{where}/{pointer_step(str(name))}", "a number", number)
            elif kind is Kind.PRESSURE and (not 0 <= number <= HIGHEST_PRESSURE or number != int(number)):
                text = f"pressure must be an integer from 0 to {HIGHEST_PRESSURE} (section 9)"
                yield Issue(Reason.OUT_OF_RANGE, f"{where}/{pointer_step(str(name))}", WARNING, text)
    elif (fault := _fault(value, field, kind)) is not None:
        reason, severity, text = fault
        yield Issue(reason, where, severity, text)


def _fault(value: Any, field: Field, kind: Kind) -> tuple[Reason, str, str] | None:
    """(reason, severity, words) of a value of the right type that is none of its kind, or a doubtful one."""
    if kind is Kind.ENUM and value not in field.values:
        return Reason.UNKNOWN_VALUE, ERROR, f"{field.name} is one of {', '.join(field.values)}"
    if kind is Kind.UUID and not UUID.fullmatch(value):
        return Reason.BAD_UUID, ERROR, "an id is a UUID of 36 characters (RFC 4122, section 3)"
    if kind is Kind.VERSION and value != VERSION:
        return Reason.UNSUPPORTED_VERSION, ERROR, f'protocolVersion is "{VERSION}" (section 2)'
    if kind is Kind.DIGEST and not DIGEST.fullmatch(value):
        return Reason.BAD_DIGEST, WARNING, "a digest must be sha256: and 64 hex digits"
    if kind is Kind.TIME:
        if (moment := read_time(value)) is None:
            return Reason.BAD_TIMESTAMP, ERROR, "a time is YYYY-MM-DDTHH:MM:SSZ (section 3)"
        if not moment[1]:
            return Reason.TIMESTAMP_FORM, WARNING, "SAP writes times as YYYY-MM-DDTHH:MM:SSZ (section 3)"
    if kind is Kind.COUNT and value < 0:
        return Reason.OUT_OF_RANGE, ERROR, "this integer must be at least 0"
    if kind is Kind.QUANTITY and not (_is_number(value) and value >= 0):
        return Reason.OUT_OF_RANGE, WARNING, "a budget must be a number from 0"
    return None


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


_JSON_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def _wrong_type(where: str, wanted: str, value: Any) -> Issue:
    found = _JSON_NAMES.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)
    return Issue(Reason.WRONG_TYPE, where, ERROR, f"{wanted} is expected here, not {found}")
