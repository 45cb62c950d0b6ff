"""Columns by their different values: each is decoded once, and rows are numbers that NumPy and the core count."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from turnwire import _backend
from turnwire.log.output.texts import NumberColumn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log import Batch, TextColumn

core = _backend.load("log.aggregate")
ABSENT = -1
"""The code of "there is no value"."""
_DAY = 86_400_000_000
_TOP = np.uint64(1 << 63)  # keeps 0 apart from "no value"
_QUARTER = 900_000_000  # no time zone begins a day inside one
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATES = (-62_135_000_000 // 900, 253_402_000_000 // 900)  # quarters of an hour that have a date everywhere
MOST_NAME = 256
"""Characters of a value that are kept."""


class CodedColumn(NamedTuple):
    """A column of text: row i has ``names[codes[i]]``, or nothing if the code is ABSENT (i64)."""

    names: Sequence[str]
    codes: NDArray[np.int64]


def number_of(text: str | None) -> int:
    """The number of a text in this process, as of a column; 0 for none."""
    return 0 if text is None else int(core.hash_of(text.encode("utf-8", "surrogatepass")))


def numbers_of(several: Sequence[str]) -> NDArray[np.uint64]:
    """The numbers of texts, of long ones as they are kept; 0 for an empty one."""
    encoded = [(one if len(one) <= MOST_NAME else named(one)).encode("utf-8", "surrogatepass") for one in several]
    sizes, numbers = np.array([*map(len, encoded)], np.int64), np.zeros(len(encoded), np.uint64)
    spans, there = (np.cumsum(sizes) - sizes, sizes, -1, -1), (sizes > 0).view(np.uint8)
    core.hashes(b"".join(encoded), b"", None, (spans,), there, int(sizes.sum()), numbers.reshape(1, -1))
    return numbers


def mixed(*parts: NDArray[Any]) -> NDArray[np.uint64]:
    """A number for each row of these columns: equal ones for equal rows."""
    found = np.zeros(len(parts[0]), np.uint64)
    for part in parts:
        found ^= part.astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            found ^= found >> np.uint64(shift)
            found *= np.uint64(factor)
        found ^= found >> np.uint64(31)
    return found


class Spans(NamedTuple):
    """Texts as spans of three buffers, numbered as one; they are unescaped, and long ones are shortened
    (:func:`named`)."""

    buffer: Any
    arena: Any
    side: Any
    offsets: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def text(self, row: int) -> str:
        """The text of a row that has one."""
        start, length = int(self.offsets[row]), int(self.lengths[row])
        for part in self[:2]:
            if start < len(part):
                return str(part[start : start + length], "utf-8")
            start -= len(part)
        return str(self.side[start : start + length], "utf-8")


class Texts(NamedTuple):
    """A column as texts and their numbers (u64, equal for equal texts; 0 if a row has none). spans: gives the texts."""

    numbers: NDArray[np.uint64]
    spans: Callable[[], Spans]

    def coded(self) -> CodedColumn:
        """The same as codes of the different values, in the order in which they come."""
        codes, spans = np.empty(len(self.numbers), np.int64), self.spans()
        return CodedColumn([spans.text(row) for row in core.codes(self.numbers, codes)], codes)

    def text(self, row: int) -> str:
        """The text of a row that has one."""
        return self.spans().text(row)


_NOTHING: NDArray[np.uint8] = np.empty(0, np.uint8)
_SECRET = np.uint64(core.hash_of(b"number"))  # with which nobody can choose numbers that collide in a table


def texts_of_codes(names: Sequence[str], codes: NDArray[Any]) -> Texts:
    """The texts of rows that are places among names; a code that is no place stands for none."""
    numbers, spans = table_of(tuple(names))
    places = np.where((codes >= 0) & (codes < len(names)), codes, len(names)).astype(np.intp)
    found = spans()
    found = found._replace(offsets=found.offsets[places], lengths=found.lengths[places])
    return Texts(np.append(numbers, np.uint64(0))[places], lambda: found)


@lru_cache(64)
def table_of(names: tuple[str, ...]) -> Texts:
    """The texts of names, and behind them the span of none."""
    encoded = [name.encode("utf-8", "surrogatepass") for name in names]
    lengths = np.array([*map(len, encoded), 0], np.int64)
    side = np.frombuffer(b"".join(encoded), np.uint8)
    spans = Spans(_NOTHING, _NOTHING, side, np.cumsum(lengths) - lengths, lengths)
    return Texts(np.array([*map(core.hash_of, encoded)], np.uint64), lambda: spans)


def texts(batch: Batch, name: str, wanted: NDArray[np.bool_] | None = None) -> Texts:
    """A column of text or an enum of a batch; of texts no more than those of wanted records need be read."""
    column = batch.column(name)
    if column.kind == "text":
        return _of_text(batch[name], wanted)
    return texts_of_codes(column.names, codes_of(batch, name))


def codes_of(batch: Batch, name: str) -> NDArray[Any]:
    """The codes of an enum of a batch; no place among its names if a row has none."""
    column, codes = batch.column(name), batch.codes(name)
    return np.where(batch.valid(name), codes, len(column.names)) if column.nullable else codes


def ids_of(found: Texts) -> NDArray[np.uint64]:
    """The numbers of ids; 0 for an empty one, too, which is no id."""
    return np.where(found.spans().lengths > 0, found.numbers, np.uint64(0))


class TextColumns(dict[str, Texts]):
    """The columns of a batch as texts, each made when it is first asked for."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch

    def __missing__(self, name: str) -> Texts:
        kinds = name == "kind"
        self[name] = texts_of_codes(self.batch.column(name).names, self.kinds) if kinds else texts(self.batch, name)
        return self[name]

    @cached_property
    def kinds(self) -> NDArray[Any]:
        """The codes of the kinds: see :func:`codes_of`."""
        return np.ascontiguousarray(codes_of(self.batch, "kind"))

    @cached_property
    def times(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The times, and the rows that have one."""
        return np.ascontiguousarray(self.batch["time"]), np.ascontiguousarray(self.batch.valid("time"))


def coded(values: Iterable[str | None]) -> CodedColumn:
    """The column of these values."""
    places: dict[str | None, int] = {None: ABSENT}
    codes = [places.setdefault(value, len(places) - 1) for value in values]
    return CodedColumn([name for name in places if name is not None], np.array(codes, np.int64))


def zone_of(name: str) -> Callable[[datetime], datetime] | None:
    """Turns a moment into the time of a zone, by its IANA name or that of this machine for "local"; None for UTC.
    Raises ValueError for another name."""
    if name in ("UTC", "local"):
        return None if name == "UTC" else datetime.astimezone
    try:
        zone = ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"there is no time zone {name!r}") from error
    return lambda moment: moment.astimezone(zone)


def days(
    times: NDArray[np.int64], there: NDArray[np.bool_], zone: Callable[[datetime], datetime] | None = None
) -> CodedColumn:
    """The days of times in microseconds, for rows where one is ``there``; zone: as of :func:`zone_of`."""
    parts, codes = times // (_DAY if zone is None else _QUARTER), np.empty(len(times), np.int64)
    different = parts[core.codes(np.where(there, parts.view(np.uint64) ^ _TOP, np.uint64(0)), codes)]
    if zone is None:
        names = [str(np.datetime64(day, "D")) for day in different.tolist()]
    else:
        moments = (_EPOCH + timedelta(minutes=15 * part) for part in np.clip(different, *_DATES).tolist())
        names = [str(zone(moment).date()) for moment in moments]
    return CodedColumn(names, codes)


def _of_text(column: TextColumn, wanted: NDArray[np.bool_] | None) -> Texts:
    if isinstance(column, NumberColumn):
        return _of_numbers(column)
    bits = column.validity, column.escapes
    masks = next((np.ascontiguousarray(one.masks) for one in bits if one is not None), None)
    offsets, lengths = map(np.ascontiguousarray, (column.offsets, column.lengths))
    span = offsets, lengths, *(-1 if one is None else one.bit for one in bits)
    (numbers,), places = hashed((column.buffer, column.arena, masks, (span,)), wanted, lambda _: column)

    @cache
    def spans() -> Spans:
        nonlocal offsets, lengths
        (buffer, arena), side = (np.frombuffer(part, np.uint8) for part in (column.buffer, column.arena)), b""
        if places:
            plain = [_plain(column, row) for row in places]
            offsets, lengths, side = offsets.copy(), lengths.copy(), b"".join(plain)
            sizes = np.fromiter(map(len, plain), np.int64, len(plain))
            offsets[places], lengths[places] = len(buffer) + len(arena) + np.cumsum(sizes) - sizes, sizes
        return Spans(buffer, arena, np.frombuffer(side, np.uint8), offsets, lengths)

    return Texts(numbers, spans)


def _of_numbers(column: NumberColumn) -> Texts:
    """Whole numbers, whose digits are written where somebody asks for them."""
    numbers = np.empty(len(column), np.uint64)
    core.mixed(column.numbers ^ _SECRET, np.zeros(len(column), np.uint8), numbers)
    if column.validity is not None:
        numbers[~column.valid] = 0

    def spans() -> Spans:
        return Spans(np.frombuffer(column.buffer, np.uint8), _NOTHING, _NOTHING, column.offsets, column.lengths)

    return Texts(numbers, spans)


def hashed(
    texts: tuple[Any, ...], wanted: NDArray[np.bool_] | None, column: Callable[[int], TextColumn]
) -> tuple[NDArray[np.uint64], list[int]]:
    """The numbers of columns of text of one batch, as :class:`Texts` has them, a row for each column, in the records
    that are wanted; and the records of texts that are not as they are written, or long. texts: as ``core.hashes`` takes
    them; column: each of them by its place there."""
    numbers = np.empty((len(texts[3]), len(texts[3][0][0])), np.uint64)
    rows = None if wanted is None else wanted.view(np.uint8)
    odd: list[tuple[int, int]] = core.hashes(*texts, rows, MOST_NAME, numbers)
    for place, row in odd:
        numbers[place, row] = core.hash_of(_plain(column(place), row))
    return numbers, [row for _, row in odd]


def _plain(column: TextColumn, row: int) -> bytes:
    """A text without escapes, as :func:`named` has it."""
    return named((column.bytes(row) or b"").decode()).encode()


def named(text: str) -> str:
    """A name that is not too long to be kept: what is cut keeps a mark of its own, so that two never become one."""
    if len(text) <= MOST_NAME:
        return text
    mark = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).hexdigest()
    return f"{text[:MOST_NAME]}… ({len(text) - MOST_NAME:,} more characters, {mark})"
