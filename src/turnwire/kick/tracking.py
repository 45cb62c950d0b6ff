"""The memory of the monitor (tasks, questions, violations, deadlines), and its readings of an envelope's content."""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

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


class Watched:
    """Something with a deadline. ``watch`` is the number of the alarm that counts; older alarms are void."""

    __slots__ = ("id", "watch")

    def __init__(self, id: str) -> None:
        self.id = id
        self.watch = 0


class Task(Watched):
    """A task: ``id`` of its dispatch envelope, ``name`` (the task id, None if the content has none), agent, state.
    ``number`` and ``ended`` count what began and ended: of all tasks and violations."""

    __slots__ = ("agent", "aliases", "artifacts", "ended", "group", "name", "number", "paused", "started", "state")

    def __init__(self, envelope: Envelope, name: str | None, now: float | None, number: int) -> None:
        self.id = envelope.id
        self.watch = 0
        self.number = number
        self.ended: int | None = None
        self.name = name
        self.agent = envelope.receiver
        self.group = envelope.correlation_id or envelope.id
        self.state = TaskState.DISPATCHED
        self.paused = False
        self.started = now
        self.artifacts: list[str] = []
        self.aliases: list[str] = []  # ids of further dispatches of the same run

    def __repr__(self) -> str:
        paused = ", paused" if self.paused else ""
        return f"<Task {self.name!r} of {self.agent!r}: {self.state}{paused}>"


class Query(Watched):
    """A question: who asked whom, on which correlation, whether it was answered. ``turn`` counts what became of all of
    them."""

    __slots__ = ("answered", "asked", "asker", "group", "turn")

    def __init__(self, envelope: Envelope) -> None:
        super().__init__(envelope.id)
        self.asker = envelope.sender
        self.asked = envelope.receiver
        self.group = envelope.correlation_id or envelope.id
        self.answered = False
        self.turn = 0

    def marks(self) -> Iterator[Hashable]:
        """The keys that it is looked up by: its id and its correlation, alone, with who asked, with who asked whom."""
        for key in {self.id, self.group}:
            yield from (key, (key, self.asker), (key, self.asker, self.asked))


class Violation(Watched):
    """An ``⫻alert/violation``: the task that it names, the correlations whose open tasks it paused, whether it was
    escalated, and the keys by which its decision is known. ``number`` counts on from those of tasks."""

    __slots__ = ("decisions", "escalated", "group", "groups", "name", "number")

    def __init__(self, envelope: Envelope, name: str | None, groups: list[str], number: int) -> None:
        super().__init__(envelope.id)
        self.group = envelope.correlation_id or envelope.id
        self.groups = groups
        self.number = number
        self.escalated = False
        self.name = name
        self.decisions: set[Hashable] = set()


Followed = TypeVar("Followed", Task, Query, Violation)
Table = dict[Hashable, "dict[str, Followed] | OrderedDict[str, Followed]"]
"""key -> id -> what is followed, in order. An OrderedDict forgets its oldest without a trace: the first of a dict is
looked for behind all that was taken out in front of it, which is little where there are only ever few."""
_FEW = 8
"""So many things under a key are kept in a dict, which takes a quarter of the time to make."""


class Runs:
    """The runs of each task id, oldest first: all but the last have ended. Asked which number lies within one of them,
    where numbers of the past are only ever taken away."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: dict[str, Task | deque[Task]] = {}  # most have one run, which needs nothing around it

    def add(self, task: Task) -> None:
        """A run begins."""
        if task.name is None:
            return
        before = self._runs.setdefault(task.name, task)
        if isinstance(before, deque):
            before.append(task)
        elif before is not task:
            self._runs[task.name] = deque((before, task))

    def forget(self, task: Task) -> None:
        """A run is not asked about any more."""
        runs = self._runs.get(task.name or "")
        if isinstance(runs, deque) and task in runs:
            runs.remove(task)
        if runs is task or (isinstance(runs, deque) and not runs):
            del self._runs[task.name or ""]

    def first(self, name: str, numbers: Mapping[str, list[int]]) -> int | None:
        """The least of the numbers (in order, by correlation) that lies within a run of that name. One that has ended
        without any is forgotten."""
        while (runs := self._runs.get(name)) is not None:
            task = runs[0] if isinstance(runs, deque) else runs
            several = numbers.get(task.group, [])
            place = bisect_right(several, task.number)
            if place < len(several) and (task.ended is None or several[place] < task.ended):
                return several[place]
            if task.ended is None:
                break
            self.forget(task)
        return None


class Alarms:
    """Deadlines in the order in which they fall due."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, str, Watched]] = []
        self._count = 0

    def set(self, watched: Watched, kind: str, start: float | None, after: float | None) -> None:
        """The one alarm of ``watched`` from now on; none where the time or the deadline is unknown."""
        self._count += 1
        watched.watch = self._count
        if start is not None and after is not None:
            heapq.heappush(self._heap, (start + after, self._count, kind, watched))

    def clear(self, watched: Watched) -> None:
        """No alarm for ``watched`` any more."""
        watched.watch = 0

    def any_due(self, now: float) -> bool:
        """True if :meth:`due` would look at any."""
        return bool(self._heap) and self._heap[0][0] < now

    def due(self, now: float) -> list[tuple[float, str, Watched]]:
        """(time, kind, what) of the alarms that fell due before ``now``; each is told once."""
        found: list[tuple[float, str, Watched]] = []
        while self._heap and self._heap[0][0] < now:
            time, number, kind, watched = heapq.heappop(self._heap)
            if watched.watch == number:
                watched.watch = 0
                found.append((time, kind, watched))
        return found

    def again(self, due: list[tuple[float, str, Watched]]) -> None:
        """Takes back what :meth:`due` gave last, which has not been told after all."""
        for time, kind, watched in due:
            self.set(watched, kind, time, 0.0)


