"""Places at which a CSP/1 log may be cut, in plain Python: the readable twin of ``_native/csp/cuts.pyx``.

Messages are not read here. Every line of only ``<`` counts as the opening of a heredoc, up to the first line of as many
``>``, whether a message owns it or not; a cut falls where none is open, at a ``CSP/1`` line, or at any line where no
message can be open: in front of the first one and after a code fence. That forbids more than it must and never
allows a cut inside a heredoc. A heredoc that may be longer than a message may be (``limit``) is not closed for the
scan; from there on no cut is made.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.csp._scanner_py import LOOKS_LIKE_MAGIC, MAGIC, OPENING
from turnwire.csp.spec import CUTS_OPEN
from turnwire.fences import is_fence

LINE, LAST, TAIL, SUSPECT, DOUBT, GAVE_UP, OPENED, FIRST = range(8)
"""Places in the state: number of the next line; the last cut; whether a message may be open; where the longest message
that may be open began, or -1; whether another may have begun after it; whether cuts are over; how many runs of ``<``
are open; then the length and the offset of each."""

_CLOSING = re.compile(rb">{3,}")
_MATTERS = b"<>Cc`~ \t\xef"


class _Pass:
    def __init__(self, base: int, every: int, limit: int, state: Any, found: Any) -> None:
        self.base = base
        self.every = every
        self.limit = limit
        self.state = state
        self.found = found
        self.count = 0

    def cut(self, at: int) -> None:
        state = self.state
        if state[GAVE_UP] or at - state[LAST] < self.every:
            return
        state[LAST] = at
        self.found[self.count, 0], self.found[self.count, 1] = at, state[LINE]
        self.count += 1

    def line(self, text: bytes, at: int, behind: int) -> None:
        """A line that begins with a byte that may matter: its text, its place and that of the next one."""
        state = self.state
        if text[:1] in (b"<", b">"):
            if not state[TAIL]:
                return
            opening = OPENING.fullmatch(text)
            if opening:
                self.open(len(opening[1]), at)
            elif _CLOSING.fullmatch(text):
                self.close(len(text), behind)
        elif is_fence(text):
            if not state[OPENED]:
                state[TAIL], state[SUSPECT], state[DOUBT] = 0, -1, 0
        elif LOOKS_LIKE_MAGIC.match(text):
            if state[TAIL] and not state[OPENED] and text == MAGIC:
                self.cut(at)
            self.magic(at)

    def magic(self, at: int) -> None:
        state = self.state
        state[TAIL] = 1
        if not state[OPENED]:
            state[SUSPECT], state[DOUBT] = at, 0
        else:
            state[DOUBT] = 1
            if state[SUSPECT] < 0:
                state[SUSPECT] = at

    def runs(self) -> list[int]:
        return [int(self.state[FIRST + 2 * place]) for place in range(self.state[OPENED])]

    def open(self, run: int, at: int) -> None:
        state = self.state
        runs = self.runs()
        if run in runs:
            return
        if len(runs) == CUTS_OPEN:
            state[GAVE_UP] = 1
            return
        state[FIRST + 2 * len(runs)], state[FIRST + 2 * len(runs) + 1] = run, at
        state[OPENED] += 1

    def close(self, run: int, behind: int) -> None:
        state = self.state
        runs = self.runs()
        if run not in runs:
            return
        place, last = FIRST + 2 * runs.index(run), FIRST + 2 * (len(runs) - 1)
        opening, suspect = state[place + 1], state[SUSPECT]
        if behind - opening > self.limit:
            state[GAVE_UP] = 1
        if suspect >= 0 and behind - suspect > self.limit and (opening - suspect <= self.limit or state[DOUBT]):
            state[GAVE_UP] = 1
        state[OPENED] -= 1
        state[place], state[place + 1] = state[last], state[last + 1]


def find_cuts(data: Any, base: int, every: int, limit: int, state: Any, found: Any) -> tuple[int, int]:
    """Takes the whole lines of ``data`` and writes (offset, line) of each cut; returns (bytes taken, cuts).

    data: bytes-like, the lines that begin at offset ``base`` of the input. state: int64[CUTS_STATE], made by
    ``turnwire.csp.cuts`` and carried from call to call. found: int64[n, 2] with at least two rows; when it is full
    fewer bytes are taken.
    """
    if found.shape[1] != 2 or found.shape[0] < 2:
        raise ValueError("the state or the table has another shape")
    raw = bytes(memoryview(data))
    reader = _Pass(base, every, limit, state, found)
    start = 0
    while (newline := raw.find(b"\n", start)) >= 0:
        if reader.count + 1 >= len(found):  # a line makes two cuts at most
            break
        if not state[TAIL]:
            reader.cut(base + start)
        if raw[start] in _MATTERS:
            stop = newline - 1 if newline > start and raw[newline - 1] == 13 else newline
            reader.line(raw[start:stop], base + start, base + newline + 1)
        state[LINE] += 1
        start = newline + 1
    return start, reader.count
