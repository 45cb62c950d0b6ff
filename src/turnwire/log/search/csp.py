"""The matcher of CSP/1: what begins with a line that says ``CSP/1``, or nearly, in any text."""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import LIMITS
from turnwire.csp._lines_py import (
    ABSENT,
    EXACT,
    LOOK_ALIKE,
    LOOKS_LIKE_MAGIC,
    NEAR,
    OPENING,
    TEXT,
    Cursor,
    Line,
    NeedMore,
    ScanFault,
    Span,
    Table,
    are_flags,
    classify_magic_line,
    heredoc_closing,
    is_blank,
    is_header_like,
)
from turnwire.csp._scanner_py import TEMPLATE_HEAD, Stream, bad_utf8, usual_message
from turnwire.csp.spec import BLOCK_WORD
from turnwire.errors import Reason
from turnwire.fences import FENCE, is_fence
from turnwire.json.times import head_time
from turnwire.log.search import carriers
from turnwire.log.search.texts import BOM, Incomplete, SearchState, Text, Walk
from turnwire.nslip.spec import CANDIDATE

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

AT_LINE = rb"(?P<csp>(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9])|(?P<heredoc><{3,}-?\r?$)"
_OWN_LINE = re.compile(rb"[A-Z][A-Z0-9_]*(?: |\Z)|[+~-] DEF |<{3,}-?\Z")
_BLOCK_LINE = re.compile(rb"(?:%s)(?: |\Z)" % b"|".join(word.encode() for word in BLOCK_WORD.values()))
OPENING_OF_ANOTHER = re.compile(rb'[ \t]*(?:\{[ \t]*["}\r\n]|' + CANDIDATE + rb")")
"""A line with which a message of another wire may begin."""


class LineMatch(NamedTuple):
    """A match at a line, up to ``stop`` (the line itself where that is nothing); reason: None for a record.

    behind: where the search goes on; value: the row of a record, as ``spec`` describes; tail: whether trailing text may
    follow; unclosed: (run, start, stop) of heredocs that never close.
    """

    stop: int
    behind: int
    reason: Reason | None
    fault: int
    value: Any
    tail: bool
    unclosed: list[tuple[int, int, int]]


class _LogCursor(Cursor):
    """Lines of a log: a message ends well also at a line that begins as those of the log do."""

    def __init__(self, text: Text, end: int, form: Any, fence: bytes) -> None:
        super().__init__(text.data, end, text.final or end < len(text.data), fence)
        self._form = form
        self.closings = text.closings

    def ends(self, line: Line) -> bool:
        """The same where a prefix stands before the first line: also at a line that begins so, where others do
        not. Where all do, also at any message of another wire, and at a fence with nothing behind it: nobody knows
        which one is open."""
        if self._form is None:
            return super().ends(line)
        if self._form.bare:
            return super().ends(line) or (not is_fence(line.text) and self._form.taken(line.text) >= 0)
        if OPENING_OF_ANOTHER.match(line.text) or LOOKS_LIKE_MAGIC.match(line.text):
            return True
        fence = FENCE.match(line.text)
        return head_time(line.text[:256]) is not None if fence is None else not fence[2].strip()


