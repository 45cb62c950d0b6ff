"""Carriers: text that comes in pieces, joined to one text for each key, with a map of its places.

A prefix is alike on its lines but for digits and ANSI sequences: CSP/1, and objects over several lines, go on behind
it. CRI's lines are told apart by their stream, Docker's and journald's objects by stream and container. Lines of others
may stand in between.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.csp._lines_py import LETTERS, LOOK_ALIKE_LINE, NeedMore, is_header_like
from turnwire.csp._scanner_py import TEMPLATE_HEAD
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import plain
from turnwire.json._wrapper_py import Numbers, bytes_said, message_bytes, strings_in, wrapper_time
from turnwire.json.times import head_time, read_time
from turnwire.log.search.texts import BOM, ClaimedLines, Incomplete, Joiner, Match, SearchState, Text, Walk, lines_of

if TYPE_CHECKING:
    from turnwire.log.search.search import Search

AT_LINE = (
    rb"(?P<cri>(?:\xef\xbb\xbf)?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    rb" std(?:out|err) [PF](?=[: \r\n]|\Z))"
)
IN_LINE = rb"(?P<magic>CSP/1(?=(?:[*_`:]{2,4}|[*_`])?\r?$|;| MODE;))"
_EXACT = re.compile(rb"CSP/1(?:\r?$|;| MODE;)", re.MULTILINE)
_SPACE = re.compile(rb"[ \t\r\n]*")
_FIRST_GATHERED = 1 << 8
"""Bytes of the lines behind a prefix that are joined first."""
MOST_PREFIX = 1024
MOST_FOREIGN_LINES, MOST_FOREIGN = 64, 1 << 14
"""Lines, and bytes, of others that may stand between two pieces of one text."""
_ANSI = rb"\x1b\[[0-9;]*[A-Za-z]"
_ANSI_SEQUENCES = re.compile(_ANSI)
_DIGITS = re.compile(rb"[ \t]*[0-9]+")  # lined up, perhaps
_BLANKS = b" \t\r"
_RECORD = re.compile(rb'@[A-Za-z][0-9A-Za-z]*\||\{[ \t]*["}]|\A[^{}]*\}')
"""Nothing of a prefix: something that may be a record of its own, or end one that began in a line before."""
_BEFORE_TEMPLATE = (b" ", b"\t", b">", b"|", b":", b"]")
_OPERATION = re.compile(rb"[+~-] DEF [A-Z_]")
_MAGIC = re.compile(rb"[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]")
_FIRST = re.compile(rb"(?:FROM|TO|CTX|INTENT) +[^ \t\r\n]+[ \t\r\n]*\Z")
CRI = re.compile(
    rb"(?:\xef\xbb\xbf)?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))"
    rb" (stdout|stderr) ([PF])(?::[^ \r\n]*)?(?: |(?=\r?(?:\n|\Z)))"
)
_VALUE = re.compile(rb'[ \t]*:[ \t]*(?:"([^"\\]*+(?:\\.[^"\\]*+)*+)"|(\[)[ \t]*(?=\]))?', re.DOTALL)
OPEN: Any = object()
"""More must be there to say which form the lines have."""


# --- prefixes --------------------------------------------------------------------------------------------------------


def is_prefix(prefix: bytes) -> bool:
    """True if what stands before something on its line can be a prefix of that."""
    if len(prefix) > MOST_PREFIX or prefix == BOM or _RECORD.search(prefix):
        return False
    last = _ANSI_SEQUENCES.sub(b"", prefix)[-4:].decode("utf-8", "replace")[-1:]
    return bool(prefix) and not (last.isalnum() or last == "_")


def is_sentence(prefix: bytes) -> bool:
    """True if a prefix reads as the beginning of a sentence: a template after it is only spoken of."""
    last = prefix.rstrip(b" \t")[-1:]
    return last.isalnum() or last >= b"\x80" or prefix[-1:] not in _BEFORE_TEMPLATE


class _Prefix:
    """A prefix, alike but for its digits and ANSI sequences. Built for each line that may begin something, so that it
    compiles no pattern."""

    def __init__(self, prefix: bytes) -> None:
        self._prefix = prefix
        plain = _ANSI_SEQUENCES.sub(b"", prefix) if b"\x1b" in prefix else prefix
        self._literals = _DIGITS.split(plain)

    def taken(self, line: bytes) -> int:
        """Bytes of a line that are the prefix, or -1."""
        if line.startswith(self._prefix):
            return len(self._prefix)
        place = 0
        for number, literal in enumerate(self._literals):
            if number:
                digits = _DIGITS.match(line, _behind_ansi(line, place))
                if digits is None:
                    return -1
                place = digits.end()
            place = _behind_literal(line, place, literal)
            if place < 0:
                return -1
        return _behind_ansi(line, place) if b"\x1b" in self._prefix else place


def _behind_ansi(line: bytes, place: int) -> int:
    while line.startswith(b"\x1b", place) and (found := _ANSI_SEQUENCES.match(line, place)) is not None:
        place = found.end()
    return place


def _behind_literal(line: bytes, place: int, literal: bytes) -> int:
    """Behind a literal at a place, ANSI sequences among it, or -1."""
    while True:
        place = _behind_ansi(line, place)
        escape = line.find(b"\x1b", place, place + len(literal))
        size = len(literal) if escape < 0 else escape - place
        if line[place : place + size] != literal[:size]:
            return -1
        place += size
        literal = literal[size:]
        if not literal:
            return place
        if _ANSI_SEQUENCES.match(line, place) is None:
            return -1


class EveryLinePrefix:
    """The prefix on each line; of a blank line what is left of it without the white space at its end."""

    bare = False

    def __init__(self, prefix: bytes, exact: bool = False) -> None:
        self._prefix = _Prefix(prefix)
        self._blank = None if exact else _Prefix(prefix.rstrip(_BLANKS))
        self.foreign = MOST_FOREIGN_LINES if prefix.strip() else 0

    def taken(self, line: bytes) -> int:
        """Bytes of a line that are the prefix, after a byte order mark, or -1 for a line that has none."""
        mark = 3 * line.startswith(BOM)
        taken = self._prefix.taken(line[mark:])
        if taken >= 0 or self._blank is None:
            return taken if taken < 0 else mark + taken
        taken = self._blank.taken(line[mark:])
        return -1 if taken < 0 or line[mark + taken :].strip() else len(line.rstrip(b" \t\r\n"))


class IndentPrefix:
    """White space as wide as the prefix, as below the mark of a list."""

    bare = False
    foreign = 0

    def __init__(self, width: int) -> None:
        self._spaces = b" " * width

    def taken(self, line: bytes) -> int:
        """As :meth:`EveryLinePrefix.taken`."""
        if line.startswith(self._spaces):
            return len(self._spaces)
        return -1 if line.strip(b" \t\r\n") else len(line.rstrip(b"\r\n"))


class FirstLinePrefix:
    """Nothing before the lines after the first one; one that begins like that ends the message."""

    bare = True
    foreign = 0

    def __init__(self, prefix: bytes) -> None:
        self._prefix = _Prefix(prefix) if prefix.strip(b" \t") else None

    def taken(self, line: bytes) -> int:
        """As :meth:`EveryLinePrefix.taken`, for the lines of the log around the message."""
        return -1 if self._prefix is None or _OPERATION.match(line) else self._prefix.taken(line)


def form_of(text: Text, prefix: bytes, place: int, taken_lines: ClaimedLines) -> Any:
    """The form that the lines after a first one with that prefix have, told by the first of them that is not blank and
    belongs to no other text; None if no message continues there; OPEN."""
    repeated, hanging = EveryLinePrefix(prefix), IndentPrefix(len(prefix))
    foreign = size = 0
    marked = LETTERS.search(prefix) is None
    damaged = False  # the first line may be a damaged one of the header; ordinary text has no second one like that
    for start, behind in lines_of(text.data, place):
        if taken_lines.behind(start) > start:
            continue
        line = text.data[start:behind]
        if not line.endswith(b"\n") and not text.final:
            return OPEN
        size += len(line)
        taken = repeated.taken(line)
        if taken >= 0:
            if line[taken:].strip():
                return None if _MAGIC.match(line, taken) else repeated
            continue
        if not line.strip():
            continue
        content = line.rstrip(b"\r\n")
        if not foreign:
            if hanging.taken(line) >= 0 and _FIRST.match(line, len(prefix)):
                return hanging
            if _FIRST.match(line) or (LOOK_ALIKE_LINE.match(line) and not is_sentence(prefix)):
                return FirstLinePrefix(prefix)
            damaged = is_header_like(content, marked) and head_time(content[:256]) is None
        elif foreign == 1 and damaged and is_header_like(content, marked):
            return FirstLinePrefix(prefix)
        foreign += 1
        if foreign > repeated.foreign + damaged or size > MOST_FOREIGN:
            return None
    if not text.final:
        return OPEN
    return FirstLinePrefix(prefix) if damaged and foreign == 1 else None


Lines = list[tuple[tuple[int, int], int]]
"""Lines, each with the place in the text that its piece begins at."""


def gathered(
    text: Text, line: int, at: int, form: Any, most: int, taken_lines: ClaimedLines
) -> tuple[Text, Lines, bool]:
    """The lines of a form that belong to no other text, from what stands at ``at`` on, up to ``most`` bytes of text.

    (text, its lines, whether no more can follow)."""
    joiner = Joiner(text, "prefix")
    spans: Lines = []
    foreign = size = 0
    whole = text.final
    for start, behind in lines_of(text.data, line):
        if start > line and taken_lines.behind(start) > start:
            continue
        piece = text.data[start:behind]
        if not piece.endswith(b"\n") and not text.final:
            whole = False
            break
        taken = at - line if start == line else form.taken(piece)
        if taken < 0:
            foreign += 1
            size += len(piece)
            if foreign > form.foreign or size > MOST_FOREIGN:
                whole = True
                break
            continue
        foreign = size = 0
        spans.append(((start, behind), joiner.size))
        joiner.add(piece[taken:], start + taken)
        if joiner.size >= most:
            whole = behind == len(text.data) and text.final
            break
    return joiner.text(whole), spans, whole


def of_object(value: dict[str, Any]) -> str | None:
    """The carrier whose lines are objects like this one."""
    if isinstance(value.get("log"), str) and value.get("stream") in ("stdout", "stderr"):
        return "docker"
    if "__REALTIME_TIMESTAMP" in value and isinstance(value.get("MESSAGE"), str | list):
        return "journald"
    return None


def _key(carrier: str, value: dict[str, Any]) -> tuple[str, ...]:
    names = (
        ("stream", "container_id", "container_name", "container")
        if carrier == "docker"
        else ("CONTAINER_ID", "CONTAINER_ID_FULL", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER", "_PID")
    )
    return tuple(str(value.get(name, "")) for name in names)


def _member(data: bytes, at: int, key: bytes) -> tuple[bytes, int, EscapeMap | Numbers | None] | None:
    """The text of a member of the object at ``at``, its place, and the map of its places."""
    for _, token in strings_in(data, at, 1):
        if token[1] != key or (value := _VALUE.match(data, token.end())) is None:
            continue
        if value[1] is not None:
            return plain(value[1]), value.start(1), EscapeMap(value[1]) if b"\\" in value[1] else None
        if (array := message_bytes(data, token.end())) is not None:
            written = data[array[1] : array[2]]
            return bytes_said(written), array[1], Numbers(written)
        return None if value[2] is None else (b"", value.end(), None)
    return None


class Piece(NamedTuple):
    """One line of a carrier.

    key: whose it is; text, place, written: what it says, where that is, and the map of its places; goes_on: the rest is
    in the next piece; line_end: a line end is to be added.
    """

    key: tuple[str, ...]
    text: bytes
    place: int
    written: EscapeMap | Numbers | None
    time: int | None
    goes_on: bool
    line_end: bool = False


def _cri_piece(text: Text, start: int, behind: int) -> Piece | None:
    head = CRI.match(text.data, start, behind)
    if head is None:
        return None
    part = head[3] == b"P"
    stop = text.line_end(start) if part else behind
    moment = read_time(head[1])
    said = text.data[head.end() : stop]
    return Piece((head[2].decode(),), said, head.end(), None, None if moment is None else moment[0], part)


def _object_piece(text: Text, start: int, behind: int, carrier: str) -> Piece | None:
    value = _object(text.data[start:behind])
    if value is None or of_object(value) != carrier:
        return None
    member = _member(text.data, start, b"log" if carrier == "docker" else b"MESSAGE")
    if member is None:
        return None
    time = wrapper_time(text.data, text.data.index(b"{", start))
    line_end = carrier == "journald" and value.get("CONTAINER_PARTIAL_MESSAGE") != "true"
    return Piece(_key(carrier, value), *member, time, not line_end and not member[0].endswith(b"\n"), line_end)


def run_of(
    text: Text, at: int, carrier: str, taken_lines: ClaimedLines, others: tuple[int, int] | None
) -> tuple[dict[tuple[str, ...], Joiner], list[tuple[int, int]], bool]:
    """The lines of a carrier from ``at`` on: (a text for each key, their lines, whether no more can follow). What is in
    parts has the time of the first one. An object that says several lines by itself is a text by itself, so that the
    message in it ends there: it is none of these lines. others: of a run that continues, the lines and bytes of others
    since its last line; any other one begins at ``at`` or nowhere."""
    joiners: dict[tuple[str, ...], Joiner] = {}
    times: dict[tuple[str, ...], int | None] = {}
    spans: list[tuple[int, int]] = []
    foreign, size = others or (0, 0)
    for start, behind in lines_of(text.data, at):
        piece = None
        if taken_lines.behind(start) == start:
            piece = _cri_piece(text, start, behind) if carrier == "cri" else _object_piece(text, start, behind, carrier)
        alone = piece is not None and carrier != "cri" and not piece.goes_on and b"\n" in piece.text[:-1]
        if piece is None or (alone and piece.key not in times):
            foreign += 1
            size += behind - start
            if (not spans and others is None) or foreign > MOST_FOREIGN_LINES or size > MOST_FOREIGN:
                return joiners, spans, True
            continue
        foreign = size = 0
        joiner = joiners.setdefault(piece.key, Joiner(text, carrier))
        joiner.add(piece.text, piece.place, piece.written, times.setdefault(piece.key, piece.time))
        if piece.line_end:
            joiner.end_line()
        if not piece.goes_on:
            del times[piece.key]
        spans.append((start, behind))
    return joiners, spans, text.final


def _object(line: bytes) -> dict[str, Any] | None:
    line = line.removeprefix(BOM).strip()
    if not line.startswith(b"{") or not line.endswith(b"}"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def at_magic(search: Search, walk: Walk, at: int, match: re.Match[bytes]) -> int:
    """``CSP/1`` at the end of a line, or the head of a template; or in emphasis, with only signs before it."""
    data = walk.text.data
    spoken = not _EXACT.match(data, at) and LETTERS.search(data, walk.text.line_start(at), at)
    return match.end() if spoken else at_prefixed(search, walk, at) or match.end()


def at_prefixed(search: Search, walk: Walk, at: int) -> int:
    """Matches what begins at a place, if anything; returns the place to go on at, else 0."""
    line = walk.text.line_start(at)
    prefix = walk.text.data[line:at]
    if (walk.state.mid and not line) or not is_prefix(prefix):
        return 0
    prefix = prefix.removeprefix(BOM)
    if walk.text.data.startswith(b"CSP/1", at):
        return _prefixed_csp(search, walk, line, at, prefix)
    return _prefixed_object(search, walk, line, at, prefix) if prefix.strip() else 0


def _prefixed_csp(search: Search, walk: Walk, line: int, at: int, prefix: bytes) -> int:
    text = walk.text
    form = form_of(text, prefix, text.behind_line(at), walk.state.taken)
    if form is OPEN:
        raise Incomplete(line)
    template = TEMPLATE_HEAD.match(text.data, at) is not None
    if template and is_sentence(prefix):
        return 0
    if form is None:
        if not template:
            return 0
        form = EveryLinePrefix(prefix)
    if form.bare:
        return search.csp_lines.match(walk, at, form)
    matched = search.csp_lines.matched
    inner, lines, one = _read_gathered(
        walk, line, at, form, _FIRST_GATHERED, lambda inner: matched(inner, 0, len(inner.data), form)
    )
    if one is None:
        return 0
    if one.stop:
        found = Match(at, at, inner, 0, one.stop, search.finder.csp, one.reason, one.fault, one.value)
        _take_lines(walk, at, line, inner, lines, one.stop, [found])
    return text.behind_line(at)


def _read_gathered(
    walk: Walk, line: int, at: int, form: Any, size: int, read: Callable[[Text], Any]
) -> tuple[Text, Lines, Any]:
    """The text of as many lines as ``read`` needs, and what that says; ``size``: bytes of text that are joined
    first."""
    while True:
        inner, lines, whole = gathered(walk.text, line, at, form, size, walk.state.taken)
        try:
            return inner, lines, read(inner)
        except (NeedMore, Incomplete):
            if whole or len(inner.data) < size:
                raise Incomplete(line) from None
        size *= 4


def _prefixed_object(search: Search, walk: Walk, line: int, at: int, prefix: bytes) -> int:
    form = EveryLinePrefix(prefix, exact=True)
    size = walk.text.behind_line(at) - at + 1  # the next line alone: mostly it is no part of an object
    inner, lines, whole = gathered(walk.text, line, at, form, size, walk.state.taken)
    if len(lines) < 2 and not whole:
        raise Incomplete(line)
    if len(lines) < 2 or not _goes_on(inner):
        return 0
    size = size if whole else max(4 * size, _FIRST_GATHERED)
    inner, lines, (behind, found) = _read_gathered(
        walk,
        line,
        at,
        form,
        size,
        lambda inner: _read_object(search, walk, Walk(inner, len(inner.data), [], SearchState())),
    )
    if not behind:
        return 0
    _take_lines(walk, at, line, inner, lines, behind, found)
    return min(walk.text.behind_line(at), inner.outside_end(0, behind))


def _read_object(search: Search, walk: Walk, within: Walk) -> tuple[int, list[Match]]:
    """Reads the object with which joined lines begin: where it ends, 0 for none, and what it holds. Raises Incomplete
    if it may go on in further lines."""
    inner, objects = within.text, search.objects
    tried = objects.tried(inner, 0, within.end, within.state)
    if tried.what is not None:
        objects.add(within, 0, tried)
        return tried.behind, within.found
    if tried.cut and not inner.final:
        raise Incomplete(0)
    walk.state.hopeless |= {inner.outside(place) for place in within.state.hopeless}
    if tried.fault <= inner.line_end(0):
        return 0, []
    end = len(inner.data.rstrip()) if tried.cut else inner.line_end(tried.fault)
    behind = objects.damaged(within, 0, end, False)
    return behind if within.found else 0, within.found


def _goes_on(inner: Text) -> bool:
    """True if the second line of a text may go on with the object that the first one begins."""
    second = _SPACE.match(inner.data, inner.behind_line(0))
    assert second is not None, "it may be empty"
    last = inner.data[: inner.line_end(0)].rstrip()[-1:]
    follows = inner.data[second.end() : second.end() + 1]
    return not follows or follows in (b'"}' if last == b"{" else b'"{}[],:-0123456789tfn')


def _take_lines(walk: Walk, at: int, line: int, inner: Text, lines: Lines, stop: int, found: list[Match]) -> None:
    """Takes the lines in which ``inner.data[:stop]`` stands, and adds what was found there."""
    mine = [span for span, first in lines if first < stop]
    mine[-1] = mine[-1][0], max(inner.outside_end(0, stop), at)  # something else may stand behind it on its line
    walk.state.taken.add([span for span in mine if span[0] > line])
    walk.state.reaches.append((at, mine[-1][1]))
    walk.found.extend(one._replace(here=at, behind=mine[-1][1]) for one in found)


class Run(NamedTuple):
    """A run of a carrier's lines: where it begins, -1 for one that goes on; by the keys of its texts the states before
    and behind each, and the text."""

    carrier: str
    first: int
    texts: dict[tuple[str, ...], tuple[SearchState, SearchState, Any]]

    def state_before(self, state: SearchState, key: tuple[str, ...]) -> SearchState:
        """The state in which the text of a key begins."""
        before = state.streams.get((self.carrier, *key)) if self.first < 0 else None
        return SearchState() if before is None else before


class Streams:
    """Searches the texts of a run of such lines, one for each key."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at_cri(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line of CRI."""
        return self.at(walk, at, "cri") or match.end()

    def go_on(self, walk: Walk) -> None:
        """The runs that were open at the cut go on."""
        start = walk.text.behind_line(0) if walk.state.mid else 0
        for carrier, (lines, size) in walk.state.foreign.items():
            self.at(walk, start, carrier, (lines + (start > 0), size + start))

    def at(self, walk: Walk, at: int, carrier: str, foreign: tuple[int, int] | None = None) -> int:
        """The run of a carrier's lines from ``at`` on: after its first line, 0 if there is none. foreign: of one
        that continues, the lines and bytes of others since its last line."""
        text, state = walk.text, walk.state
        joiners, spans, ended = run_of(text, at, carrier, state.taken, foreign)
        if not spans and foreign is None:
            return 0
        run = Run(carrier, at if foreign is None else -1, {})
        open_at: list[int] = []
        for key, joiner in joiners.items():
            one = joiner.text(ended, in_string=carrier != "cri")
            before = run.state_before(state, key)
            after = before.copy()
            found, place = self._search.run(one, after)
            if place < len(one.data):
                open_at.append(one.outside(place))
            walk.found.extend(_placed(record, one) for record in found)
            state.reaches += [(one.outside(here), one.outside_end(here, behind)) for here, behind in after.reaches]
            run.texts[carrier, *key] = before, after, one
        state.runs_of_lines.append(run)
        state.taken.add(spans)
        if open_at:  # in front of it, what stands between the lines is still to be searched
            state.stop_at(text.line_start(min(open_at)))
        return spans[0][1] if spans else 0

    def open_over(self, state: SearchState, position: int) -> list[int]:
        """Places where lines begin that are in parts before and after a position, also in texts of texts."""
        found: list[int] = []
        for run in state.runs_of_lines:
            for _, after, one in run.texts.values():
                if (place := self.open_line(one, position)) >= 0:
                    found.append(place)
                if after.runs_of_lines:
                    text = self.text_of(one)
                    behind = text.stretches[bisect_left(text.stretches, position, key=attrgetter("outer")) :]
                    cut = behind[0].start if behind else len(text.data)
                    found += map(text.outside, self.open_over(after, cut))
        return found

    @staticmethod
    def text_of(one: Any) -> Text:
        """A text of a run, as the search keeps it."""
        assert isinstance(one, Text), "the native search keeps others"
        return one

    def open_line(self, one: Text, position: int) -> int:
        """The place where the line of a text begins that is in parts before and after a position, or -1."""
        count, left, _ = self.pieces_before(one, position)
        if not count or not left:
            return -1
        behind = one.stretches[count].start
        if not behind or one.data[behind - 1] == 10:
            return -1
        first = one.line_start(behind - 1)
        if behind - first > self._search.longest_line:
            return -1
        number = bisect_left(one.stretches, first, key=attrgetter("start"))  # a piece may say nothing
        return one.stretches[number].outer if one.stretches[number].start == first else one.outside(first)

    @staticmethod
    def pieces_before(one: Text, position: int) -> tuple[int, int, int]:
        """The numbers of pieces of a text before and after a position, and the place of the last one before it."""
        count = bisect_left(one.stretches, position, key=attrgetter("outer"))
        return count, len(one.stretches) - count, one.stretches[count - 1].outer if count else 0

    def commit_state(self, text: Text, state: SearchState, position: int) -> None:
        """Makes the runs that are open, and the states of their texts, what they are where the next block begins."""
        for run in state.runs_of_lines:
            if run.first >= position:
                continue
            state.pieces = True
            streams = {key: one for key, one in state.streams.items() if run.first < 0 or key[0] != run.carrier}
            lines, size = state.foreign.get(run.carrier, (0, 0)) if run.first < 0 else (0, 0)
            since = 0
            for key, (before, after, one) in run.texts.items():
                count, left, place = self.pieces_before(one, position)
                if count:
                    since = max(since, text.behind_line(place))
                    streams[key] = self.state_behind(one, count, before) if left else after
            lines, size = (0, 0) if since else (lines, size)
            lines, size = lines + text.data.count(b"\n", since, position), size + position - since
            state.foreign.pop(run.carrier, None)
            if lines <= MOST_FOREIGN_LINES and size <= MOST_FOREIGN:
                state.foreign[run.carrier] = lines, size
            else:
                streams = {key: one for key, one in streams.items() if key[0] != run.carrier}
            state.streams = {key: one for key, one in streams.items() if not one.is_plain()}
        state.begun_with = next((run.carrier for run in state.runs_of_lines if not run.first), None)

    def state_behind(self, one: Text, count: int, before: SearchState) -> SearchState:
        """The state after the first pieces of a text, of which there are more."""
        stretches, size = one.stretches[:count], one.stretches[count].start
        after = before.copy()
        self._search.run(Text(one.data[:size], one.outer, stretches, final=False, in_string=one.in_string), after)
        after.forget()
        return after


def _placed(found: Match, inner: Text) -> Match:
    """A record or reject of a text, by its place in the text around that."""
    first, last = inner.outside(found.here), inner.outside_end(found.here, found.behind)
    return found._replace(here=first, behind=max(last, first))
