"""One block of the search of all wires: CSP/1 claims its ranges, the rest is searched for the other wires."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.errors import DecodeError
from turnwire.fences import BEGINNING
from turnwire.framing.assembly import undecided
from turnwire.framing.documents import BOM, Document
from turnwire.log.engine.claimed_rows import fill_directly, fill_records, fill_strings
from turnwire.log.engine.claims import CLAIMED, DOCUMENT, REFUSED, TEXT, Claims, StringClaims, nothing
from turnwire.log.engine.column_buffers import ColumnBuffers
from turnwire.log.engine.document_rows import DocumentWire, fill_documents, read_document
from turnwire.log.engine.left_to_right import LeftToRight
from turnwire.log.engine.nested import Together, merged
from turnwire.log.engine.text_rows import claim, fill_claimed, fill_common
from turnwire.log.input.reading import line_end
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from turnwire.framing.assembly import Assembly
    from turnwire.log.engine.all_wires import Finder, State

    Arrays = dict[str, Any]

_core = _backend.load("json.lines")
_heads = _backend.load("framing.line_heads")
_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]|" + BEGINNING.encode())
_BEGINNING = re.compile(
    rb"\xef|\xef\xbb|(?:\xef\xbb\xbf)?[ \t]*(?:[Cc](?:[Ss](?:[Pp][ \t]*(?:/[ \t]*)?)?)?)?"
    rb"| {0,3}(?:`{1,2}|~{1,2})|<+-?\r?|>+\r?"
)
_TOGETHER, _SIGIL, _FENCE = 1 | 2 | 4, 8, 16
"""Signs of lines that belong together, of headers of Space, of fences: see line_heads."""
_LONGEST_PART = 1 << 17
"""Bytes up to which a line that may be a part of one is waited for, whatever ``limits.message`` is."""
_HELD = 4096
"""Bytes of a line without an end that are held back at least, as long as it may become the first of a CSP/1 message."""


def is_text(beginning: bytes) -> bool:
    """Whether a line that begins so is text for CSP/1 where no message is open, however it goes on."""
    return _MAGIC.match(beginning) is None and _BEGINNING.fullmatch(beginning) is None


class Pass:
    """One block of the search."""

    def __init__(
        self,
        finder: Finder,
        block: Any,
        final: bool,
        space: ColumnBuffers,
        line: int,
        state: State,
        keep: bool,
        limit: int,
    ) -> None:
        self.finder = finder
        self.data = block.data
        self.size: int = block.size
        self.ahead: int = block.ahead
        self.base: int = block.base
        self.final = final
        self.ends = final or block.line_end
        self.space = space
        self.line = line
        self.state = state
        self.keep = keep
        self.limit = limit
        self.view = memoryview(block.data)[: self.size].cast("B")
        self._counted = (0, 0)  # a place and the newlines in front of it
        self.rows = 0
        self.rejects: list[tuple[Arrays, int]] = []
        self.table = quarantine.table(quarantine.ROOM, mixed=True)
        self.texts: list[
            tuple[DocumentWire, dict[str, Any] | DecodeError]
        ] = []  # what documents say, or why they are none
        self.strings = StringClaims(finder)
        self.inside = False  # whether this is the text of an assembly: no other is looked for in it
        self.core = finder.core(_core, block.data, block.size, limit)
        self.magic = -1  # where the first line begins that looks like the first of a CSP/1 message
        self.signs = 0  # what other lines show
        self.headed = False  # whether a header of further documents is in it
        self.openings = False  # whether lines may begin a record of a further wire

    def nested(self, block: Any) -> Pass:
        """The search of what lines that belong together say, as an input of its own."""
        space = self.space.small(block.size)
        inner = Pass(self.finder, block, True, space, 1, self.finder.state(), self.keep, self.limit)
        inner.inside = True
        return inner

    def line_of(self, place: int) -> int:
        """The line of the byte at ``place`` of the block."""
        return self.line + self._newlines(place)

    def run(self) -> tuple[int, list[tuple[Arrays, int]], int, int]:
        """(rows, tables of rejects with how many there are in each, position, line)."""
        begin = self._first_line()
        start = max(begin, self._behind_mark())
        if begin >= 0:
            begin, start = (min(max(place, self.state.csp_at - self.base), self.size) for place in (begin, start))
        self.openings = start >= 0 and self.finder.lines.opens(self.view, start)
        self.headed = bool(self.finder.marks) and not self.inside and self.finder.headed(self.view)
        position, line = self._without_signs(start) or self._with_signs(begin, start)
        self._fill()
        self._settle(begin, position)
        return self.rows, self.rejects, position, line

    def run_apart(self, parts: Arrays) -> tuple[int, list[tuple[Arrays, int]]]:
        """(rows, tables of rejects) of the parts of a block, each of which is an input of its own without CSP/1."""
        self._parts(parts)
        self._fill()
        return self.rows, self.rejects

    def _fill(self) -> None:
        """Fills what the core left open in the rows."""
        if self.strings.found:
            fill_strings(self)
        fill_common(self, self.finder.text_codes)

    def _without_signs(self, start: int) -> tuple[int, int] | None:
        """Finds everything where no line shows a sign: (position, line). The core looks for signs as it reads, so that
        the block need not be gone through for them; None where there is one, or was in the block before."""
        state = self.state
        if start or self.inside or self.openings or self.headed or state.signs:
            return None
        if not state.idle() or state.lines.at == self.base or self._decided(0) < self.size:
            return None
        before = state.copy()
        position, line = self._lines(self.line, signs=0)
        rest = position < self.size
        if position < 0 or (rest and _heads.signs(self.view, position, self.size) != (-1, 0)):
            self._begin_again(before)
            return None
        state.csp_at = -1
        self._read_up_to(position)
        return position, line

    def _with_signs(self, begin: int, start: int) -> tuple[int, int]:
        """Finds everything, whatever lines show: (position, line)."""
        magic, signs = (-1, 0) if start < 0 else _heads.signs(self.view, start, self.size)
        self.state.signs = magic >= 0 or signs != 0
        before = self.state.copy() if (signs & _SIGIL or magic >= 0 or self.headed) and not self.inside else None
        self.magic, self.signs = magic, signs
        position, line = self._search(start, [])
        if before is not None and (self.signs & _SIGIL or self.headed):
            ends = self.final and position == self.size
            found = self.state.documents.claims(self.view, begin, max(position, begin), ends, self._spans())
            if found:
                self._begin_again(before)
                position, line = self._search(start, found)
        return position, line

    def _begin_again(self, before: State) -> None:
        """Forgets what was found in the block."""
        self.state.become(before)
        self.rows, self.rejects = 0, []
        self.table = quarantine.table(quarantine.ROOM, mixed=True)

    def _search(self, start: int, documents: list[Document]) -> tuple[int, int]:
        """Finds everything, around the documents: (position, line)."""
        claims = not self.state.idle() or self.magic >= 0 or self._belong_together() or documents or self.openings
        if start >= 0 and claims:
            around = None if documents else self._around_claims(start)
            position, line = self._with_claims(start, documents) if around is None else around
        else:
            stop = self.size if start < 0 else self._decided(start)
            position, line = self._lines(self.line) if stop == self.size else self._whole_lines(stop)
            self.state.csp_at = -1
        self._read_up_to(position)
        return position, line

    def _read_up_to(self, position: int) -> None:
        if position:
            self.state.within_line = self.view[position - 1] != ord("\n")

    def _belong_together(self) -> bool:
        """Whether lines were met that may belong together."""
        return bool(self.signs & _TOGETHER) and not self.inside

    def belong_together(self, found: Claims, start: int, stop: int) -> bool:
        """Whether lines from ``start`` to ``stop`` may belong together. Behind the first magic only what nobody claims,
        or what is damaged, shows signs."""
        since = max(self.magic, start)
        if self.magic >= 0 and since < stop:
            good = found.what == CLAIMED
            between = _heads.signs_between(self.view, found.starts[good], found.stops[good], since, stop)
            self.signs |= between
            self.state.between = between != 0
        return self._belong_together()

    def _spans(self) -> list[tuple[int, int]]:
        """Where the records and rejects of the block are in it, in order."""
        arrays = self.space.arrays
        found = [(arrays["offset"][: self.rows], arrays["length"][: self.rows])]
        found += [(table["offset"][:count], table["length"][:count]) for table, count in self.rejects]
        return sorted(
            (start - self.base, start - self.base + size)
            for starts, sizes in found
            for start, size in zip(starts.tolist(), sizes.tolist(), strict=True)
        )

    def _settle(self, start: int, position: int) -> None:
        """Carries on the state of documents: how far the input was read, and what was found."""
        documents = self.state.documents
        self.state.met, self.state.unsure = bool(self.rows or self.rejects), False
        if self.inside:
            return
        if start >= 0 and (self.signs & (_SIGIL | _FENCE) or documents.fence):
            documents.settle(self.view, start, max(position, start), self._spans())
            return
        documents.begun = documents.begun or position > 0
        documents.touched = documents.touched or self.state.met
        documents.fence_touched = documents.fence_touched or (bool(documents.fence) and self.state.met)

    # --- where CSP/1 may be ---

    def _first_line(self) -> int:
        """Where the first line begins, or -1 where none does."""
        start = 0
        while self.state.within_line and start < self.size:
            newline = self.view[start : start + (1 << 16)].tobytes().find(b"\n")
            if newline >= 0:
                return start + newline + 1
            start += 1 << 16
        return -1 if self.state.within_line else 0

    def _behind_mark(self) -> int:
        """Behind the byte order mark with which the input begins, else -1: the first line begins behind it."""
        begins = not (self.inside or self.state.documents.begun)
        return len(BOM) if begins and self.view[: len(BOM)] == BOM else -1

    def _with_mark(self, place: int) -> int:
        """Where the next block begins that has to begin with the line at ``place``: the mark stays in front of it."""
        return 0 if place == self._behind_mark() else place

    def _decided(self, start: int) -> int:
        """Up to where no line from ``start`` on can be CSP/1: in front of the last one, if that has no end yet and may
        become the first of a message. A line that was read in pieces cannot."""
        if self.ends:
            return self.size
        last = max(line_end(self.view, start, self.size), start)
        held = self.size - last <= max(self.limit + 1, _HELD)
        if (held and not self._is_text(self.view[last:].tobytes())) or self._undecided(last):
            return self._with_mark(last)
        return self.size

    def _is_text(self, beginning: bytes) -> bool:
        """Whether a line that begins so is text for all wires of lines where nothing is open, however it goes on."""
        return is_text(beginning) and not self.finder.lines.goes_on(beginning)

    def _undecided(self, last: int) -> bool:
        """Whether the line from ``last`` on, which has no end yet, may be a part of one that a container engine cut."""
        return not self.inside and self.size - last <= _LONGEST_PART and undecided(self.view[last:].tobytes())

    # --- lines ---

    def _lines(self, line: int, start: int = 0, *, signs: int | None = None) -> tuple[int, int]:
        """Finds JSON and nSLIP from ``start`` on, where CSP/1 claims nothing: (position, line). signs: from where on to
        look for signs, too: the position is -1 where a line shows one."""
        while start < self.size:
            position, line, on = self._read(start, self.final, line, None, signs)
            if position < 0 or self._held() or (not on and (self._waits(start) or not self._more_room())):
                return position, line
            start = position
        return start, line

    def _waits(self, start: int) -> bool:
        """Whether the line from ``start`` on is not read since it may go on behind what is there."""
        return (
            not self.ends and self.size - start <= self.limit + 1 and self._newlines(self.size) == self._newlines(start)
        )

    def _whole_lines(self, stop: int) -> tuple[int, int]:
        """The same up to ``stop``, where a line begins."""
        line = self.line + self._newlines(stop)
        held = self._parts(nothing(stop, line, self.finder.csp.code))
        return (stop, line) if held is None else (held, self.line + self._newlines(held))

    def _held(self) -> bool:
        """Whether the core stopped in front of an object that goes on behind what is there."""
        return not self.final and self.state.lines.held >= 0

    def _newlines(self, stop: int) -> int:
        """How many newlines are in front of a place; mostly one near the place that was asked for last."""
        last, count = self._counted
        if stop < last - stop:
            last, count = 0, 0
        between = self.view[min(last, stop) : max(last, stop)]
        more = int(np.count_nonzero(np.frombuffer(between, np.uint8) == ord("\n")))
        count += more if stop >= last else -more
        self._counted = stop, count
        return count

    def _parts(self, parts: Arrays, signs: int | None = None) -> int | None:
        """Finds JSON and nSLIP around the claims of CSP/1, and leaves rows open for these. Where an object begins that
        goes on behind the last part, or None. signs: from where on to look for signs, too; -1 where there is one."""
        part, count = 0, len(parts["what"])
        while part < count:
            before = part, int(parts["start"][part])
            part, _, on = self._read(part, self.final, 1, parts, signs)
            if part < 0:
                return -1
            if self._held():
                return int(parts["start"][part])
            stuck = not on and part < count and (part, int(parts["start"][part])) == before
            if stuck and not self._more_room():
                raise AssertionError("the scanner made no progress")
        return None

    def _read(
        self, start: int, final: bool, line: int, parts: Arrays | None, signs: int | None = None
    ) -> tuple[int, int, bool]:
        """One call of the core: (position, line, whether it made progress)."""
        first, room = self.rows, len(self.table["offset"])
        self.state.lines.grows = room < quarantine.MOST_ROOM
        self.rows, bad, position, line = self.core.scan_block(
            self.finder.plan(self.core),
            self.data,
            start,
            self.size,
            final,
            self.space.arrays,
            self.rows,
            self.space.room,
            self.table,
            0,
            room,
            base=self.base,
            line=line,
            keep=self.keep,
            limit=self.limit,
            state=self.state.lines,
            parts=parts,
            claims=self.strings,
            signs=signs,
        )
        if bad:
            self.rejects.append((self.table, bad))
            # A table that is full ends a look at the whole line: on a line of nothing but damage they must grow.
            more = min(4 * room, quarantine.MOST_ROOM) if 2 * bad > room else quarantine.ROOM
            self.table = quarantine.table(more, mixed=True)
        on = bool(bad or self.rows > first or position != start)
        if self.rows == self.space.room:
            self.space.grow(self.rows)
            on = True
        return position, line, on

    def _more_room(self) -> bool:
        """Makes room for a string or a line that has more records, or rejects, than there is room for: of such the core
        takes all or nothing. False where that does not help."""
        room, rows = len(self.table["offset"]), self.space.room
        if room < quarantine.MOST_ROOM:
            self.table = quarantine.table(16 * room, mixed=True)
        self.space.grow(rows)
        return room < quarantine.MOST_ROOM or self.space.room > rows

    # --- lines that are claimed ---

    def claims(self, start: int, size: int, final: bool, *, direct: bool = False) -> Claims:
        """What wires of lines claim: CSP/1 first, then those that have a plan."""
        before = self.state.csp[:]
        found = self._claimed_by_csp(start, size, final, direct)
        held = claim(self, self.finder.lines, found, start, final) if self.openings else None
        if held is not None:
            self.state.csp = before[:]  # these lines are read with the next block
            found = self._claimed_by_csp(start, held, False)
            claim(self, self.finder.lines, found, start, True)
        if found.position < self.size:
            found.position = self._with_mark(found.position)
        return found

    def _claimed_by_csp(self, start: int, size: int, final: bool, direct: bool = False) -> Claims:
        return Claims(
            self.finder.csp,
            self.data,
            start,
            size,
            final,
            ahead=self.ahead if size == self.size else 0,
            base=self.base,
            line=self.line + self._newlines(start),
            keep=self.keep,
            limit=self.limit,
            state=self.state.csp,
            columns=self.space.arrays,
            direct=direct,
        )

    def _around_claims(self, start: int) -> tuple[int, int] | None:
        """What CSP/1 claims, then all that is left: (position, line). Only where no line outside of good claims shows a
        sign, which the core looks for as it reads them; None where one does, or did in the block before."""
        if self.magic < 0 or self.signs or self.state.between or self.inside or self.openings:
            return None
        before = self.state.copy()
        found = self.claims(start, self.size, self.final, direct=start == 0)
        if fill_directly(self, found):
            return self._behind_claims(found, None)
        found.detach()
        none = found.starts[:0]
        last = max(found.position, self.magic, start)  # from there on the next block reads, or what is behind the parts
        held: int | None = -1
        if _heads.signs_between(self.view, none, none, last, self.size) == 0:
            parts = found.parts(self.finder.csp.code)
            held = self._parts(parts, max(self.magic, start))
        if held == -1:
            self._begin_again(before)
            return None
        fill_records(self, found.records, parts["row"][1::2][found.what == CLAIMED])
        return self._behind_claims(found, held)

    def _with_claims(self, start: int, documents: list[Document]) -> tuple[int, int]:
        """What CSP/1 claims, and what lines say together; then all that is left: (position, line)."""
        before = self.state.csp[:]
        stop, final = self.size if not documents or documents[-1].whole else documents[-1].start, self.final
        reach = stop  # what is known behind what was open tells how what is in front of that ends
        while True:
            ranges = self._around(documents, start, stop, final, reach)
            end = ranges[-1].position
            start = min(start, ranges[0].claims.position)
            if end >= ranges[-1].claims.position:
                break
            self.state.csp = before[:]  # the lines behind are read with the next block
            stop, final = self._with_mark(end), False
            start = min(start, stop)
            documents = [one for one in documents if one.stop <= stop]
        found, assemblies = ranges[0].claims, self._with_documents(ranges, documents)
        if assemblies or documents or found.wires.any():
            held = self._all_claimed(found, Together(self, found.position, assemblies))
        else:
            parts = found.parts(self.finder.csp.code)
            held = self._parts(parts)
            fill_records(self, found.records, parts["row"][1::2][found.what == CLAIMED])
        return self._behind_claims(found, held)

    def _behind_claims(self, found: Claims, held: int | None) -> tuple[int, int]:
        """Reads on where nothing is claimed and no line begins: (position, line). held: where an object is open, or
        None."""
        position, line = found.position, found.line
        self.state.csp_at = -1 if held is None else self.base + position
        if held is not None:
            return held, self.line + self._newlines(held)
        rest = self.view[position:].tobytes() if not self.ends and position < self.size else b"\n"
        if b"\n" not in rest and self._is_text(rest) and not self._undecided(position):
            return self._lines(line, position)
        return position, line

    def _around(self, documents: list[Document], start: int, stop: int, final: bool, reach: int) -> list[LeftToRight]:
        """What is claimed of a block up to ``stop`` in front of its documents, between them and behind; in them nothing
        is claimed. reach: up to there the bytes behind ``stop`` are known."""
        whole = [one for one in documents if one.whole]
        last = documents[-1].start if documents and not documents[-1].whole else stop
        final = final and last == stop
        ends = [*(one.start for one in whole), last]
        # A document may begin with a byte order mark.
        ranges = [LeftToRight(self, min(start, ends[0]), ends[0], bool(whole) or final, ends[0] if whole else reach)]
        for number, one in enumerate(whole):
            self.state.csp = self.finder.csp_state()
            more = number + 1 < len(whole)
            end = ends[number + 1]
            ranges.append(LeftToRight(self, one.stop, end, more or final, end if more else reach))
        return ranges

    def _with_documents(self, ranges: list[LeftToRight], documents: list[Document]) -> list[Assembly]:
        """Adds the documents, and what is claimed behind them, to the claims of the first range; all assemblies."""
        self.texts = []
        found = ranges[0].claims
        for one, behind in zip([one for one in documents if one.whole], ranges[1:], strict=True):
            said = read_document(self, one)
            self.texts.append((self.finder.documents_of(one.wire), said))
            what = REFUSED if isinstance(said, DecodeError) else DOCUMENT
            found.add(one.start, one.stop, self.line_of(one.start), what)
            found.join([behind.claims])
        return [one for part in ranges for one in part.assemblies]

    def _all_claimed(self, found: Claims, together: Together) -> int | None:
        """The claims and the assemblies of a block, and what is left of it; where an object is open, or None."""
        together.scan()
        parts = together.parts(found)
        held = self._parts(parts)
        claimed = parts["what"] == CLAIMED
        kinds = found.what[together.numbers] if len(found.what) else np.zeros(len(claimed), np.uint8)
        mine = claimed & (together.numbers >= 0)
        fill_records(self, found.records, parts["row"][mine & (kinds == CLAIMED)])
        rows = parts["row"][mine & (kinds == DOCUMENT)].tolist()
        refused = fill_documents(self, found, rows)
        refused += fill_claimed(self, found, parts["row"][mine & (kinds == TEXT)].tolist())
        together.fill(parts["row"][claimed & (together.numbers < 0)].tolist())
        more = together.rejects() + refused
        self.rejects = merged(self.rejects, more, self.space.arrays["offset"][: self.rows])
        return held