class _LogStream(Stream):
    """One message or template of a log, of which the first line says CSP/1 or nearly so. Where what follows does not,
    that line is text (``csp/_lines_py.py``). A damaged message ends where a line cannot be its own: lines with a key
    or an operation, heredocs, and a header or a block after blank lines can. So nothing behind is waited for.

    row: of a record; rejected: (reason, start, stop, fault) of what is damaged; run: of the heredoc in it that never
    closes, or 0.
    """

    row: tuple[int, ...] | None = None
    rejected: tuple[Reason, int, int, int] | None = None
    run = 0

    def found(self, start: int, stop: int, code: int, spans: list[Span], extras: Table) -> None:
        self.row = start, stop - start, 0, code, *chain(*spans, ABSENT)

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        self.rejected = reason, start, stop, fault
        return stop

    def unclosed(self, run: int) -> None:
        self.run = run

    def classify(self, first: Line, kind: int) -> int:
        """Tells what begins with a line."""
        return classify_magic_line(self.cursor.data, first.start, self.cursor.end, self.cursor.final, kind)

    def text(self, first: Line) -> int:
        """A line that begins no message after all. It ends what was open, as any line of its looks does."""
        self.tail = False
        return first.next

    def failed(self, first: Line, fault: ScanFault) -> int:
        """A damaged message, or text."""
        return self.text(first) if self.classify(first, EXACT) == TEXT else super().failed(first, fault)

    def near(self, first: Line) -> int:
        """The same where the line only nearly says CSP/1."""
        what = self.classify(first, NEAR)
        if what == TEXT:
            return self.text(first)
        reason = Reason.LOOK_ALIKE if what == LOOK_ALIKE else Reason.BAD_MAGIC
        return self.recover(first.start, ScanFault(reason, first.start, first.next))

    def template(self, first: Line) -> int:
        """A template, which ends before any fence, where its first line is not a sentence."""
        head = TEMPLATE_HEAD.match(first.text)
        assert head is not None, "or it is none"
        return super().template(first) if are_flags(first.text[head.end() :]) else self.near(first)

    def recover(self, start: int, fault: ScanFault) -> int:
        """Rejects a message from its first line to the last that can be its own."""
        self.tail = True
        if fault.run:
            return super().recover(start, fault)
        stop = self.reach(start, self.cursor.end, fault.offset)
        return self.reject(fault.reason, start, stop, fault.offset)

    def reach(self, start: int, stop: int, fault: int) -> int:
        """Behind the last line that can be the message's own."""
        place = end = start
        bound = start + self.limits[0]
        blank = block = False
        while (line := self.cursor.line(place)) is not None and (line.next <= bound or place == start):
            if place > start and self.cursor.ends(line):
                break
            place = line.next
            if is_blank(line.text):
                if block:
                    break
                blank = True
                continue
            if line.start > fault and not block and is_header_like(line.text, True):
                blank = False
            elif line.start > fault and not (_BLOCK_LINE if blank and not block else _OWN_LINE).match(line.text):
                break
            block = block or blank
            opening = OPENING.fullmatch(line.text)
            if opening:
                closing = heredoc_closing(self.cursor, line, len(opening[1]), bound, start)
                if isinstance(closing, Reason):
                    self.unclosed(len(opening[1]))
                    return place
                place = closing.next
            end = place
        return end


