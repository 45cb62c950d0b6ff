"""Checks the fields of a SAP object against their table: the readable twin of ``_native/sap/codec.pyx``.

The compiled twin answers one question, :func:`sound`: is there nothing at all to say about this object? Whatever is
not sound is judged here, so that both twins say the same words in the same order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import isfinite
from typing import Any

from turnwire.errors import EncodeError, Issue, Reason
from turnwire.json._canonical_py import pointer_step
from turnwire.json._write_py import compacted, write
from turnwire.sap.secrets import secrets
from turnwire.sap.spec import VERSION, Field, Kind, Table
from turnwire.sap.times import DIGEST, UUID, read_time

ERROR, WARNING = "error", "warning"
HIGHEST_PRESSURE = 100


class Plan:
    """A table made ready for :func:`sound`."""

    def __init__(self, table: Table) -> None:
        self.table = table


class Messages:
    """Makes, checks and writes messages of which nothing need be said; leaves all others to ``turnwire.sap.codec``.

    Args:
        plans: the classes of messages and their plans.
        record: the class that has their slots ``_fields``, ``_source`` and ``_held``.
        task, result: which of the classes are these two.
        read_source: reads a text into an object, which it returns with the text where writing it gives that again.
    """

    def __init__(
        self,
        plans: Iterable[tuple[type[Any], Plan]],
        record: type[Any],
        task: type[Any],
        result: type[Any],
        read_source: Callable[[Any, Any], tuple[dict[str, Any], str | bytes | None]],
    ) -> None:
        self.plans = dict(plans)
        self.task = task
        self.result = result

    def read(self, data: Any) -> Any:
        """The message of a text that is surely good and sound, or None; this twin leaves them all."""
        return None

    def made(self, fields: dict[str, Any], source: str | bytes | None) -> Any:
        """The message over a sound object that was read, or None; this twin leaves them all."""
        return None

    def is_clean(self, message: Any) -> bool:
        """True if surely nothing is to be said about a message by itself, which this twin cannot tell in one pass."""
        return False

    def text(self, message: Any, strict: bool) -> str | None:
        """The text of a message that ``strict`` writing takes as it is; None where that is not sure."""
        plan = self.plans.get(type(message))
        if plan is None:
            return None
        fields = message._fields
        held = message._held
        if strict and message._source is None and (held is not None or not sound(fields, plan)):
            return None
        if strict and self._is_doubtful(message, fields):
            return None
        if held is not None:
            return compacted(held)
        try:
            return write(fields)
        except EncodeError:
            return None

    def _is_doubtful(self, message: Any, fields: dict[str, Any]) -> bool:
        """True if a warning is due to more than one field, or a pressure is written as an integer, but is none."""
        if type(message) is self.task:
            pressure = fields["constitutionalContext"].get("pressure", {})
            return any(isinstance(value, float) for value in pressure.values())
        from turnwire.sap.codec import conditions

        return any(issue.severity == WARNING for issue in conditions(message))


def sound(fields: Any, plan: Plan) -> bool:
    """True if :func:`judge` has nothing to say about ``fields``."""
    return next(judge(fields, plan.table), None) is None


def judge(fields: Any, table: Table, path: str = "") -> Iterator[Issue]:
    """The issues of an object, in the order of its table: an "error" is what reading refuses."""
    if not isinstance(fields, dict):
        yield _wrong_type(path, "an object", fields)
        return
    for field in table.fields:
        name = field.name
        if name in fields:
            value = fields[name]
            if not _fine(value, field):
                yield from _judge_value(value, field, f"{path}/{name}")
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


def _judge_value(value: Any, field: Field, where: str) -> Iterator[Issue]:
    kind = field.kind
    if kind is Kind.ANY or (value is None and field.nullable):
        return
    if kind in _OF_TEXT:
        yield from _judge_text(value, field, where)
    elif kind is Kind.RECORD and field.table is not None:
        yield from judge(value, field.table, where)
    elif kind in _ARRAYS:
        yield from _judge_array(value, field, where)
    elif kind is Kind.BOOLEAN:
        if not isinstance(value, bool):
            yield _wrong_type(where, "true or false", value)
    elif kind is Kind.COUNT:
        yield from _judge_count(value, where)
    elif kind is Kind.QUANTITY:
        if not _is_number(value) or value < 0:
            yield Issue(Reason.OUT_OF_RANGE, where, WARNING, "a budget is a number from 0 on")
    elif not isinstance(value, dict):
        yield _wrong_type(where, "an object", value)
    elif kind in (Kind.NUMBERS, Kind.PRESSURE):
        yield from _judge_numbers(value, kind, where)


_OF_TEXT = frozenset({Kind.TEXT, Kind.UUID, Kind.TIME, Kind.VERSION, Kind.ENUM, Kind.DIGEST})
_ARRAYS = frozenset({Kind.TEXTS, Kind.OBJECTS, Kind.RECORDS})


def _judge_text(value: Any, field: Field, where: str) -> Iterator[Issue]:
    if not isinstance(value, str):
        yield _wrong_type(where, "a string", value)
    elif field.kind is Kind.ENUM:
        if value not in field.values:
            yield Issue(Reason.UNKNOWN_VALUE, where, ERROR, f"{field.name} is one of {', '.join(field.values)}")
    elif field.kind is Kind.UUID:
        if not UUID.fullmatch(value):
            yield Issue(Reason.BAD_UUID, where, ERROR, "an id is a UUID of 36 characters (RFC 4122, section 3)")
    elif field.kind is Kind.VERSION:
        if value != VERSION:
            yield Issue(Reason.UNSUPPORTED_VERSION, where, ERROR, f'protocolVersion is "{VERSION}" (section 2)')
    elif field.kind is Kind.DIGEST:
        if not DIGEST.fullmatch(value):
            yield Issue(Reason.BAD_DIGEST, where, WARNING, "a digest is sha256: and 64 hex digits")
    elif field.kind is Kind.TIME:
        moment = read_time(value)
        if moment is None:
            yield Issue(Reason.BAD_TIMESTAMP, where, ERROR, "a time is YYYY-MM-DDTHH:MM:SSZ (section 3)")
        elif not moment[1]:
            yield Issue(Reason.TIMESTAMP_FORM, where, WARNING, "SAP writes times as YYYY-MM-DDTHH:MM:SSZ (section 3)")


def _judge_array(value: Any, field: Field, where: str) -> Iterator[Issue]:
    if not isinstance(value, (list, tuple)):
        yield _wrong_type(where, "an array", value)
        return
    for index, item in enumerate(value):
        if field.kind is Kind.TEXTS:
            if not isinstance(item, str):
                yield _wrong_type(f"{where}/{index}", "a string", item)
        elif field.table is not None:
            yield from judge(item, field.table, f"{where}/{index}")
        elif not isinstance(item, dict):
            yield _wrong_type(f"{where}/{index}", "an object", item)


def _judge_count(value: Any, where: str) -> Iterator[Issue]:
    if not isinstance(value, int) or isinstance(value, bool):
        yield _wrong_type(where, "an integer", value)
    elif value < 0:
        yield Issue(Reason.OUT_OF_RANGE, where, ERROR, "this integer starts at 0")


def _judge_numbers(value: dict[Any, Any], kind: Kind, where: str) -> Iterator[Issue]:
    for name, number in value.items():
        if not _is_number(number):
            yield _wrong_type(f"{where}/{pointer_step(str(name))}", "a number", number)
        elif kind is Kind.PRESSURE and (not 0 <= number <= HIGHEST_PRESSURE or number != int(number)):
            text = f"pressure is an integer from 0 to {HIGHEST_PRESSURE} (section 9)"
            yield Issue(Reason.OUT_OF_RANGE, f"{where}/{pointer_step(str(name))}", WARNING, text)


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


_JSON_NAMES = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}


def _wrong_type(where: str, wanted: str, value: Any) -> Issue:
    found = _JSON_NAMES.get(type(value), "a number" if isinstance(value, (int, float)) else type(value).__name__)
    return Issue(Reason.WRONG_TYPE, where, ERROR, f"{wanted} is due here, not {found}")


def quiet(value: Any) -> bool:
    """True if nothing below ``value`` looks like a secret. The compiled twin may say False where this says True."""
    return next(secrets(value, ""), None) is None
