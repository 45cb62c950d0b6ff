"""The memory of the monitor (tasks, questions, violations, deadlines), and its readings of an envelope's content."""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.kick.space import opening
from turnwire.kick.spec import FAULTS, EventKind, Signal, TaskState

if TYPE_CHECKING:
    from turnwire.errors import Issue
    from turnwire.kick.codec import Envelope


class Event(NamedTuple):
    """One thing the monitor saw.

    kind: an :class:`EventKind`. task: the task that it is about or that the envelope names (a question names none), or
    None. envelope_id: the envelope that caused it, None for
    overdue (there the id of what is overdue is in ``subject``). subject: id of the request, question or violation
    that it belongs to, or None. text: words; for an artifact its path. issues: what ``check`` found.
    """

    kind: EventKind
    task: str | None
    envelope_id: str | None
    subject: str | None
    text: str
    issues: tuple[Issue, ...] = ()

    @property
    def fault(self) -> bool:
        """True if something is wrong, as opposed to under way."""
        return self.kind in FAULTS


class Deadlines(NamedTuple):
    """Seconds until something is overdue; None for never.

    accept: a dispatch without a report. finish: a dispatch (or resumption) without an end. answer: a question without
    an answer. escalate: a violation without ``⫻command/escalate``.
    """

    accept: float | None = 60.0
    finish: float | None = 3600.0
    answer: float | None = 60.0
    escalate: float | None = 60.0


class Unfinished(NamedTuple):
    """Something that has begun and not ended. kind: "task", "question" or "violation". id: of the envelope that began
    it. task: the task's name, or None. text: what is missing, in words."""

    kind: str
    id: str
    task: str | None
    text: str


class Followed:
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


class Task(Followed):
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

    def put(self, what: Followed, word: str, *values: Hashable) -> None:
        """Puts something under keys of one word, behind all that is there."""
        what.keys.setdefault(word, set()).update(values)
        for value in values:
            self._rows.setdefault((word, value), OrderedDict())[what.id] = what

    def take(self, what: Followed, *words: str) -> None:
        """Removes something from all its keys of these words."""
        for word in words:
            for value in what.keys.pop(word, ()):
                self._drop(what, (word, value))

    def drop(self, what: Followed, word: str, value: Hashable) -> None:
        """Removes something from one key."""
        what.keys[word].discard(value)
        self._drop(what, (word, value))

    def _drop(self, what: Followed, key: tuple[str, Hashable]) -> None:
        several = self._rows.get(key)
        if several is not None:
            several.pop(what.id, None)
            if not several:
                del self._rows[key]

    def has(self, word: str, value: Hashable) -> bool:
        """True if there is anything under a key."""
        return (word, value) in self._rows

    def first(self, word: str, value: Hashable) -> Any:
        """The oldest thing under a key, or None."""
        return next(iter(self._rows.get((word, value), {}).values()), None)

    def last(self, word: str, value: Hashable) -> Any:
        """The newest thing under a key, or None."""
        return next(reversed(self._rows.get((word, value), {}).values()), None)

    def all(self, word: str, value: Hashable = None, most: int | None = None) -> list[Any]:
        """The things under a key, ``most`` at most, in the order of their numbers."""
        several: dict[str, Any] = self._rows.get((word, value), {})
        return sorted(islice(several.values(), most), key=attrgetter("number"))


class Alarms:
    """Deadlines in the order in which they fall due."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str, Followed]] = []
        self._count = 0

    def set(self, watched: Followed, kind: str, start: float | None, after: float | None) -> None:
        """The one alarm of ``watched`` from now on; none where the time or the deadline is unknown."""
        self._count += 1
        watched.watch = self._count
        if start is not None and after is not None:
            heapq.heappush(self._heap, (start + after, self._count, kind, watched))

    def clear(self, watched: Followed) -> None:
        """No alarm for ``watched`` any more."""
        watched.watch = 0

    def due(self, now: float) -> list[tuple[float, str, Followed]]:
        """(time, kind, what) of the alarms that fell due before ``now``; each is told once."""
        found: list[tuple[float, str, Followed]] = []
        while self._heap and self._heap[0][0] < now:
            time, number, kind, watched = heapq.heappop(self._heap)
            if watched.watch == number:
                watched.watch = 0
                found.append((time, kind, watched))
        return found

    def again(self, due: list[tuple[float, str, Followed]]) -> None:
        """Takes back what :meth:`due` gave last, which has not been told after all."""
        for time, kind, watched in due:
            self.set(watched, kind, time, 0.0)


class Recent(OrderedDict[str, Any]):
    """Remembers the last ``size`` keys."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self._size = size

    def put(self, key: str, value: Any) -> None:
        """Keeps a value under a key."""
        self[key] = value
        if len(self) > self._size:
            self.popitem(last=False)


class EnvelopeReaders(NamedTuple):
    """The functions by which task ids, status words and paths are read out of envelopes, and what the words mean."""

    task_of: Callable[[Envelope], str | None]
    status_of: Callable[[Envelope], str]
    artifact_of: Callable[[Envelope], str]
    words: Mapping[str, Signal]


class LoopMemory:
    """The part that the loops share: what they follow, the deadlines, and how envelopes are read. So many of what has
    ended are remembered."""

    __slots__ = ("_count", "_ended", "_remember", "alarms", "deadlines", "reading", "table")

    def __init__(self, deadlines: Deadlines, reading: EnvelopeReaders, remember: int) -> None:
        self.table = Table()
        self.alarms = Alarms()
        self.deadlines = deadlines
        self.reading = reading
        self._ended: deque[Followed] = deque()
        self._remember = remember
        self._count = 0

    def count(self) -> int:
        """The number of what begins now."""
        self._count += 1
        return self._count

    def watch(self, what: Followed, kind: str, start: float | None) -> None:
        """Sets the alarm of something to a deadline, by its name in :class:`Deadlines`."""
        self.alarms.set(what, kind, start, getattr(self.deadlines, kind))

    def end(self, what: Followed, *words: str) -> None:
        """Ends something: it has no alarm and no keys of these words any more, and is forgotten once ``remember``
        further things have ended."""
        what.ended = True
        self.alarms.clear(what)
        self.table.take(what, *words)
        self._ended.append(what)
        if len(self._ended) > self._remember:
            oldest = self._ended.popleft()
            self.table.take(oldest, *tuple(oldest.keys))


Tell = Callable[[Event], None]


def event(
    kind: EventKind,
    envelope: Envelope,
    text: str = "",
    about: Followed | None = None,
    *,
    name: str | None = None,
    issues: Iterable[Issue] = (),
) -> Event:
    """An event about an envelope, and about something that is followed. name: of the task, where that has none."""
    if about is None:
        return Event(kind, name, envelope.id, None, text, tuple(issues))
    return Event(kind, about.name if name is None else name, envelope.id, about.id, text, tuple(issues))


_opening = lru_cache(8)(opening)  # a report is asked for its task, and then for what it says


def task_name(envelope: Envelope) -> str | None:
    """The task id: the place of the content's first section (⫻task/dispatch:T-7/001)."""
    found = _opening(envelope.content)
    return None if found is None else found[0]


def first_line(envelope: Envelope) -> str:
    """The first content line of the first section (or its inline text), without white space around it."""
    found = _opening(envelope.content)
    return "" if found is None else found[1]