class CspLines:
    """Finds CSP/1 at the start of lines, in any text."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._limits = (search.limit, LIMITS.fields, LIMITS.key)

    def matched(self, text: Text, at: int, end: int, form: Any = None, fence: bytes = b"") -> LineMatch | None:
        """The message that begins at ``at``, None for nothing. end: that of the text, or where lines of another one
        begin; form: that of the lines after the first one, where a prefix stands before that; fence: the one in
        which the line stands. Raises NeedMore."""
        if form is None and (row := self._usual(text, at, end)) is not None:
            return LineMatch(at + row[1], at + row[1], None, 0, row, True, [])
        cursor = _LogCursor(text, end, form, fence)
        stream = _LogStream(cursor, at, self._limits)
        try:
            behind = stream.item(at)
        finally:
            text.closings = cursor.closings
        unclosed = [(stream.run, *self.range_of(text, behind, stream.run))] if stream.run > 0 else []
        if (row := stream.row) is not None:
            return LineMatch(row[0] + row[1], behind, None, 0, row, stream.tail, unclosed)
        if stream.rejected is not None:
            reason, _, stop, fault = stream.rejected
            if at < fault < stop and OPENING_OF_ANOTHER.match(text.data, fault):
                # The message that begins with that line is read by itself.
                return LineMatch(fault, fault, reason, fault, None, False, unclosed)
            return LineMatch(stop, stop, reason, fault, None, stream.tail, unclosed)
        return None

    def _usual(self, text: Text, at: int, end: int) -> tuple[int, ...] | None:
        """The row of a message that is written as most are."""
        cursor = _LogCursor(text, end, None, b"")
        try:
            usual = usual_message(cursor, at, self._limits)
        except NeedMore:
            return None
        finally:
            text.closings = cursor.closings
        if usual is None or bad_utf8(text.data, at, usual[0]) >= 0:
            return None
        stop, code, spans, _ = usual
        return at, stop - at, 0, code, *chain(*spans, ABSENT)

    @staticmethod
    def range_of(text: Text, start: int, run: int) -> tuple[int, int]:
        """The range from ``start`` on in which a heredoc of that run is open though it never closes."""
        cursor = Cursor(text.data, len(text.data))
        cursor.closings = text.closings
        closing = cursor.closing(start, run, cursor.end)
        text.closings = cursor.closings
        return start, len(text.data) if closing is None else closing.next

    def at_csp(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line that says CSP/1, or nearly, perhaps after white space."""
        data = walk.text.data
        start = at + 3 * data.startswith(BOM, at)
        first = start + len(data[start : match.end()]) - len(data[start : match.end()].lstrip(b" \t"))
        behind = carriers.at_prefixed(self._search, walk, first) if first > start else 0
        return behind or self.match(walk, start, None)

    def match(self, walk: Walk, at: int, form: Any) -> int:
        """The message that begins at a place, if any, and where to go on."""
        text, state = walk.text, walk.state
        try:
            one = self.matched(text, at, state.taken.up_to(at, len(text.data)), form, state.fence)
        except NeedMore:
            raise Incomplete(text.line_start(at)) from None
        state.tail = one is not None and one.tail
        if one is None:
            return text.behind_line(at)
        state.unclosed += one.unclosed
        if one.stop > at:
            unclosed = any(first <= at < last for _, first, last in state.unclosed)
            more = {"reason": one.reason, "fault": one.fault, "value": one.value, "unclosed": unclosed}
            walk.add(at, one.stop, self._search.finder.csp, **more)
        behind = max(one.behind, at + 1)
        return behind if one.reason is not None or form is not None else self._following(walk, behind)

    def _following(self, walk: Walk, at: int) -> int:
        """Adds the messages that come next in the file, as long as they are written as most are. Where they end."""
        text, state = walk.text, walk.state
        if text.outer is not None or state.unclosed or b"C" not in self._search.runs:
            return at
        end = state.taken.up_to(at, len(text.data))
        while text.data.startswith(b"\nCSP/1\n", at) and (row := self._usual(text, at + 1, end)) is not None:
            if (behind := at + 1 + row[1]) > walk.end:
                break
            walk.add(at + 1, behind, self._search.finder.csp, value=row)
            at = behind
        return at

    def at_heredoc(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """The opening of a heredoc in the trailing text of a message: what it holds is none."""
        if not walk.state.tail:
            return match.end()
        text = walk.text
        cursor = _LogCursor(text, len(text.data), None, b"")
        line = cursor.line(at)
        opening = None if line is None else OPENING.fullmatch(line.text)
        if line is None or opening is None:
            return text.behind_line(at)
        run = len(opening[1])
        try:
            closing = heredoc_closing(cursor, line, run, at + self._search.limit, at)
        except NeedMore:
            raise Incomplete(at) from None
        text.closings = cursor.closings
        if isinstance(closing, Reason):
            walk.state.unclosed.append((run, *self.range_of(text, text.behind_line(at), run)))
            return match.end()
        return closing.next

    def begin(self, text: Text, state: SearchState) -> None:
        """The ranges of heredocs that were open before a text and never close."""
        state.unclosed = [(run, *self.range_of(text, 0, run)) for run in state.runs]
