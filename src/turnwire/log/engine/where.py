"""``where=``: which records are wanted, as masks over whole columns, before anything is made of a record."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from math import inf, isnan
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import BulkScanner, Column
from turnwire.errors import UnknownName, expect_number
from turnwire.formats.parts import tools_of
from turnwire.log.engine.columns import known, no_column, own, told

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.output.batch import Batch
    from turnwire.log.output.texts import TextColumn

    Mask = NDArray[np.bool_]
    Test = Callable[[Batch], Mask]

_NOT_KNOWN_YET = frozenset({"file", "record", "line"})
"""Columns that a block alone cannot tell."""
_WHOLE_NUMBER = re.compile(rb"0|-?[1-9][0-9]{0,19}")  # as a column of numbers writes one as text; none has more digits
_FEW = 64  # values that are compared with all rows one by one
_COMPARED_AT_ONCE = 16  # bytes of text compared for all rows at once; the few rows left are compared one by one


class Filter(NamedTuple):
    """Compiled ``where=``: ``columns`` are those that it looks at, ``mask`` says which rows of a batch are wanted."""

    columns: tuple[Column, ...]
    tests: list[Test]

    def mask(self, batch: Batch) -> Mask:
        """A mask of the rows: True for those that pass every test."""
        mask = np.ones(len(batch), bool)
        for test in self.tests:
            if not mask.any():
                break
            mask &= test(batch)
        return mask


def compiled(where: Mapping[str, Any], scanner: BulkScanner, any_tool: bool = True) -> Filter:
    """``where=`` for a wire. any_tool: whether a record is of each tool that it calls, or of the first one alone.

    Raises UnknownName for a column or an enum's name that is not there, TypeError for a value of a wrong type.
    """
    if not isinstance(where, Mapping):
        raise TypeError(f"where must be a dict of columns and conditions, not {type(where).__name__}")
    there = {name: column for name, column in known(scanner).items() if name not in _NOT_KNOWN_YET}
    columns: dict[str, Column] = {}
    tests: list[Test] = []
    for name, wanted in where.items():
        if name == "text":
            tests.append(_containing_any([_bytes(name, one) for one in _any_of(wanted)]))
        elif name == "wire" and "wire" not in own(scanner):
            for one in _any_of(wanted):
                registry.wire(one)
            answer = scanner.wire in _any_of(wanted)
            tests.append(partial(lambda every, batch: np.full(len(batch), every), answer))
        elif name not in there:
            text = f"where has no column {name!r} of {told(scanner)}; the columns are text, {', '.join(there)}"
            raise no_column(scanner, name, ("text", *there), text)
        else:
            how, source = scanner.common.get(name, ("", "")) if name not in own(scanner) else ("", "")
            column = there[source] if how == "number" else there[name]
            columns[column.name] = column
            tests.append(_test(name, column, _numbers_of(name, wanted) if how == "number" else wanted))
            if name == "tool" and any_tool and "call_id" in there and not isinstance(wanted, tuple):
                columns |= {one: there[one] for one in ("wire", "call_id")}
                values = {_bytes(name, one) for one in _any_of(wanted) if one is not None}
                tests.append(partial(_any_tool, first=tests.pop(), values=values))
    return Filter(tuple(columns.values()), tests)


def _any_tool(batch: Batch, first: Test, values: set[bytes]) -> Mask:
    """A mask of the records: True for those that call one of these tools, or answer a call of one."""
    escaped, formats = [json.dumps(one.decode("utf-8", "replace")).encode() for one in values], registry.formats()
    mask, written = first(batch), _containing_any([*escaped, *(b'"%b"' % one for one in values)])(batch)
    rows = np.flatnonzero(written & (batch.valid("tool") | batch.valid("call_id")) & ~mask)
    for row, raw, wire in zip(rows.tolist(), batch.raws(rows), batch["wire"][rows], strict=True):
        mask[row] = wire in formats and not values.isdisjoint(tools_of(raw, formats[wire].table))
    return mask


def _any_of(wanted: Any) -> list[Any]:
    return list(wanted) if isinstance(wanted, (set, frozenset, list)) else [wanted]


def _numbers_of(name: str, wanted: Any) -> list[Any]:
    """The numbers whose decimal texts are wanted; any other text matches nothing."""
    if isinstance(wanted, tuple):
        raise TypeError(f"where: {name} contains numbers as text and has no ranges; use the column with the numbers")
    numbers = []
    for one in _any_of(wanted):
        is_text = one is not None and not isinstance(one, int)
        if not is_text or _WHOLE_NUMBER.fullmatch(one := _bytes(name, one, "text (str or bytes) or an int")):
            numbers.append(int(one) if is_text else one)
    return numbers


def _bytes(name: str, value: Any, takes: str = "text (str or bytes)") -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    given = f"{value!r} ({type(value).__name__})" if isinstance(value, (float, bool)) else type(value).__name__
    raise TypeError(f"where: the column {name} accepts {takes}, not {given}")


def _test(name: str, column: Column, wanted: Any) -> Test:
    """The test of one column: a value, any of several, or a half-open range; None is the absence of a value."""
    convert = _CONVERT[column.kind]
    if isinstance(wanted, tuple):
        if len(wanted) != 2:
            raise ValueError(f"where: a range of {name} is (from, to), each of which may be None, not {wanted!r}")
        if column.kind in ("enum", "bool"):
            raise TypeError(f"where: {name} has no order, so ranges are not possible: list the values")
        low, high = (None if end is None else convert(name, column, end) for end in wanted)
        within = _text_within if column.kind == "text" else _number_within
        return lambda batch: batch.valid(column.name) & within(batch.values(column), low, high)
    asked = _any_of(wanted)
    values = {convert(name, column, one) for one in asked if one is not None}
    among = _text_among if column.kind == "text" else _number_among

    def test(batch: Batch) -> Mask:
        valid = batch.valid(column.name)
        mask = valid & among(batch.values(column), values) if values else np.zeros(len(batch), bool)
        return mask | ~valid if None in asked else mask

    return test


# --- what is asked for, as the columns hold it ----------------------------------------------------------------------


def _real(name: str, column: Column, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not issubclass(type(value), Real):
        raise TypeError(f"where: {name} must be a number, not {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        return inf if value > 0 else -inf
    if isnan(number):
        raise ValueError(f"where: {name} must be a number, not {value!r}")
    return number


def _code(name: str, column: Column, value: Any) -> int:
    text = getattr(value, "name", value)
    if not isinstance(text, str):
        raise TypeError(f"where: {name} must be one of {', '.join(column.names)}, not {type(value).__name__}")
    if text not in column.names:
        told = f"where: {name} must be one of {', '.join(column.names)}, not {text!r}"
        raise UnknownName(f"where: {name}", text, column.names, told)
    return column.names.index(text)


def _truth(name: str, column: Column, value: Any) -> int:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"where: {name} must be True or False, not {type(value).__name__}")
    return int(value)


def _microseconds(name: str, column: Column, value: Any) -> int:
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"where: {name} must be a time such as 2026-05-04T12:00:00Z, not {value!r}") from None
    if isinstance(value, datetime):
        zoned = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        since = zoned - datetime(1970, 1, 1, tzinfo=UTC)
        return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds
    if isinstance(value, np.datetime64):
        return int(value.astype("datetime64[us]").astype(np.int64))
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise TypeError(
        f"where: {name} must be a datetime, its text, or microseconds since 1970, not {type(value).__name__}"
    )


_CONVERT: dict[str, Callable[[str, Column, Any], Any]] = {
    **dict.fromkeys(("u64", "i64", "u8"), lambda name, column, value: expect_number(value, f"where: {name}")),
    "f64": _real,
    "bool": _truth,
    "enum": _code,
    "timestamp": _microseconds,
    "text": lambda name, column, value: _bytes(name, value),
}


# --- columns against it -----------------------------------------------------------------------------------------------


def _limits(dtype: np.dtype[Any]) -> tuple[float, float]:
    """The least and the greatest value of a column of that type."""
    if dtype.kind == "f":
        return -inf, inf
    return (0, 1) if dtype.kind == "b" else (int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


def _number_among(array: NDArray[Any], values: set[float]) -> Mask:
    limits = _limits(array.dtype)
    fitting = [value for value in values if limits[0] <= value <= limits[1]]
    if len(fitting) == 1:
        mask: Mask = array == array.dtype.type(fitting[0])
        return mask
    return np.isin(array, np.array(fitting, array.dtype))


def _number_within(array: NDArray[Any], low: float | None, high: float | None) -> Mask:
    least, most = _limits(array.dtype)
    mask = np.ones(len(array), bool)
    if low is not None and low > least:
        mask &= array >= array.dtype.type(low) if low <= most else False
    if high is not None and high <= most:
        mask &= array < array.dtype.type(high) if high > least else False
    return mask


def _text_among(text: TextColumn, values: set[bytes]) -> Mask:
    mask = np.zeros(len(text), bool)
    looked = text.escaped
    if len(values) > _FEW:
        looked = looked | np.isin(text.lengths, np.array([*{len(value) for value in values}], np.int64))
    else:
        inside = text.offsets >= len(text.buffer)
        plain = text.valid & ~text.escaped
        for data, there, shift in ((text.buffer, plain & ~inside, 0), (text.arena, plain & inside, len(text.buffer))):
            buffer = np.frombuffer(data, np.uint8)
            for value in values:
                rows = np.flatnonzero(there & (text.lengths == len(value)))
                for place, byte in enumerate(value[:_COMPARED_AT_ONCE]):
                    rows = rows[buffer[text.offsets[rows] - shift + place] == byte]
                if len(value) > _COMPARED_AT_ONCE:
                    rows = np.array([row for row in rows.tolist() if text.bytes(row) == value], np.int64)
                mask[rows] = True
    for row in np.flatnonzero(text.valid & looked).tolist():
        mask[row] = text.bytes(row) in values
    return mask


def _text_within(text: TextColumn, low: bytes | None, high: bytes | None) -> Mask:
    mask = np.zeros(len(text), bool)
    for row in np.flatnonzero(text.valid).tolist():
        value = text.bytes(row)
        assert value is not None
        mask[row] = (low is None or value >= low) and (high is None or value < high)
    return mask


def _containing_any(needles: list[bytes]) -> Test:
    """A mask of the records: True for those that contain one of the needles, as they are written."""
    needles = [b""] if b"" in needles else list(set(needles))  # the empty one is in all

    def test(batch: Batch) -> Mask:
        mask = np.zeros(len(batch), bool)
        for view, rows, starts, stops in batch.places():
            first = int(starts[0])
            mask[rows] |= rows_with(needles, bytes(view[first : int(stops.max())]), starts - first, stops - first)
        return mask

    return test


def rows_with(needles: list[bytes], data: bytes, starts: NDArray[Any], stops: NDArray[Any]) -> Mask:
    """A mask of the parts of some bytes, in order: True for those that contain one of the needles."""
    mask = np.zeros(len(starts), bool)
    longest = int((stops - starts).max())
    for needle in needles:
        at = data.find(needle) if len(needle) <= longest else -1
        while at >= 0:
            row = int(starts.searchsorted(at, "right")) - 1
            stop = int(stops[row])
            holds = at + len(needle) <= stop
            mask[row] |= holds
            at = data.find(needle, max(stop, at + 1) if holds else at + 1)
    return mask
