"""The memory of the monitor: the items that it tracks, their keys and deadlines."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Hashable
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from turnwire.kick.spec import TaskState

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope


class Tracked:
    """Something that has begun and has to end.

    id: of the envelope that began it. name: the id of its task, or None. group: its correlation, or its own id. number:
    counts what begins. agent: to whom it went. ended: whether it has its end. keys: those under which the table has it,
    by their word. watch: the number of the alarm that counts; older ones are void.
    """

    __slots__ = ("agent", "ended", "group", "id", "keys", "name", "number", "watch")

    def __init__(self, envelope: Envelope, name: str | None, number: int) -> None:
        self.id = envelope.id
        self.name = name
        self.group = envelope.correlation_id or envelope.id
        self.agent = envelope.receiver
        self.number = number
        self.ended = False
        self.keys: dict[str, set[Hashable]] = {}
        self.watch = 0


class Task(Tracked):
    """A task: its state, whether it is paused, and the paths of what was made."""

    __slots__ = ("artifacts", "paused", "started", "state")

    def __init__(self, envelope: Envelope, name: str | None, number: int, now: float | None) -> None:
        super().__init__(envelope, name, number)
        self.state = TaskState.DISPATCHED
        self.paused = False
        self.started = now
        self.artifacts: list[str] = []

    def __repr__(self) -> str:
        paused = ", paused" if self.paused else ""
        return f"<Task {self.name!r} of {self.agent!r}: {self.state}{paused}>"


class Table:
    """Everything that is followed, under each of its keys, which are of a word (the state that it is in) and a value;
    what came first under a key is first there."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        # A dict would look for its first item behind all that was taken out in front of it.
        self._rows: dict[tuple[str, Hashable], OrderedDict[str, Any]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def put(self, what: Tracked, word: str, *values: Hashable) -> None:
        """Adds an item under keys of one word, after all others."""
        what.keys.setdefault(word, set()).update(values)
        for value in values:
            self._rows.setdefault((word, value), OrderedDict())[what.id] = what

    def take(self, what: Tracked, *words: str) -> None:
        """Removes something from all its keys of these words."""
        for word in words:
            for value in what.keys.pop(word, ()):
                self._drop(what, (word, value))

    def drop(self, what: Tracked, word: str, value: Hashable) -> None:
        """Removes something from one key."""
        what.keys[word].discard(value)
        self._drop(what, (word, value))

    def _drop(self, what: Tracked, key: tuple[str, Hashable]) -> None:
        several = self._rows.get(key)
        if several is not None:
            several.pop(what.id, None)
            if not several:
                del self._rows[key]

    def first(self, word: str, value: Hashable) -> Any:
        """The oldest thing under a key, or None."""
        return next(iter(self._rows.get((word, value), {}).values()), None)

    def last(self, word: str, value: Hashable) -> Any:
        """The newest thing under a key, or None."""
        return next(reversed(self._rows.get((word, value), {}).values()), None)

    def count(self, word: str) -> int:
        """The number of things in a state."""
        return len(self._rows.get((word, None), ()))

    def all(self, word: str, value: Hashable = None, most: int | None = None) -> list[Any]:
        """The things under a key, ``most`` at most, in the order of their numbers."""
        several: dict[str, Any] = self._rows.get((word, value), {})
        return sorted(islice(several.values(), most), key=attrgetter("number"))


class Alarms:
    """Deadlines in the order in which they fall due."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str, Tracked]] = []
        self._count = 0

    def set(self, watched: Tracked, kind: str, start: float | None, after: float | None) -> None:
        """The one alarm of ``watched`` from now on; none if the time or the deadline is unknown."""
        self._count += 1
        watched.watch = self._count
        if start is not None and after is not None:
            heapq.heappush(self._heap, (start + after, self._count, kind, watched))

    def clear(self, watched: Tracked) -> None:
        """No alarm for ``watched`` any more."""
        watched.watch = 0

    def due(self, now: float) -> list[tuple[float, str, Tracked]]:
        """Returns (time, kind, subject) of the alarms due before ``now``, each only once."""
        found: list[tuple[float, str, Tracked]] = []
        while self._heap and self._heap[0][0] < now:
            time, number, kind, watched = heapq.heappop(self._heap)
            if watched.watch == number:
                watched.watch = 0
                found.append((time, kind, watched))
        return found

    def again(self, due: list[tuple[float, str, Tracked]]) -> None:
        """Restores the alarms of the last :meth:`due`, which were not reported."""
        for time, kind, watched in due:
            self.set(watched, kind, time, 0.0)
