"""The parts of a log that the page holds: messages in full, and damaged ranges with their bytes.

Messages are those of whole conversations, chosen evenly, within a budget of messages and bytes. Every conversation has
a number, the hash of its wire and id; those with the smallest numbers stay. So the choice is made while the log is read
once, the same on every run, it does not prefer the beginning, and a conversation that stays was kept from its first
message on.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.report.records import Details, details

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.records import Chunk

MOST_BYTES = 8 << 20
"""Characters of all messages that are kept."""
MOST_CONVERSATIONS = 1 << 23
"""Different conversations that are told apart when they are counted (eight bytes each)."""
_ALL = 1 << 64
_AT_ONCE = 1 << 16  # numbers that are sorted in at once, at least

MOST_REJECTS = 600
MOST_OF_A_KIND = 100
"""Damaged ranges of one wire and reason that are shown."""
MOST_REJECT_BYTES = 256
"""Bytes of one damaged range that are shown."""
REJECT_COLUMNS = ("file", "offset", "length", "line", "fault", "wire", "reason", "raw", "text")
"""Columns of damaged ranges. fault: the byte of the file where reading failed; raw, text: its first bytes, as hex
digits and as text in which what is not UTF-8 is an escape."""

Key = tuple[str, str | None]
"""wire and conversation; None for the records of a wire that name no conversation"""


class Conversation:
    """One conversation that is shown: ``count`` messages in the log, of which ``messages`` are kept."""

    def __init__(self, key: Key, number: int) -> None:
        self.key = key
        self.number = number
        self.count = 0
        self.messages: list[Details] = []


class MessageSample:
    """Takes chunks of records, keeps whole conversations of them."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._longest = max(most // 4, 1)
        self._limit = _ALL
        self._kept: dict[Key, Conversation] = {}
        self._order: list[tuple[int, str, str]] = []  # a heap of (-number, wire, conversation)
        self._messages = 0
        self._bytes = 0
        self._trimmed = False
        self._seen = Different(MOST_CONVERSATIONS)

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Looks at the records of a chunk in order."""
        wires, conversations = chunk.coded("wire"), chunk.coded("conversation")
        count = len(conversations.names) + 1
        different, of_rows = np.unique(wires.codes * count + conversations.codes + 1, return_inverse=True)
        names = [*conversations.names, None]  # code -1 picks the last
        keys: list[Key] = [(wires.names[one // count], names[one % count - 1]) for one in different.tolist()]
        found = np.array([0 if name is None else _number(wire, name) for wire, name in keys], np.uint64)
        self._seen.add(found[found != 0])
        for row in np.flatnonzero(found[of_rows] < min(self._limit, _ALL - 1)).tolist():
            place = int(of_rows[row])
            number = int(found[place])
            if number < self._limit:
                self._take(chunk, row, keys[place], number, None if tokens is None else int(tokens[row]))

    def _take(self, chunk: Chunk, row: int, key: Key, number: int, tokens: int | None) -> None:
        conversation = self._kept.get(key)
        if conversation is None:
            conversation = self._kept[key] = Conversation(key, number)
            if key[1] is not None:
                heapq.heappush(self._order, (-number, key[0], key[1]))
        conversation.count += 1
        if self._trimmed and len(conversation.messages) >= self._longest:
            return
        message = details(chunk, row, tokens)
        conversation.messages.append(message)
        self._messages += 1
        self._bytes += message.size
        if self._messages > self._most or self._bytes > MOST_BYTES:
            self._shrink()

    def _shrink(self) -> None:
        """Cuts the longest conversations first, then gives up those with the largest numbers."""
        if not self._trimmed:
            self._trimmed = True
            for conversation in self._kept.values():
                self._forget(conversation, self._longest)
        while (self._messages > self._most or self._bytes > MOST_BYTES) and len(self._kept) > 1 and self._order:
            number, wire, name = heapq.heappop(self._order)
            self._forget(self._kept.pop((wire, name)), 0)
            self._limit = -number
        for conversation in self._kept.values():  # what is left is too much by itself
            if self._messages > self._most or self._bytes > MOST_BYTES:
                self._forget(conversation, len(conversation.messages) // 2)

    def _forget(self, conversation: Conversation, keep: int) -> None:
        self._messages -= len(conversation.messages[keep:])
        self._bytes -= sum(message.size for message in conversation.messages[keep:])
        del conversation.messages[keep:]

    def kept(self) -> tuple[list[Conversation], int, bool]:
        """The conversations that are shown, in the order of their first message; how many different ones there are, and
        whether there may be still more."""
        return [one for one in self._kept.values() if one.messages], *self._seen.count()


def _number(wire: str, conversation: str) -> int:
    """1 to 2^64-2, as good as random, the same on every machine."""
    name = f"{wire}\0{conversation}".encode("utf-8", "surrogatepass")
    return min(max(int.from_bytes(blake2b(name, digest_size=8).digest()), 1), _ALL - 2)


class Different:
    """Counts different numbers, eight bytes each: all of them while they are not more than ``most``."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._sorted: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._new: list[NDArray[np.uint64]] = []  # to sort all of them for each chunk would be quadratic
        self._room = _AT_ONCE

    def add(self, numbers: NDArray[np.uint64]) -> None:
        """Adds numbers, unless more than ``most`` are known already."""
        if len(self._sorted) <= self._most:
            self._new.append(np.unique(numbers))
            self._room -= len(self._new[-1])
            if self._room <= 0:
                self._merge()

    def _merge(self) -> None:
        self._sorted = np.unique(np.concatenate((self._sorted, *self._new)))
        self._new = []
        self._room = max(len(self._sorted), _AT_ONCE)

    def count(self) -> tuple[int, bool]:
        """The number of different ones, and whether there may be more."""
        self._merge()
        return len(self._sorted), len(self._sorted) > self._most


# --- damage ---------------------------------------------------------------------------------------------------------


class Quarantine:
    """Takes rejects, counts all, keeps the first of each wire and reason as rows of REJECT_COLUMNS."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.kept: list[list[Any]] = []

    def add(self, rejects: Iterable[dict[str, Any]]) -> int:
        """Counts them and keeps those that are shown. Tells how many there were."""
        found = list(rejects)
        for reject in found:
            kind = reject["wire"], reject["reason"]
            self.counts[kind] += 1
            if self.counts[kind] <= MOST_OF_A_KIND and len(self.kept) < MOST_REJECTS:
                raw = bytes(reject["raw"][:MOST_REJECT_BYTES])
                row = {**reject, "raw": raw.hex(), "text": raw.decode("utf-8", "backslashreplace")}
                self.kept.append([row[name] for name in REJECT_COLUMNS])
        return len(found)
