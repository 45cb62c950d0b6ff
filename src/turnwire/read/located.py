"""The records and rejects of a scan, one by one and in the order of the input.

Whatever else reads messages out of text reads these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import registry
from turnwire.contract import LIMITS, Limits
from turnwire.errors import DecodeError, Reason
from turnwire.read.wrapping import Text, inside_end

if TYPE_CHECKING:
    from turnwire.log import Batch

_COLUMNS = ("offset", "length", "line", "wire", "inner")
_UNCLOSED = "inside_unclosed_heredoc"


class Located(NamedTuple):
    """A record or a reject.

    file: where it is, None for bytes. offset, length: its bytes as written there; in a JSON string the offset is
    that of the outermost string's quote, and ``inner`` (else None) the byte in what that string says. line: 1-based,
    the one in which it begins. wire: whose it is. raw: its bytes; of a record in a JSON string those that it says.
    message: what it says, None for a reject. error: why a reject is none: ``offset`` and ``line`` are those of the
    byte where reading failed, ``path`` is the JSON pointer, if any. doubtful: a CSP/1 message that a heredoc which is
    never closed would have swallowed.
    """

    file: str | None
    offset: int
    length: int
    line: int
    inner: int | None
    wire: str
    raw: bytes
    message: Any = None
    error: DecodeError | None = None
    doubtful: bool = False

    @property
    def place(self) -> tuple[int, int]:
        """A key for sorting: what comes earlier in a file has the smaller one."""
        return self.offset, -1 if self.inner is None else self.inner


def located(source: Any, wire: str | None = None, **options: Any) -> Iterator[Located]:
    """Every record and reject of :func:`turnwire.scan`, in the order of the input, in bounded memory. Takes and raises
    what :func:`pieces` does."""
    for piece in pieces(source, wire, **options):
        yield from piece.of()


class ScannedPiece(NamedTuple):
    """A batch of records, and the rejects that were met up to its end. batch: None behind the last one."""

    batch: Batch | None
    rejects: list[Located]

    def of(self, wire: str | None = None) -> Iterator[Located]:
        """The records and the rejects, of a wire or of all, in the order of the input."""
        rejects = [one for one in self.rejects if wire is None or one.wire == wire]
        if self.batch is None:
            return iter(rejects)
        before = [one for one in rejects if one.file != self.batch.file]
        here, ones = rejects[len(before) :], _of_batch(self.batch, wire)
        return chain(before, sorted([*here, *ones], key=_place) if here else ones)

    def raws(self, data: bytes) -> Iterator[tuple[int, int, bytes]]:
        """Records with other text in JSON strings: the string's byte, the byte in what that says, and the bytes.
        data: the bytes of the file."""
        if self.batch is not None:
            rows = self.batch.valid("inner").nonzero()[0]
            rows = rows[~_whole(data, *(self.batch[name][rows] for name in ("offset", "length", "inner")))]
            places = (self.batch[name][rows].tolist() for name in ("offset", "inner"))
            yield from zip(*places, self.batch.raws(rows), strict=True)


def pieces(
    source: Any,
    wire: str | None = None,
    *,
    unknown: str = "error",
    limits: Limits = LIMITS,
    fences: bool = False,
    rejects: bool = True,
) -> Iterator[ScannedPiece]:
    """Yields the records and rejects of :func:`turnwire.scan`, batch by batch.

    Args:
        source: what ``scan`` takes; bytes-like data is data itself.
        wire: the wire whose records and rejects are wanted; None for all.
        unknown, limits, fences: as ``scan`` has them.
        rejects: whether rejects are wanted; what is wrong with each takes longer to say than to find it.

    Raises what ``scan`` raises.
    """
    from turnwire.log.scanning import scan

    wanted = (*_COLUMNS, _UNCLOSED) if wire == "csp" else _COLUMNS
    errors = "collect" if rejects else "skip"
    found = scan(source, wire=wire, columns=wanted, unknown=unknown, limits=limits, fences=fences, errors=errors)
    done = 0
    for batch in chain(found, (None,)):
        new = [_of_reject(one, unknown) for one in found.rejects.since(done)] if rejects else []
        done = len(found.rejects)
        yield ScannedPiece(batch, new)


class LocatedRecords:
    """Everything that was found in the bytes of a file, of all wires, as places; :meth:`ones` has the rest."""

    def __init__(self, data: bytes, several: list[ScannedPiece]) -> None:
        self.data = data
        self.pieces = several

    @cached_property
    def places(self) -> tuple[Any, Any, Any, Any]:
        """In the order of the input, four arrays: offset, length, the wire (its place in ``registry.names()``), and
        whether it is in a JSON string."""
        import numpy as np

        batches = [piece.batch for piece in self.pieces if piece.batch is not None]
        parts: list[tuple[Any, ...]] = [
            (batch["offset"], batch["length"], batch.codes("wire"), batch.valid("inner")) for batch in batches
        ]
        numbers = {name: number for number, name in enumerate(registry.names())}
        refused = [one for piece in self.pieces for one in piece.rejects]
        rows = ((one.offset, one.length, numbers[one.wire], one.inner is not None) for one in refused)
        parts += [tuple(zip(*rows, strict=True))] if refused else []
        kinds = (np.int64, np.int64, np.int64, bool)
        columns = zip(*parts, strict=True) if parts else [[] for _ in kinds]
        whole = [
            np.concatenate([np.empty(0, kind), *column]).astype(kind)
            for column, kind in zip(columns, kinds, strict=True)
        ]
        offsets, lengths, wires, inside = whole
        if refused:
            order = np.argsort(offsets, kind="stable")  # those of one string are in order
            offsets, lengths, wires, inside = (column[order] for column in (offsets, lengths, wires, inside))
        return offsets, lengths, wires, inside

    def line_of(self) -> Callable[[int], int]:
        """The function that says in which line (1-based) a byte is; bytes must come in order."""
        last, line = 0, 1

        def of(place: int) -> int:
            nonlocal last, line
            line += self.data.count(b"\n", last, place)
            last = place
            return line

        return of

    def of(self, wire: str) -> Any:
        """A mask of the places of a wire (an array)."""
        return self.places[2] == registry.names().index(wire)

    def ones(self, wire: str) -> Iterator[Located]:
        """The records of a wire, in order."""
        for piece in self.pieces:
            if piece.batch is not None:
                yield from _of_batch(piece.batch, wire)

    @cached_property
    def gaps(self) -> list[tuple[int, int]]:
        """The places where something that is not blank surrounds what is in no string: (start, stop), in order."""
        offsets, lengths, _, inside = self.places
        return self._around(offsets[~inside], (offsets + lengths)[~inside])

    def rest(self) -> Iterator[tuple[int, bytes]]:
        """The text beside everything that was found, and without the strings in which something was: (byte, text), in
        order."""
        for start, stop in self._rest:
            yield start, self.data[start:stop]

    @cached_property
    def _rest(self) -> list[tuple[int, int]]:
        offsets, lengths, _, inside = self.places
        stops = offsets + lengths
        if inside.any():
            starts = offsets[inside].tolist()
            ends: list[int] = []
            for start in starts:  # in order: what begins in the string before ends where that does
                ends.append(ends[-1] if ends and start < ends[-1] else inside_end(self.data, start + 1))
            stops[inside] = ends
        return self._around(offsets, stops)

    def strings(self, instead: bytes = b" ") -> Iterator[tuple[int, bytes]]:
        """The texts of the strings in which records were found with other text, without these: (byte, text). instead:
        what stands for each of them."""
        for start, parts in self._mixed:
            yield start, instead.join(parts)

    @cached_property
    def _mixed(self) -> list[tuple[int, list[bytes]]]:
        """Of each such string, its byte and the texts between its records."""
        if not self.places[3].any():
            return []
        several = (one for piece in self.pieces for one in piece.raws(self.data))
        strings = ((start, _between(self.data, start, list(ones))) for start, ones in groupby(several, itemgetter(0)))
        return [(start, parts) for start, parts in strings if any(map(bytes.strip, parts))]

    def _around(self, starts: Any, stops: Any) -> list[tuple[int, int]]:
        import numpy as np

        behind = np.concatenate([[0], np.maximum.accumulate(stops)]).astype(np.int64)
        ahead = np.concatenate([starts, [len(self.data)]]).astype(np.int64)
        sizes = ahead - behind
        data = np.frombuffer(self.data, np.uint8)
        odd = sizes > _SHORT_GAP
        for step in range(_SHORT_GAP):
            rows = np.flatnonzero(sizes > step)
            odd[rows[~np.isin(data[behind[rows] + step], _BLANKS)]] = True
        found = zip(behind[odd].tolist(), ahead[odd].tolist(), strict=True)
        return [(start, stop) for start, stop in found if self.data[start:stop].strip()]

    def texts(self) -> Iterator[bytes]:
        """The lines that are not blank around all that is in no string."""
        for start, stop in self.gaps:
            yield from (line for line in self.data[start:stop].split(b"\n") if line.strip())


def _between(data: bytes, start: int, records: list[tuple[int, int, bytes]]) -> list[bytes]:
    """The text that the string at ``start`` says around its records (:meth:`ScannedPiece.raws`); of those in strings
    in it, what the innermost one says that holds the first of them."""
    said = Text(data).said(start + 1)
    if said is None:
        return []
    text, place = said.innermost(records[0][1])
    last, parts = 0, []
    for _, _, raw in records:
        place = text.raw.find(raw.rstrip(), max(place, last))
        if place < 0:
            break
        parts.append(text.raw[last:place])
        last = place + len(raw.rstrip())
    return [*parts, text.raw[last:]]


def _whole(data: bytes, offsets: Any, lengths: Any, inners: Any) -> Any:
    """A mask (an array) of the records in strings that are all that these say, but for line ends behind them."""
    import numpy as np

    read = np.frombuffer(data, np.uint8)
    stops = np.minimum(offsets + 1 + lengths, len(read) - 1)
    for _ in range(_LINE_ENDS):
        stops += 2 * ((read[stops] == 0x5C) & (read[np.minimum(stops + 1, len(read) - 1)] == 0x6E))
        stops = np.minimum(stops, len(read) - 1)
    return (inners == 0) & (read[stops] == 0x22)


_LINE_ENDS = 2
_SHORT_GAP = 3
_BLANKS = tuple(b" \t\n\r\v\f")


def _place(one: Located) -> tuple[int, int]:
    return one.place


def _of_batch(batch: Batch, wire: str | None) -> Iterator[Located]:
    """The records of a batch, of a wire or of all."""
    codes = batch.codes("wire")
    rows = (codes >= 0 if wire is None else codes == registry.names().index(wire)).nonzero()[0]
    file = batch.file
    numbers = {name: batch[name][rows].tolist() for name in _COLUMNS}
    decoders = {name: batch.decoder(name) for name in set(numbers["wire"])}
    inside = zip(numbers.pop("inner"), batch.valid("inner")[rows].tolist(), strict=True)
    inners = [inner if there else None for inner, there in inside]
    doubts = batch[_UNCLOSED][rows].tolist() if _UNCLOSED in batch.names else [False] * len(rows)
    every = zip(*numbers.values(), inners, doubts, batch.raws(rows), strict=True)
    for offset, length, line, name, inner, doubtful, raw in every:
        yield Located(file, offset, length, line, inner, name, raw, decoders[name](raw), None, doubtful)


def _of_reject(reject: dict[str, Any], unknown: str) -> Located:
    from turnwire.log.output.rejects import explained, fault_line

    reason = Reason(reject["reason"])
    text, path = explained(reject["wire"], reject["reason"], reject["raw"], reject["inner"], unknown)
    line = fault_line(reject)
    error = DecodeError(reason, text, offset=reject["fault"], line=line, wire=reject["wire"], path=path)
    places = (reject["offset"], reject["length"], reject["line"], reject["inner"])
    return Located(reject["file"], *places, reject["wire"], reject["raw"], None, error)
