"""Places at which a CSP/1 log may be cut into parts that are scanned apart [readings, CSP/1, 4]."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.contract import LIMITS
from turnwire.csp.spec import CUTS_STATE
from turnwire.fences import is_fence

if TYPE_CHECKING:
    from types import ModuleType

_core: ModuleType = _backend.load("csp.cuts")
_ROOM = 1024
_WINDOW = 1 << 16
_LINE, _SUSPECT = 0, 3  # places in the state, see csp/_cuts_py.py
_MAYBE_MAGIC = re.compile(rb"(?:\xef\xbb\xbf)?[ \t]*(?:[Cc]|\Z)")


def safe_cuts(chunks: Iterable[bytes], every: int, *, limit: int = LIMITS.message) -> Iterator[tuple[int, int]]:
    """Yields (byte offset, line number from 1) of line starts at which no message and no heredoc is open.

    Scans of the parts between cuts, each from a fresh state and with nothing after it, find together exactly what
    one scan of the whole finds, with the same ``limit`` (bytes of a message). Offset 0 is not yielded.

    Args:
        chunks: the input in pieces of any size (bytes-like), in order. None is kept but the start of a line that
            crosses pieces, and of that no more than ``limit`` bytes.
        every: bytes between two cuts, at least.

    A log gives fewer cuts than ``every`` allows, down to none, where heredocs or what looks like them leave no
    certain place; scanning it in one part is always right. This is one cheap pass over the starts of lines.
    Raises ValueError for numbers that are not positive.
    """
    if every < 1 or limit < 1:
        raise ValueError("every and limit are positive numbers of bytes")
    search = _CutSearch(every, limit)
    for chunk in chunks:
        view = memoryview(chunk).cast("B")
        while len(view):
            found, taken = search.take(view)
            yield from found
            view = view[taken:]


class _CutSearch:
    """The state between two pieces: that of the core, and the line that has begun but not ended."""

    def __init__(self, every: int, limit: int) -> None:
        self.every = every
        self.limit = limit
        self.base = 0  # of the line that has begun
        self.begun: list[bytes] = []
        self.size = 0
        self.state = np.zeros(CUTS_STATE, np.int64)
        self.state[_LINE], self.state[_SUSPECT] = 1, -1
        self.table = np.zeros((_ROOM, 2), np.int64)

    def take(self, view: memoryview) -> tuple[list[tuple[int, int]], int]:
        """The cuts in a part of the piece, and how long that part is."""
        if self.size:
            return self._end_line(view)
        taken, cuts = self._find(view)
        if not taken and not cuts:
            self._begin(view)
            taken = len(view)
        self.base += taken if not self.size else 0
        return self._rows(cuts), taken

    def _find(self, lines: Any) -> tuple[int, int]:
        taken, cuts = _core.find_cuts(lines, self.base, self.every, self.limit, self.state, self.table)
        return int(taken), int(cuts)

    def _rows(self, count: int) -> list[tuple[int, int]]:
        return [(offset, line) for offset, line in self.table[:count].tolist()]

    def _begin(self, view: memoryview) -> None:
        if self.size <= self.limit:
            self.begun.append(bytes(view))
        self.size += len(view)

    def _end_line(self, view: memoryview) -> tuple[list[tuple[int, int]], int]:
        view = view[:_WINDOW]
        newline = bytes(view).find(b"\n")
        taken = len(view) if newline < 0 else newline + 1
        self._begin(view[:taken])
        if newline < 0:
            return [], taken
        line = b"".join(self.begun)
        _, cuts = self._find(line if self.size <= self.limit else _short(line))
        self.base += self.size
        self.begun, self.size = [], 0
        return self._rows(cuts), taken


def _short(line: bytes) -> bytes:
    """A stand-in for a line over the limit: a fence, a broken start of a message or text; never a heredoc."""
    if is_fence(line):
        return b"```\n"
    return b"CSP/0 \n" if _MAYBE_MAGIC.match(line) else b"-\n"
