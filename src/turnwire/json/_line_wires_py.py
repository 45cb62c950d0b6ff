"""Wires whose records are lines (CSP/1), in the strings of JSON: the readable twin of ``_native/json/line_wires.h``.

Tells which strings are worth decoding for them, and what they claim of the decoded text.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.json._region_py import DEEPEST_STRING, Region

CLAIM_RECORD = 1


def escaped_marks(marks: tuple[bytes, ...]) -> re.Pattern[bytes] | None:
    """A pattern for the marks behind which a backslash follows: what they begin is written in a string."""
    return re.compile(rb"(?:%b)(?=\\)" % b"|".join(map(re.escape, marks))) if marks else None


class LineWires:
    """The line wires' part of the class that scans lines: their marks, and the ranges that they claim."""

    plan: Any
    claims: Any
    walk: Any
    row: Any
    store: Any
    reject: Any

    def has_mark(self, text: bytes) -> bool:
        """True if a text contains a mark of a line wire."""
        return any(mark in text for mark in self.plan.marks)

    def escaped_mark(self, region: Region, start: int, to: int) -> int:
        """The first mark from ``start`` on and in front of ``to`` that a backslash follows, or ``to``."""
        if self.plan.escaped_marks is None or region.level >= DEEPEST_STRING or start >= to:
            return to
        since, end, match = region.escaped_mark
        if end != region.end or start < since or (match is not None and match.start() < start):  # else it is known
            match = self.plan.escaped_marks.search(region.raw, start, region.end)
            region.escaped_mark = start, region.end, match
        return to if match is None or match.end() > to else int(match.start())

    def walk_string(self, region: Region) -> None:
        """Goes through what a string says: what line wires claim of it, and what lies between."""
        found = self.claims(region.raw) if self.claims is not None and self.has_mark(region.raw) else None
        place, end = 0, region.end
        for start, stop, what, wire, reason, fault in found or ():
            if not place <= start < stop <= end:
                raise ValueError("claims must be in order and lie in the text")
            self._between(region, place, start)
            region.end = end
            if what == CLAIM_RECORD:
                self.store(region, start, *self.row(region, start, stop, wire), None)
            else:
                self.reject(region, start, stop, min(max(fault, start), stop), 0, reason, wire)
            place = stop
        self._between(region, place, end)
        region.end = end

    def _between(self, region: Region, start: int, end: int) -> None:
        region.end = end
        if start < end:
            self.walk(region, start)
