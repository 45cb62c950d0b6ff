"""Texts that are searched, the maps of their places, and the walk through each: what it finds, and the state that goes
on after a cut.

The file is a text; so is what a JSON string says, what the lines of one service say after their prefix, or the parts
that a container engine cut, joined. A text knows the text around it, so that each of its places has one in the
file, and each record the bytes that are its own there.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import Reason
from turnwire.json._rows_py import EscapeMap
from turnwire.json._wrapper_py import Numbers
from turnwire.json.times import head_time

if TYPE_CHECKING:
    from turnwire.log.search.carriers import Run

BOM = b"\xef\xbb\xbf"
CARRIERS = ("file", "prefix", "cri", "docker", "journald", "string", "list of lines", "bytes")
"""Carriers through which a text comes: the names of the column ``carrier``."""
DEEPEST_STRING = 8
"""So deep strings inside strings are searched."""
_TIME_BYTES = 256
"""So many bytes at the start of a line may hold its time."""
LONGEST_LINE = 1 << 12
"""Bytes of a line that are waited for, however small the limit is."""
MOST_OPENING = 1 << 7
"""Bytes at the end of a block within a line that are searched again with the next one."""
_VERSION = 1
_FLAGS = ("touched", "fence_touched", "pieces", "tail", "mid")


class Segment(NamedTuple):
    """A part of a text that stands in one piece in the text around it.

    start: where it begins in the text; outer: where in the text around it; written: the map of its places where it is
    written with escapes (a JSON string) or as numbers (an array of bytes), None if it is there as such; size: how
    many bytes it says; time: that of its line or of its object, in microseconds since 1970, or None.
    """

    start: int
    outer: int
    size: int
    written: EscapeMap | Numbers | None = None
    time: int | None = None


class Text:
    """Bytes that are searched, and where they stand.

    final: nothing follows that could belong to them; carrier: the name of what they came through; quote: for texts in
    strings, where the quote of the outermost string stands in the file, else -1; inner: for these, the place of a byte
    counts in the outermost string's text; depth: how many strings are around them.
    """

    def __init__(
        self,
        data: bytes,
        outer: Text | None = None,
        stretches: list[Segment] | None = None,
        *,
        final: bool = True,
        carrier: str = "file",
        in_string: bool = False,
    ) -> None:
        self.data = data
        self.outer = outer
        self.stretches = stretches or [Segment(0, 0, len(data))]
        self._starts = [one.start for one in self.stretches]
        self.final = final
        self.carrier = carrier
        self.in_string = in_string
        self._line = 0, -1
        self.singly = 0  # up to there, records of nSLIP are read one by one
        self.quoted = True  # of a string: a quote stands in front of it
        self.closings: dict[int, list[int]] | None = None  # of CSP/1's heredocs, once they were listed
        self.depth: int = (0 if outer is None else outer.depth) + in_string

    def outermost(self) -> Text:
        """The text of the file, or the one that was put together from it first."""
        one = self
        while one.outer is not None and one.outer.outer is not None:
            one = one.outer
        return one

    def _stretch(self, at: int) -> Segment:
        return self.stretches[max(bisect_right(self._starts, at) - 1, 0)]

    def _outside(self, at: int, stretch: Segment) -> int:
        """The place in the text around this one, of a byte of a stretch."""
        place = at - stretch.start
        return stretch.outer + (place if stretch.written is None else stretch.written.place(place))

    def outside(self, at: int) -> int:
        """The place of a byte in the text around this one."""
        return self._outside(at, self._stretch(at))

    def outside_end(self, start: int, stop: int) -> int:
        """Behind the last byte of ``data[start:stop]`` in the text around this one."""
        return self._outside(stop, self._stretch(max(stop - 1, start)))

    def spans(self, start: int, stop: int) -> list[tuple[int, int]]:
        """The bytes of the file that ``data[start:stop]`` is, as ranges in order that do not touch."""
        if self.outer is None:
            return [(start, stop)]
        found: list[tuple[int, int]] = []
        for number in range(max(bisect_right(self._starts, start) - 1, 0), len(self.stretches)):
            stretch = self.stretches[number]
            if stretch.start >= stop:
                break
            first, last = max(start, stretch.start), min(stop, stretch.start + stretch.size)
            if first >= last:
                continue
            for span in self.outer.spans(self._outside(first, stretch), self._outside(last, stretch)):
                if found and found[-1][1] == span[0]:
                    found[-1] = found[-1][0], span[1]
                else:
                    found.append(span)
        return found

    def place(self, at: int) -> int:
        """The place of a byte in the file."""
        text: Text = self
        while text.outer is not None:
            at = text.outside(at)
            text = text.outer
        return at

    def string_place(self, at: int) -> tuple[int, int]:
        """For a text in strings: where the outermost string's quote stands in the file, and the place of a byte in what
        that string says. (-1, -1) for any other."""
        found = -1, -1
        text: Text = self
        while text.outer is not None:
            stretch = text._stretch(at)
            if text.in_string:
                quote = stretch.outer - text.quoted
                if isinstance(stretch.written, Numbers):
                    quote = text.outer.data.rfind(b"[", 0, stretch.outer)
                found = quote, at - stretch.start
            outside = text._outside(at, stretch)
            if text.in_string and found[0] >= 0:
                found = text.outer.place(found[0]), found[1]
            at, text = outside, text.outer
        return found

    def time(self, at: int) -> int | None:
        """The time of a record at a place that has none of its own: its line's, else its carrier's."""
        text: Text = self
        while True:
            found = text.line_time(text.line_start(at))
            if found is not None or text.outer is None:
                return found
            stretch = text._stretch(at)
            if stretch.time is not None:
                return stretch.time
            at, text = text._outside(at, stretch), text.outer

    def around(self, outer: Text, time: int) -> None:
        """Sets the time of what stands in an object of ``outer``, for all that has none of its own."""
        text: Text = self
        while text.outer is not outer and text.outer is not None:
            text = text.outer
        text.stretches = [one._replace(time=time) for one in text.stretches]

    def line_time(self, line: int) -> int | None:
        """The time at the head of the line that begins there."""
        head = self.data[line : line + _TIME_BYTES]
        newline = head.find(b"\n")
        return head_time((head if newline < 0 else head[:newline]).removeprefix(BOM))

    def _look(self, at: int) -> tuple[int, int]:
        """The start of the line of a place, and its newline or the end of the text; mostly asked for one line again."""
        start, newline = self._line
        if not start <= at <= newline:
            start = self.data.rfind(b"\n", 0, at) + 1
            newline = self.data.find(b"\n", at)
            self._line = start, newline if newline >= 0 else len(self.data)
        return self._line

    def line_end(self, at: int) -> int:
        """The end of the line of a place, without its line end."""
        newline = self._look(at)[1]
        return newline - (at < newline < len(self.data) and self.data[newline - 1] == 13)

    def behind_line(self, at: int) -> int:
        """The start of the next line."""
        return min(self._look(at)[1] + 1, len(self.data))

    def line_start(self, at: int) -> int:
        """The start of the line of a place."""
        return self._look(at)[0]


class Joiner:
    """Joins stretches of a text to another one."""

    def __init__(self, outer: Text, carrier: str) -> None:
        self.outer = outer
        self.carrier = carrier
        self.parts: list[bytes] = []
        self.stretches: list[Segment] = []
        self.size = 0

    def add(self, text: bytes, outer: int, written: EscapeMap | Numbers | None = None, time: int | None = None) -> None:
        """Adds what stands at ``outer``."""
        self.stretches.append(Segment(self.size, outer, len(text), written, time))
        self.parts.append(text)
        self.size += len(text)

    def end_line(self) -> None:
        """Adds a line end that stands nowhere."""
        self.parts.append(b"\n")
        self.size += 1

    def text(self, final: bool, in_string: bool = False) -> Text:
        """The text that they are."""
        return Text(
            b"".join(self.parts), self.outer, self.stretches, final=final, carrier=self.carrier, in_string=in_string
        )


def lines_of(data: bytes, start: int) -> Iterator[tuple[int, int]]:
    """The start of each line from ``start`` on, and of the line after it."""
    while start < len(data):
        behind = data.find(b"\n", start) + 1 or len(data)
        yield start, behind
        start = behind


# --- the walk through a text ------------------------------------------------------------------------------------------


def _are_counts(value: Any, least: int = 0) -> bool:
    return isinstance(value, list) and all(type(one) is int and least <= one < 1 << 63 for one in value)


_FORMS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(_FLAGS, lambda value: isinstance(value, bool)),
    "fence": lambda value: isinstance(value, str) and re.fullmatch("`{3,}|~{3,}", value) is not None,
    "runs": lambda value: _are_counts(value, 3),
    "streams": lambda value: (
        isinstance(value, list)
        and all(isinstance(one, list) and len(one) == 2 and isinstance(one[0], list) and one[0] != [] for one in value)
        and all(isinstance(part, str) for one in value for part in one[0])
    ),
    "foreign": lambda value: (
        isinstance(value, dict) and all(_are_counts(one) and len(one) == 2 for one in value.values())
    ),
    "inherited": lambda value: (
        isinstance(value, dict)
        and all(isinstance(one, dict) and all(isinstance(text, str) for text in one.values()) for one in value.values())
    ),
}
"""The members of a state that is kept, and the form of each."""


class Match(NamedTuple):
    """A record or a reject: ``text.data[start:stop]``.

    here, behind: where what holds it begins and stops in the text that was walked; wire: the number of the wire among
    all; reason: None for a record; fault: place in ``text``; value: what its matcher read; unclosed: it stands in a
    heredoc that never closes; time: that of the object around it.
    """

    here: int
    behind: int
    text: Text
    start: int
    stop: int
    wire: int
    reason: Reason | None = None
    fault: int = 0
    value: Any = None
    unclosed: bool = False
    time: int | None = None


def in_order(one: Match) -> int:
    """The key by which what was found is sorted: where it begins in the file."""
    return one.text.place(one.start)


class Incomplete(Exception):
    """Raised where what began at ``place`` may go on after the bytes at hand."""

    def __init__(self, place: int) -> None:
        self.place = place


class ClaimedLines:
    """Lines of a text that belong to another one, in order."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def add(self, spans: list[tuple[int, int]]) -> None:
        """Notes lines."""
        for span in spans:
            insort(self._spans, span)

    def behind(self, at: int) -> int:
        """Behind the lines taken around a place, or the place itself."""
        number = bisect_left(self._spans, (at + 1,)) - 1
        return self._spans[number][1] if number >= 0 and at < self._spans[number][1] else at

    def last_end(self, at: int) -> int:
        """The end of the last lines taken before a place, or 0."""
        number = bisect_left(self._spans, (at + 1,)) - 1
        return self._spans[number][1] if number >= 0 and self._spans[number][1] <= at else 0

    def up_to(self, at: int, end: int) -> int:
        """Up to where a text continues that begins at a place: to the next lines that were taken, or to ``end``."""
        number = bisect_left(self._spans, (at,))
        return min(end, self._spans[number][0]) if number < len(self._spans) else end


