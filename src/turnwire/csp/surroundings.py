"""What is around the messages of a file: preambles, and text that has no place in a document."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

from turnwire.checklists import log_lines, spoken, statement
from turnwire.csp.codec import preambles
from turnwire.csp.messages import Preamble
from turnwire.csp.spec import WIRE
from turnwire.errors import DecodeError
from turnwire.fences import is_fence
from turnwire.registry import reading

BOM = b"\xef\xbb\xbf"
_FENCES = (b"```", b"~~~")
_NEWLINE = 0x0A
Beside = list[tuple[int, int, Preamble]]


class Surroundings:
    """What is around everything that was found in a file (:class:`turnwire.read.located.Found`).

    any: whether there is CSP/1 in it.
    """

    def __init__(self, found: Any) -> None:
        self._data: bytes = found.data
        self._found = found
        own = found.of(WIRE)
        self.any = bool(own.any())
        self._alone = bool(own.all()) and self._on_lines()

    def _on_lines(self) -> bool:
        """Whether everything begins a line, and nothing is in a string."""
        import numpy as np

        offsets, _, _, inside = self._found.places
        first = offsets <= (len(BOM) if self._data.startswith(BOM) else 0)
        before = np.frombuffer(self._data, np.uint8)[np.maximum(offsets - 1, 0)]
        return bool((first | (before == _NEWLINE)).all() and not inside.any())

    def is_document(self) -> bool:
        """Whether nothing says that this is a log."""
        return self._alone and not any(log_lines(self._data[start:stop]) for start, stop in self._found.gaps)

    def preambles(self) -> tuple[Beside, list[DecodeError]]:
        """The preambles with their offsets and lengths, and what is wrong with those that are damaged."""
        if not self._alone or any(piece.damaged for piece in self._found.pieces):
            beside, damaged = preambles(self._data)  # a damaged message may reach into the text behind it
            for there, wrong in self.preambles_elsewhere():
                beside += there
                damaged += wrong
            return beside, damaged
        beside, damaged = [], []
        for start, stop, line in self._gaps():
            there, wrong = preambles(self._data[start:stop])
            for offset, length, record in there:
                record.line += line
                beside.append((offset + start, length, record))
            damaged += [_moved(error, start, line) for error in wrong]
        return beside, damaged

    def preambles_elsewhere(self) -> Iterator[tuple[Beside, list[DecodeError]]]:
        """The same of preambles that are not lines of their own."""
        if not self._on_lines() and _speaks_of_state(self._data):
            yield from self._in_strings()
            yield from self._behind_prefixes()

    def _in_strings(self) -> Iterator[tuple[Beside, list[DecodeError]]]:
        """Those in JSON strings, in front of the first message of each string."""
        wrapping = reading("wrapping")
        last = -1
        for one in self._found.ones(WIRE):
            if one.inner is None or one.offset == last:
                continue
            last = one.offset
            start = last + 1
            said = wrapping.Text(self._data).said(start, wrapping.inside_end(self._data, start))
            if said is None:
                continue
            text, place = said.innermost(one.inner)
            front = text.raw[:place]
            if _speaks_of_state(front):
                there, wrong = preambles(front)
                for _, _, record in there:
                    record.line = one.line
                found = [(last - 1, 0, record) for _, _, record in there]
                yield found, [_placed(error, last, one.line) for error in wrong]

    def _behind_prefixes(self) -> Iterator[tuple[Beside, list[DecodeError]]]:
        """Those in lines that begin as the first line of the message behind them does."""
        data = self._data
        for start, stop, line in self._gaps():
            prefix = data[data.rfind(b"\n", 0, stop) + 1 : stop]
            if not prefix or not _speaks_of_state(data[start:stop]):
                continue
            rows = data[start:stop].split(b"\n")[:-1]
            short = prefix.rstrip()
            bare = (row.removeprefix(prefix) if row.startswith(prefix) else row.removeprefix(short) for row in rows)
            kept = [text if len(text) < len(row) else b"" for text, row in zip(bare, rows, strict=True)]
            there, wrong = preambles(b"\n".join(kept) + b"\n")
            found = []
            places = list(accumulate((len(row) + 1 for row in rows), initial=start))
            for _, _, record in there:
                place = places[record.line - 1]
                record.line += line
                found.append((place, 0, record))
            yield found, [_placed(error, start, line + (error.line or 1)) for error in wrong]

    def _gaps(self) -> Iterator[tuple[int, int, int]]:
        """The gaps that hold any text, each with how many lines are in front of it."""
        place = line = 0
        for start, stop in self._found.gaps:
            line += self._data.count(b"\n", place, start)
            place = start
            yield start, stop, line

    def junk(self, taken: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
        """The lines that are not blank and no fence: (offset, line, text). taken: offset and length of others."""
        found: list[tuple[int, int, str]] = []
        number = 0
        for start, stop, line in self._gaps():
            place = start
            while place < stop:
                while number < len(taken) and sum(taken[number]) <= place:
                    number += 1
                here = taken[number] if number < len(taken) else (stop, 0)
                if here[0] <= place:
                    end = min(sum(here), stop)
                    line += self._data.count(b"\n", place, end)
                else:
                    end = min(here[0], stop)
                    line = _lines(self._data, place, end, line, found)
                place = end
        return found

    def prose(self) -> Iterator[tuple[int, int, str]]:
        """The lines beside messages in the same strings and behind the same prefixes that have no place there: in a log
        what speaks as a person does, elsewhere all that is no preamble and no fence. (offset, line, text) of each."""
        for one in reading("around").lines_around(self._found, WIRE):
            if spoken(one.text) if one.in_log else not (statement(one.text) or one.text.startswith(_FENCES)):
                yield one.offset, one.line, one.text.decode(errors="replace")


def _lines(data: bytes, start: int, stop: int, line: int, found: list[tuple[int, int, str]]) -> int:
    """Adds the lines of a part of a file that are not blank and no fence; the number of lines in front of its end."""
    last = line
    known: dict[bytes, str] = {b"": ""}
    for last, row in enumerate(data[start:stop].split(b"\n"), line):
        text = known.get(row)
        if text is None:
            bare = row.removeprefix(BOM if start == 0 else b"").strip()
            text = "" if is_fence(bare) else bare.decode(errors="replace")
            if start and len(known) < _REMEMBERED:
                known[row] = text
        if text:
            found.append((start, last + 1, text))
        start += len(row) + 1
    return last


_REMEMBERED = 4096
"""Lines of a text, of which many may be alike."""


def _speaks_of_state(text: bytes) -> bool:
    return b"DEF " in text or b"LAWS" in text


def _placed(error: DecodeError, offset: int, line: int) -> DecodeError:
    return DecodeError(error.reason, error.text, offset=offset, line=line, wire=WIRE)


def _moved(error: DecodeError, start: int, line: int) -> DecodeError:
    return DecodeError(
        error.reason, error.text, offset=(error.offset or 0) + start, line=(error.line or 1) + line, wire=WIRE
    )
