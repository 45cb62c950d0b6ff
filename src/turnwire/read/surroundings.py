"""The text and the JSON values around the records of a file, for checklists that report near misses."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.checklists import log_line
from turnwire.log.search.carriers import MOST_PREFIX, EveryLinePrefix
from turnwire.read.extraction import DEEPEST_STRING, Text, inside_end

if TYPE_CHECKING:
    from turnwire.log import Batch
    from turnwire.read.located import Located, ScannedPiece

_MARKS_OF_QUOTES = re.compile(rb"[ \t]*(?:>[ \t]*)*")
_ZEROS = bytes.maketrans(b"123456789", b"0" * 9)
_NEWLINE = 0x0A
_BLANKS = b" \t\r\n"
_SPACE = tuple(b" \t\n\r\v\f")
_SHORT_GAP = 3
_LINE_ENDS = 2


class TextLine(NamedTuple):
    """A line of text beside messages: its byte in the file (in a JSON string, of its quote), its line (1-based), what
    it says without its prefix, and whether it is in a log, in which other lines are what programs say."""

    offset: int
    line: int
    text: bytes
    in_log: bool


class StrayJson(NamedTuple):
    """A JSON value that is neither a record nor a reject: its byte, its line (1-based), and what it says."""

    offset: int
    line: int
    value: Any


class LocatedRecords:
    """Everything that was found in the bytes of a file, of all wires, and what is around it. gaps, rest, texts: at the
    top of the file; strings, lines_in_strings: in JSON strings; lines_behind_prefixes: after what stands before
    messages in their lines. ``wire``: whose messages these are."""

    def __init__(self, data: bytes, several: list[ScannedPiece]) -> None:
        self.data = data
        self.pieces = several
        self._batches = [piece.batch for piece in several if piece.batch is not None]

    # --- records ------------------------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> tuple[Any, Any, Any, Any]:
        """In the order of the input, four arrays: offset, length, the wire (its place in ``registry.names()``), and
        whether it is in a JSON string."""
        names = registry.names()
        refused = [
            (one.offset, one.length, names.index(one.wire), one.inner is not None)
            for piece in self.pieces
            for one in piece.rejects
        ]
        parts: list[Any] = [np.array(refused, np.int64).reshape(-1, 4).T]
        parts += [(one["offset"], one["length"], one.codes("wire"), one.valid("inner")) for one in self._batches]
        offsets, lengths, wires, inside = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(offsets, kind="stable")  # those of one string are in order
        return offsets[order], lengths[order], wires[order], inside[order].astype(bool)

    def of(self, wire: str) -> Any:
        """A mask of the places of a wire (an array)."""
        return self.places[2] == registry.names().index(wire)

    def ones(self, wire: str) -> Iterator[Located]:
        """The records of a wire, in order."""
        for piece in self.pieces:
            yield from piece._replace(rejects=[]).of(wire)

    def line_of(self, place: int) -> int:
        """The line (1-based) in which a byte is."""
        return 1 + int(self._newlines.searchsorted(place))

    @cached_property
    def _newlines(self) -> Any:
        return np.flatnonzero(np.frombuffer(self.data, np.uint8) == _NEWLINE)

    # --- text at the top of the file ----------------------------------------------------------------------------------

    @cached_property
    def gaps(self) -> list[tuple[int, int]]:
        """The places where something that is not blank surrounds what is in no string: (start, stop), in order."""
        offsets, lengths, _, inside = self.places
        return self._around(offsets[~inside], (offsets + lengths)[~inside])

    @cached_property
    def rest(self) -> list[tuple[int, int]]:
        """The places of text beside everything that was found, and without the strings in which something was: (start,
        stop), in order."""
        offsets, lengths, _, inside = self.places
        stops = offsets + lengths
        ends: list[int] = []
        for start in offsets[inside].tolist():  # in order: what begins in the string before ends where that does
            ends.append(ends[-1] if ends and start < ends[-1] else inside_end(self.data, start + 1))
        stops[inside] = ends
        return self._around(offsets, stops)

    def _around(self, starts: Any, stops: Any) -> list[tuple[int, int]]:
        behind = np.concatenate([[0], np.maximum.accumulate(stops)]).astype(np.int64)
        ahead = np.concatenate([starts, [len(self.data)]]).astype(np.int64)
        sizes = ahead - behind
        data = np.frombuffer(self.data, np.uint8)
        odd = sizes > _SHORT_GAP
        for step in range(_SHORT_GAP):
            rows = np.flatnonzero(sizes > step)
            odd[rows[~np.isin(data[behind[rows] + step], _SPACE)]] = True
        found = zip(behind[odd].tolist(), ahead[odd].tolist(), strict=True)
        return [(start, stop) for start, stop in found if self.data[start:stop].strip()]

    def texts(self) -> Iterator[bytes]:
        """The lines that are not blank around all that is in no string."""
        for start, stop in self.gaps:
            yield from (line for line in self.data[start:stop].split(b"\n") if line.strip())

    # --- text in strings ----------------------------------------------------------------------------------------------

    def strings(self, instead: bytes = b" ") -> Iterator[tuple[int, bytes]]:
        """The texts of the strings in which records were found with other text, without these: (byte, text). instead:
        what stands for each of them."""
        return ((start, instead.join(parts)) for start, parts in self._mixed)

    @cached_property
    def _mixed(self) -> list[tuple[int, list[bytes]]]:
        """Of each such string, its byte and the texts between its records."""
        several = (one for batch in self._batches for one in self._raws(batch))
        strings = ((start, self._between(start, list(ones))) for start, ones in groupby(several, itemgetter(0)))
        return [(start, parts) for start, parts in strings if any(map(bytes.strip, parts))]

    def _raws(self, batch: Batch) -> Iterator[tuple[int, int, bytes]]:
        """Records with other text in JSON strings: the string's byte, the byte in what that says, and the bytes."""
        rows = batch.valid("inner").nonzero()[0]
        if not len(rows):
            return iter(())
        offsets, lengths, inners = (batch[name][rows] for name in ("offset", "length", "inner"))
        data, last = np.frombuffer(self.data, np.uint8), len(self.data) - 1
        stops = np.minimum(offsets + 1 + lengths, last)
        for _ in range(_LINE_ENDS):  # these, behind a record, are no text
            stops += 2 * ((data[stops] == 0x5C) & (data[np.minimum(stops + 1, last)] == 0x6E))
            stops = np.minimum(stops, last)
        mixed = (inners != 0) | (data[stops] != 0x22)
        return zip(offsets[mixed].tolist(), inners[mixed].tolist(), batch.raws(rows[mixed]), strict=True)

    def _between(self, start: int, records: list[tuple[int, int, bytes]]) -> list[bytes]:
        """The text that the string at ``start`` says around its records; of those in strings in it, what the innermost
        one says that holds the first of them."""
        said = Text(self.data).said(start + 1)
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

    def lines_around(self, wire: str) -> Iterator[TextLine]:
        """The lines beside the messages of a wire in the same JSON strings, then those after the same prefixes."""
        if self.of(wire).any():
            yield from self.lines_in_strings()
            yield from self.lines_behind_prefixes(wire)

    def lines_in_strings(self) -> Iterator[TextLine]:
        """Those in strings. What is in a string of one line, or of lines of a log, is in a log."""
        for start, said in self.strings():
            lines = [text.strip(_BLANKS) for text in said.split(b"\n") if text.strip(_BLANKS)]
            in_log = b"\n" not in said.strip(b"\r\n") or any(map(log_line, lines))
            yield from (TextLine(start, self.line_of(start), text, in_log) for text in lines)

    # --- text behind prefixes -----------------------------------------------------------------------------------------

    def lines_behind_prefixes(self, wire: str) -> Iterator[TextLine]:
        """Those that begin as the line of the message before them or after them does, in letters and other marks;
        of a message in a JSON string, as its line does up to that, and what the string says.

        Where all lines beside messages begin so, and that is white space or the mark of a quote, it is not a log.
        """
        lines = list(self._with_prefixes(wire))
        plain = all(prefix is not None and _MARKS_OF_QUOTES.fullmatch(prefix) for _, prefix, _ in lines)
        for start, prefix, texts in lines:
            if prefix is not None:
                line = self.line_of(start)
                yield from (TextLine(start + len(prefix), line, text, not plain) for text in texts)

    def prefixes(self, wire: str) -> Iterator[tuple[int, int, bytes]]:
        """Each text before a message of a wire in its line, except for its digits once: (byte, line, text)."""
        offsets, _, _, inside = self.places
        seen = {b""}
        for offset in offsets[self.of(wire) & ~inside].tolist():
            prefix = self._prefix(offset)
            form = prefix.translate(_ZEROS)
            if form not in seen:
                seen.add(form)
                yield offset, self.line_of(offset), prefix

    def _with_prefixes(self, wire: str) -> Iterator[tuple[int, bytes | None, list[bytes]]]:
        """Each line that is not blank around all that was found: its byte, its prefix (None if it has none), and
        what it says after that."""
        offsets, _, _, inside = self.places
        data, mine = self.data, self.of(wire)
        own, quoted = offsets[mine], inside[mine]
        forms: dict[tuple[bytes, bool], EveryLinePrefix] = {}
        for start, stop in self.rest:
            first = start if not start or data[start - 1] == _NEWLINE else data.find(b"\n", start, stop) + 1
            behind = stop if stop == len(data) else data.rfind(b"\n", start, stop)
            if behind <= first or not (first or not start):
                continue  # there is no whole line
            number = int(own.searchsorted(start))
            near = {(self._prefix(int(own[at])), bool(quoted[at])) for at in (number - 1, number) if 0 <= at < len(own)}
            if not forms.keys() >= near:
                forms = {(prefix, within): EveryLinePrefix(prefix) for prefix, within in near if prefix}
            for line in data[first:behind].split(b"\n"):
                if line.strip(_BLANKS):
                    size, said = _behind(line.removesuffix(b"\r"), forms)
                    yield first, line[:size] or None, [one for one in said if one]
                first += len(line) + 1

    def _prefix(self, offset: int) -> bytes:
        """The text before a byte in its line, where that can be the prefix of other lines."""
        start = max(0, offset - MOST_PREFIX - 1)
        found = self.data.rfind(b"\n", start, offset) + 1
        prefix = self.data[found:offset] if found or not start else b""
        return b"" if prefix[-1:].isalnum() else prefix

    # --- values of JSON -----------------------------------------------------------------------------------------------

    def objects(self, marks: tuple[bytes, ...]) -> Iterator[StrayJson]:
        """Yields the outermost valid JSON objects outside the records, in order, if they contain one of ``marks``."""
        for start, stop in self.gaps:
            chunk = self.data[start:stop]
            if any(mark in chunk for mark in marks):
                for first, _, value in Text(chunk).objects():
                    yield StrayJson(start + first, self.line_of(start + first), value)

    def elements(self) -> list[StrayJson]:
        """The other values in a list of messages, where a file is one: all that is not an object. A file that is
        anything else, or a list with lists of its own, has none."""
        gaps = [(start, self.data[start:stop].strip()) for start, stop in self.gaps]
        if not gaps or not gaps[0][1].startswith(b"["):
            return []
        gaps[0] = gaps[0][0], gaps[0][1].removeprefix(b"[")
        gaps[-1] = gaps[-1][0], gaps[-1][1].removesuffix(b"]")
        several: list[StrayJson] = []
        for start, inside in gaps:
            try:
                values = json.loads(b"[" + inside.strip().strip(b",") + b"]")
            except ValueError:
                return []
            line = self.line_of(start)
            several += [StrayJson(start, line, value) for value in values if not isinstance(value, dict)]
        return several

    def elements_in_strings(self) -> Iterator[StrayJson]:
        """The lists in strings that hold messages, {} for each; the place is that of the string."""
        for start, said in self.strings(b"{}"):
            if said.lstrip()[:1] == b"[":
                with suppress(ValueError):
                    yield StrayJson(start, self.line_of(start), json.loads(said))


def _behind(line: bytes, forms: dict[tuple[bytes, bool], EveryLinePrefix]) -> tuple[int, list[bytes]]:
    """The length of the prefix of a line, and what it says after that; forms: by the prefix, and whether a JSON
    string follows it."""
    for (_, within), form in forms.items():
        size = form.taken(line)
        if size < 0 or (within and line[size : size + 1] != b'"'):
            continue
        said = Text(line).said(size + 1) if within else None
        rest = line[size:] if said is None else said.raw
        return size, [one.strip(_BLANKS) for one in rest.split(b"\n")]
    return 0, [line]


def within(value: dict[str, Any], marks: tuple[str, ...], depth: int = DEEPEST_STRING) -> Iterator[dict[str, Any]]:
    """The object itself, and those that its strings say, in which one of ``marks`` is."""
    yield value
    waiting: list[Any] = list(value.values())
    while waiting and depth:
        one = waiting.pop()
        if isinstance(one, (dict, list, tuple)):
            waiting += one.values() if isinstance(one, dict) else one
        elif isinstance(one, str) and any(mark in one for mark in marks):
            for _, _, inner in Text(one.encode("utf-8", "surrogatepass")).objects():
                yield from within(inner, marks, depth - 1)