class SearchState:
    """The state of a walk through one text, and the part of it that continues after a cut.

    What continues after a cut:

    - begun: some of the input was read. touched: something was found in it. mid: the next block begins within a line.
    - fence: the run of the open code fence, b"" for none; fence_touched: something was found in it.
    - tail: a CSP/1 message came before, so trailing text may open heredocs; None: as it was before the block.
    - runs: those of heredocs that never close.
    - pieces: a run of a carrier's lines was met: no document begins after that.
    - foreign: carrier whose run of lines is open (CRI, Docker, journald) -> the lines, and bytes, of others since its
      last line. streams: (carrier, key) -> the state of a text of it, where something in that continues.
    - inside: headers of documents in code fences are content.
    - inherited: format -> column -> the text that its next records inherit. All states of one input share the dict, so
      that a kept one knows of the records behind it that were given.

    What belongs to one text alone:

    - hopeless: objects that meet a known fault. taken: lines that belong to another text.
    - reaches: (from, to) of what stands in lines between others, whatever it holds.
    - unclosed: the runs and ranges of heredocs that never close.
    - runs_of_lines: those that were met. open_from: where a text of one is open, which the walk does not pass.
      begun_with: the carrier of the one with which the block that was searched last began.
    - since: how much was found before the open fence. reached: where the walk went on after the last opening.
      found_behind: where the walk went on after the last find.
      sound: an offset before which keys in a line are no damage, while ``found_behind`` is the number with it.
    """

    def __init__(self, inside: bool = False) -> None:
        self.inside = inside
        self.begun = self.touched = self.fence_touched = self.met = self.mid = self.pieces = False
        self.tail: bool | None = None
        self.fence = b""
        self.runs: set[int] = set()
        self.begun_with: str | None = None
        self.streams: dict[tuple[str, ...], SearchState] = {}
        self.foreign: dict[str, tuple[int, int]] = {}
        self.inherited: dict[str, dict[str, str]] = {}
        self.begin()

    def begin(self) -> None:
        """Begins a text."""
        self.hopeless: set[int] = set()
        self.taken = ClaimedLines()
        self.unclosed: list[tuple[int, int, int]] = []
        self.since = self.reached = self.found_behind = 0
        self.sound = (0, 0)
        self.reaches: list[tuple[int, int]] = []
        self.open_from: int | None = None
        self.runs_of_lines: list[Run] = []

    def forget(self) -> None:
        """Forgets what belongs to the text alone that was searched last, and to those in its runs of lines."""
        for run in self.runs_of_lines:
            for _, after, _ in run.texts.values():
                after.forget()
        self.begin()

    def commit_state(self, text: Text, position: int, found: int) -> None:
        """Records that a block was read up to ``position``, with ``found`` records in it."""
        self.begun = self.begun or position > 0
        self.mid = text.data[position - 1] != 10 if position else self.mid
        self.fence_touched = bool(self.fence) and (self.fence_touched or found > self.since)
        self.met = found > 0
        self.touched = self.touched or self.met

    def end(self, at: int, final: bool) -> None:
        """Ends a text at a place; where that is not its end, the heredocs that are open there go on."""
        self.runs = set() if final else {run for run, _, stop in self.unclosed if stop == at}

    def within(self) -> None:
        """The input does not begin here: something is thought to come before, and no fence to be open."""
        self.begun = self.touched = True

    def copy(self) -> SearchState:
        """An independent copy of what continues after a cut."""
        other = SearchState.__new__(SearchState)
        other.__dict__.update(self.__dict__)
        other.begin()
        other.runs, other.foreign = set(self.runs), dict(self.foreign)
        other.streams = {key: one.copy() for key, one in self.streams.items()}
        return other

    def kept(self) -> dict[str, Any] | None:
        """All that continues after a cut, as JSON has it, for a bookmark or a plan; None: as :meth:`within`."""
        said = self._said()
        is_known = (self.begun or self.inherited) and said != {"touched": True}
        return {"version": _VERSION, **said} if is_known else None

    def _said(self) -> dict[str, Any]:
        said: dict[str, Any] = {name: True for name in _FLAGS if getattr(self, name)}
        if self.fence:
            said["fence"] = self.fence.decode()
        if self.runs:
            said["runs"] = sorted(self.runs)
        if self.streams:
            said["streams"] = [[list(key), one._said()] for key, one in self.streams.items()]
        if self.foreign:
            said["foreign"] = {carrier: list(found) for carrier, found in self.foreign.items()}
        if self.inherited:
            said["inherited"] = dict(self.inherited)
        return said

    @classmethod
    def restored(cls, said: Any, inside: bool = False) -> SearchState:
        """The state that was kept. Raises ValueError, with what is wrong in words."""
        if not isinstance(said, dict) or said.get("version") != _VERSION:
            raise ValueError(f"{said!r} is not a search state of this version")
        state = cls(inside)
        state._take_said({name: value for name, value in said.items() if name != "version"})
        state.begun = True
        return state

    def _take_said(self, said: Any) -> None:
        if not isinstance(said, dict) or not said.keys() <= _FORMS.keys():
            raise ValueError(f"{said!r} is not a search state")
        for name, value in said.items():
            if not _FORMS[name](value):
                raise ValueError(f"{value!r} is not a valid {name} of a search state")
        for name in _FLAGS:
            setattr(self, name, said.get(name, False))
        self.fence, self.runs = said.get("fence", "").encode(), set(said.get("runs", ()))
        self.foreign = {carrier: (found[0], found[1]) for carrier, found in said.get("foreign", {}).items()}
        self.inherited = dict(said.get("inherited", {}))
        for key, inner in said.get("streams", ()):
            self.streams[tuple(key)] = one = SearchState()
            one._take_said(inner)

    def follows(self, left: SearchState, block: bytes, openings: Sequence[bytes]) -> bool:
        """True if what was found in a block after :meth:`within`, which left ``left``, is what is found after this
        state; ``left`` becomes what that leaves. openings: those of documents."""
        if self.mid or self.streams or self.foreign.keys() - {left.begun_with}:
            return False
        if self.fence or self.runs or (self.tail and b"\n<<<" in b"\n" + block):
            return False
        if (self.pieces or not self.touched) and any(opening in block for opening in openings):
            return False
        left.pieces |= self.pieces
        left.touched = left.met or self.touched
        if left.tail is None:
            left.tail = self.tail
        return True

    def is_plain(self) -> bool:
        """True if nothing of a text that comes in pieces continues after them."""
        return not (self.fence or self.tail or self.runs or self.streams or self.foreign)

    def stop_at(self, place: int) -> None:
        """A text of a run of lines is open from the line at ``place`` on."""
        self.open_from = place if self.open_from is None else min(self.open_from, place)


class Walk(NamedTuple):
    """The walk through ``text.data[:end]``: what was found so far, and what is known."""

    text: Text
    end: int
    found: list[Match]
    state: SearchState

    def add(self, start: int, stop: int, wire: int, **more: Any) -> None:
        """Adds a record or a reject of this text."""
        self.found.append(Match(start, stop, self.text, start, stop, wire, **more))

    def floor(self, at: int) -> int:
        """The start of the line of ``at``, or the end of what was found or taken in it before."""
        found = self.state.found_behind
        return max(self.text.line_start(at), self.state.taken.last_end(at), found if found <= at else 0)

    def needs_line(self, at: int, longest: int = sys.maxsize) -> None:
        """Raises Incomplete if the line of a place continues after the bytes at hand, unless these are too many."""
        data = self.text.data
        if not self.text.final and len(data) - at <= longest and data.find(b"\n", at) < 0:
            raise Incomplete(at)
