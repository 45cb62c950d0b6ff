"""The damaged ranges that the page shows: some of each kind, with their bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

MOST = 600
MOST_OF_A_KIND = 100
MOST_BYTES = 256
"""Bytes of one damaged range that are shown."""


class Reject(NamedTuple):
    """A damaged range. fault: the byte of the file at which reading failed. raw: its first bytes, as hex digits."""

    file: str | None
    offset: int
    length: int
    line: int
    fault: int
    wire: str
    reason: str
    raw: str


class Quarantine:
    """Takes rejects, counts all, keeps the first of each wire and reason."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: list[Reject] = []

    def add(self, rejects: Iterable[dict[str, Any]]) -> None:
        """Counts them and keeps those that are shown."""
        for reject in rejects:
            kind = reject["wire"], reject["reason"]
            self.counts[kind] += 1
            if self.counts[kind] <= MOST_OF_A_KIND and len(self.kept) < MOST:
                raw = bytes(reject["raw"][:MOST_BYTES]).hex()
                self.kept.append(Reject(**{**{name: reject[name] for name in Reject._fields}, "raw": raw}))
