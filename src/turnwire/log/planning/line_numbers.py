"""How many lines are in front of a place in a file. What was counted once in a process is not counted again."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any

from turnwire.log.planning.between import chunks, line_ends

_MOST_FILES = 256


class LineNumbers:
    """What is known of files, by what tells that they are still what they were: (stop, line ends) of ranges that were
    counted, by where they start."""

    def __init__(self) -> None:
        self._known: OrderedDict[Any, dict[int, tuple[int, int]]] = OrderedDict()
        self._lock = Lock()

    def learn(self, state: Any, start: int, stop: int, lines: int) -> None:
        """There are so many line ends from ``start`` to ``stop``."""
        with self._lock:
            self._of(state)[start] = stop, lines

    def between(self, state: Any, file: Any, start: int, stop: int) -> int:
        """How many line ends an open file has from ``start`` to ``stop``: linear in what was not counted before."""
        with self._lock:
            known = dict(self._of(state))
        ahead = sorted(known)
        lines, at = 0, start
        for place in ahead:
            if place < at or known[place][0] > stop:
                continue
            if place > at:
                lines += self._count(state, file, at, place)
            lines += known[place][1]
            at = known[place][0]
        return lines + self._count(state, file, at, stop) if at < stop else lines

    def _count(self, state: Any, file: Any, start: int, stop: int) -> int:
        lines = sum(map(line_ends, chunks(file, start, stop)))
        self.learn(state, start, stop, lines)
        return lines

    def _of(self, state: Any) -> dict[int, tuple[int, int]]:
        found = self._known.setdefault(state, {})
        self._known.move_to_end(state)
        while len(self._known) > _MOST_FILES:
            self._known.popitem(last=False)
        return found


LINE_NUMBERS = LineNumbers()