class Recent:
    """Remembers at least the last ``size`` keys, at most twice as many."""

    __slots__ = ("_new", "_old", "_size")

    def __init__(self, size: int) -> None:
        self._size = size
        self._new: dict[str, Any] = {}
        self._old: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        """The value under a key, or None."""
        found = self._new.get(key)
        return self._old.get(key) if found is None else found

    def put(self, key: str, value: Any) -> None:
        """Keeps a value (not None) under a key."""
        if len(self._new) >= self._size:
            self._old = self._new
            self._new = {}
        self._new[key] = value

    def remember(self, key: str, value: Any) -> Any:
        """The value under a key; where there is none, None, and the value (not None) is kept from now on."""
        found = self._new.get(key)
        if found is None and self._old:
            found = self._old.get(key)
        if found is None:
            self.put(key, value)
        return found


class LoopMemory:
    """The part that the loops share: the deadlines, the alarms, and the memory of what has ended."""

    __slots__ = ("_ended", "_remember", "alarms", "deadlines")

    def __init__(self, deadlines: Deadlines, remember: int) -> None:
        self.deadlines = deadlines
        self.alarms = Alarms()
        self._ended: deque[Callable[[], None]] = deque()
        self._remember = remember

    def forget_later(self, forget: Callable[[], None]) -> None:
        """Calls ``forget`` once ``remember`` further things have ended."""
        self._ended.append(forget)
        if len(self._ended) > self._remember:
            self._ended.popleft()()


class EnvelopeReaders(NamedTuple):
    """The functions by which task ids, status words and paths are read out of envelopes, and what the words mean."""

    task_of: Callable[[Envelope], str | None]
    status_of: Callable[[Envelope], str]
    artifact_of: Callable[[Envelope], str]
    words: Mapping[str, Signal]


Tell = Callable[[Event], None]
_new = tuple.__new__


def event(
    kind: EventKind,
    envelope: Envelope,
    text: str,
    task: Task | None = None,
    *,
    subject: Watched | None = None,
    issues: Iterable[Issue] = (),
    name: str | None = None,
) -> Event:
    """An event about an envelope, and about a task or something else that is followed. name: the task's where no task
    of that name is followed."""
    about = task if subject is None else subject
    name = name if task is None else task.name
    whole = kind, name, envelope.id, None if about is None else about.id, text, tuple(issues)
    return _new(Event, whole)  # as Event(*whole) does, in half the time


def put(table: Table[Followed], key: Hashable, what: Followed) -> None:
    """Puts something under a key, behind all that is there."""
    several = table.get(key)
    if several is None:
        table[key] = {what.id: what}
        return
    if len(several) == _FEW and type(several) is dict:
        several = table[key] = OrderedDict(several)
    several[what.id] = what


def drop(table: Table[Followed], key: Hashable, what: Followed) -> None:
    """Takes something out from under a key."""
    several = table.get(key)
    if several is not None:
        several.pop(what.id, None)
        if not several:
            del table[key]


def first(table: Table[Followed], key: Hashable) -> Followed | None:
    """The oldest thing under a key."""
    return next(iter(table.get(key, {}).values()), None)


_opening = lru_cache(8)(opening)  # a report is asked for its task, and then for what it says


def task_name(envelope: Envelope) -> str | None:
    """The task id: the place of the content's first section (⫻task/dispatch:T-7/001)."""
    found = _opening(envelope.content)
    return None if found is None else found[0]


def first_line(envelope: Envelope) -> str:
    """The first content line of the first section (or its inline text), without white space around it."""
    found = _opening(envelope.content)
    return "" if found is None else found[1]
