"""The matchers of wires that are text of their own: tokens (nSLIP), tokens and lines with a ``TextPlan``, and documents
(Space Format), with the code fences that may hold them.

Where two wires could begin at one place, the first in the order of the registry does.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from turnwire import registry
from turnwire.errors import DecodeError, Reason
from turnwire.fences import FENCE, fence_after
from turnwire.log.engine.columns import bulk_scanner
from turnwire.log.search.texts import BOM, DEEPEST_STRING, Incomplete, Walk, lines_of
from turnwire.nslip._codec_py import ParseFault, parse
from turnwire.nslip.spec import (
    BASE62_ALPHABET,
    CANDIDATE,
    HEADER,
    MAX_ACT,
    MAX_FRAME,
    PREFIX_SLOT,
    SLOT_PREFIX,
    STRING_SLOTS,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from turnwire.contract import Wire
    from turnwire.log.search.search import Search

FENCES = rb"(?P<fence> {0,3}(?:```|~~~))"
SLIP = rb"(?P<slip>" + CANDIDATE + rb")"
_CANDIDATES = re.compile(CANDIDATE)
_NEWLINE = re.compile(rb"\n")
RUN: Any = object()
"""The value of a match that is a run of records of nSLIP."""
LEAST_RUN, MOST_RUN = 16, 1 << 16
"""Lines, below which reading them one by one costs no more, and bytes of a run."""
_NUMBER = b"[0-9A-Za-z]{1,10}"  # which always fits into 64 bits
_SLOTS = (
    rb"(?:\|%b%b)?" % (prefix.encode(), rb'"[^"\\\r\n]*"' if slot in STRING_SLOTS else _NUMBER)
    for slot, prefix in SLOT_PREFIX.items()
)
_RUN_OF_LINES = re.compile(
    rb"(?:@a[%b]\|f[%b]" % (BASE62_ALPHABET[: MAX_ACT + 1].encode(), BASE62_ALPHABET[: MAX_FRAME + 1].encode())
    + rb"\|c%b\|S%b\|d%b\|T%b" % ((_NUMBER,) * 4)
    + b"".join(_SLOTS)
    + rb"#\n)++"
)
"""Lines that are a record each, with the slots in the order of their table: good whatever they say."""
FIELDS = re.compile(rb'[@|#](?:.(?:"[^"]*"|[0-9A-Za-z]*)|\n)')
"""One field of such a record with the sign before it, or its end with that of its line."""
RUN_COLUMNS = dict(HEADER) | {prefix: slot.name.lower() for prefix, slot in PREFIX_SLOT.items()}
"""Prefix -> name of the column."""


def at_slip(search: Search, walk: Walk, at: int, match: re.Match[bytes]) -> int:
    """Matches what begins with a candidate. Damage ends where anything else begins on its line."""
    text, data, limit = walk.text, walk.text.data, search.limit
    if (behind := _behind_run(search, walk, at)) > at:
        walk.add(at, behind, search.finder.nslip, value=RUN)
        return behind
    line = min(text.line_end(at), walk.end)
    stop = min(line, at + limit)
    try:
        fields, behind = parse(data, at, stop, keep=search.keep, log=True)
    except ParseFault as error:
        if stop == len(data):
            walk.needs_line(at)
        reason, fault = error.reason, error.offset
        if stop < line and (fault >= stop or reason is Reason.UNTERMINATED_STRING):
            reason, fault = Reason.MESSAGE_TOO_LARGE, stop
        escaped = fault < line and data[fault] == 0x5C and reason is not Reason.BAD_ESCAPE
        if escaped and text.depth < DEEPEST_STRING:  # it was written in a string
            return search.strings.around(walk, at)
        following = search.in_line.search(data, at + 1, stop)
        last = stop if following is None else following.start()
        last = min(last, _next_candidate(data, at + 1, stop, line, limit))
        walk.add(at, last, search.finder.nslip, reason=reason, fault=fault)
        return max(last, at + 1)
    walk.add(at, behind, search.finder.nslip, value=fields)
    return behind


def _behind_run(search: Search, walk: Walk, at: int) -> int:
    """Behind the last record of a run that begins at a place of the file, else the place."""
    text, data = walk.text, walk.text.data
    begins_line = data[at - 1] == 10 if at else not walk.state.mid
    if text.outer is not None or at < text.singly or not begins_line or b"@" not in search.runs:
        return at
    end = walk.state.taken.up_to(at, walk.end)
    found = _RUN_OF_LINES.match(data, at, min(end, at + min(search.limit, MOST_RUN)))
    text.singly = at if found is None else found.end()
    if found is None or data.count(b"\n", at, found.end()) < LEAST_RUN:
        return at
    try:
        found[0].decode()
    except UnicodeDecodeError:
        return at
    return found.end() - 1


def _next_candidate(data: bytes, start: int, to: int, end: int, limit: int) -> int:
    """The next candidate that starts in ``data[start:to]`` and is in ``data[:end]`` and within ``limit`` bytes, or
    ``to``."""
    while (at := data.find(b"@", start, to)) >= 0:
        if _CANDIDATES.match(data, at, min(end, at + limit)):
            return at
        start = at + 1
    return to


class TextWires:
    """The wires of one style that have a plan. codes: wire -> its number among all."""

    def __init__(self, wires: Iterable[Wire], codes: Mapping[str, int]) -> None:
        self._wires = [(wire, codes[wire.name], _any_of(wire.scanner.opening)) for wire in wires]
        self.openings = list(dict.fromkeys(opening for wire, *_ in self._wires for opening in wire.scanner.opening))
        self.marks = list(dict.fromkeys(mark for opening in self.openings for mark in as_written(opening)))
        self._opening = _any_of(self.openings)

    def goes_on(self, rest: bytes) -> bool:
        """True if a text begins as an opening does, or may when more of it is there."""
        return any(rest.startswith(opening) or opening.startswith(rest) for opening in self.openings)

    @staticmethod
    def _add(walk: Walk, wire: Wire, code: int, at: int, stop: int, whole: bool) -> int:
        """Adds a candidate, and returns the place to go on at: a record where it is whole and the wire's own reading
        takes it, else a reject."""
        try:
            message = wire.decode(walk.text.data[at:stop])
        except DecodeError as error:
            reason, fault = error.reason, min(error.offset or 0, stop - at)
        else:
            if whole:
                walk.add(at, stop, code, value=("message", message))
                return stop
            reason, fault = Reason.BAD_FRAMING, 0
        walk.add(at, stop, code, reason=reason, fault=at + fault)
        return max(stop, at + 1)

    def at_token(self, walk: Walk, at: int, limit: int) -> int:
        """Matches what begins with the opening of a token, which ends in its line."""
        data = walk.text.data
        line = min(walk.text.line_end(at), walk.end)
        stop = min(line, at + limit)
        for wire, code, opening in self._wires:
            if opening.match(data, at) is None:
                continue
            whole = wire.scanner.whole.match(data, at, stop)
            if whole is not None and whole.end() > at:
                end = whole.end()
            else:
                following = self._opening.search(data, at + 1, stop)
                end = stop if following is None else following.start()
                if wire.scanner.damaged is None or not wire.scanner.damaged(data[at:end]):
                    continue
                whole = None
            if end == len(data):
                walk.needs_line(at)
            return self._add(walk, wire, code, at, end, whole is not None)
        if line == len(data):
            walk.needs_line(at)
        return at + 1

    def at_lines(self, walk: Walk, line: int, limit: int) -> int:
        """Matches what begins with a line that opens a record of several; 0 if nothing does."""
        data = walk.text.data
        stop = walk.state.taken.up_to(line, walk.end)
        final = walk.text.final or stop < len(data)
        at = line + 3 * data.startswith(BOM, line)
        newline = _NEWLINE.search(data, at, stop)
        first = data[at : stop if newline is None else newline.start()].removesuffix(b"\r")
        for wire, code, opening in self._wires:
            if opening.match(data, at) is None:
                continue
            if newline is None and not final and stop - at <= limit:
                raise Incomplete(line)
            if wire.scanner.damaged is not None and not wire.scanner.damaged(first):
                continue
            to = self._following(opening, data, at + 1, min(stop, at + limit))
            whole = wire.scanner.whole.match(data, at, to)
            if to == stop and not final and (whole is None or whole.end() in (at, stop)):
                raise Incomplete(line)
            if whole is not None and whole.end() > at:
                return self._add(walk, wire, code, at, whole.end(), True)
            if wire.scanner.damaged is not None:
                return self._add(walk, wire, code, at, at + len(first), False)
        return 0

    @staticmethod
    def _following(opening: re.Pattern[bytes], data: bytes, start: int, stop: int) -> int:
        """The place where the next line begins with an opening of a wire, or ``stop``."""
        while (found := opening.search(data, start, stop)) is not None:
            if data[found.start() - 1] == ord("\n"):
                return found.start()
            start = found.start() + 1
        return stop


def as_written(opening: bytes) -> list[bytes]:
    """The forms in which a string of JSON may have an opening: as it is, with escapes."""
    text = opening.decode("utf-8", "surrogateescape")
    forms = [opening]
    for plain in (True, False):
        try:
            form = json.dumps(text, ensure_ascii=plain)[1:-1].encode()
        except UnicodeEncodeError:
            continue
        capital = re.sub(rb"(?<=\\u)[0-9a-f]{4}", lambda digits: digits[0].upper(), form)
        forms += [form, form.replace(b"/", b"\\/"), capital]
    return list(dict.fromkeys(forms))


def _any_of(texts: Iterable[bytes]) -> re.Pattern[bytes]:
    """A pattern for these texts; one that never matches if there are none."""
    return re.compile(b"|".join(map(re.escape, texts)) or rb"(?!)")


def at_fence(walk: Walk, at: int, match: re.Match[bytes]) -> int:
    """A line that may open or close a code fence."""
    state, fence = walk.state, FENCE.match(walk.text.data, at)
    assert fence is not None, "the opening says so"
    before, state.fence = state.fence, fence_after(state.fence, fence[1], fence[2])
    if bool(before) != bool(state.fence):
        state.fence_touched, state.since = False, len(walk.found)
    state.tail = False
    return fence.end()


def at_head(search: Search, walk: Walk, at: int, match: re.Match[bytes]) -> int:
    """A header line: it begins a document where nothing else was found in front, in its fence or in the file, and
    no line of a carrier."""
    text, state = walk.text, walk.state
    mark = text.data.startswith(BOM, at)
    place = at + 3 * mark
    wire = next((one for one in search.finder.documents if one.scanner.documents.header.match(text.data, place)), None)
    if wire is None or text.outer is not None or (mark and (at or state.begun)) or (state.fence and state.inside):
        return match.end()
    if len(walk.found) > state.since if state.fence else bool(walk.found):
        return match.end()
    if state.pieces or state.runs_of_lines or (state.fence_touched if state.fence else state.touched):
        return match.end()
    code, (stop, whole) = registry.codes().index(wire.name), _document_end(walk, at)
    if stop - at > search.limit:
        piece = text.data[at : at + search.limit]
        stop = at + (piece.rfind(b"\n") + 1 or len(piece))
        walk.add(at, stop, code, reason=Reason.MESSAGE_TOO_LARGE, fault=at + search.limit)
        return stop
    if not whole:
        raise Incomplete(at)
    try:
        value = _document_value(wire, text.data, at, stop, state.inside)
    except DecodeError as error:
        walk.add(at, stop, code, reason=error.reason, fault=at + (error.offset or 0))
    else:
        walk.add(at, stop, code, value=("document", value))
    return stop


def _document_value(wire: Wire, data: bytes, at: int, stop: int, inside: bool) -> Any:
    """The wire's own columns of a document, or the document where these are read from that. Raises DecodeError."""
    if bulk_scanner(wire.name).read is not None:
        return wire.decode(data[at:stop])
    if wire.scanner.documents.columns is None:
        wire.decode(data[at:stop])
        return {}
    values = wire.scanner.documents.columns(memoryview(data)[at:stop], fences=inside).items()
    return {name: (at + said[0], said[1]) if isinstance(said, tuple) else said for name, said in values}


def _document_end(walk: Walk, at: int) -> tuple[int, bool]:
    """The end of the document, that of its fence or of the file, and whether it is there."""
    text, fence = walk.text, walk.state.fence
    if fence:
        for place, _ in lines_of(text.data, at):
            found = FENCE.match(text.data, place)
            if found is not None and not fence_after(fence, found[1], found[2]):
                return place, True
    return len(text.data), text.final
