"""The monitor: runs the loops of sections 002 and 003 over envelopes and says what happens and what is wrong.

Tasks go from their dispatch to their end, questions get the answers they are owed, violations pause tasks and wait for
``⫻command/escalate``. All of them are in one table. Faults are reported before anything changes. The transitions
are in ``spec.py``. No clock is read here: the host passes the time, as seconds on any scale of its own.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from itertools import count, islice
from operator import attrgetter
from types import NoneType
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.checklists import Recent
from turnwire.errors import Issue, Reason, expect
from turnwire.json.times import seconds
from turnwire.kick import codec  # for its core, which tests exchange
from turnwire.kick.messages import channel_parts
from turnwire.kick.rules import DEFAULT_POLICY, Policy, allows
from turnwire.kick.space import first_line, first_section, is_answer, task_name
from turnwire.kick.spec import (
    BAD_TYPE,
    BROADCAST,
    CLOSED,
    ESCALATION_CHANNEL,
    ESCALATION_RECEIVERS,
    FAULTS,
    FORWARD,
    SIGNAL_STATE,
    STATUS_WORDS,
    TASK_TRANSITIONS,
    UNAUTHORISED_REASONS,
    EventKind,
    Signal,
    TaskState,
)

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope

__all__ = ["Deadlines", "Event", "Monitor", "Unfinished"]


class Event(NamedTuple):
    """An event that the monitor reports.

    kind: an :class:`EventKind`. task: the task that it concerns or that the envelope names (questions name none), or
    None. envelope_id: the envelope that caused it; None for overdue items, whose id is in ``subject``. subject: the id
    of the request, question or violation to which it belongs, or None. text: an explanation, or the path of an
    artifact. issues: those that ``check`` found.
    """

    kind: EventKind
    task: str | None
    envelope_id: str | None
    subject: str | None
    text: str
    issues: tuple[Issue, ...] = ()

    @property
    def fault(self) -> bool:
        """True for a fault, False for normal progress."""
        return self.kind in FAULTS


class Deadlines(NamedTuple):
    """Seconds until something is overdue; None: never.

    accept: a dispatch without a report. finish: a dispatched (or resumed) task that has not ended. answer: an
    unanswered question. escalate: a violation without ``⫻command/escalate``.
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


Tell = Callable[[Event], None]

MOST_ENDED = 64
"""Limit: where all tasks of a correlation have ended, a stop is told to be late for so many: it can come again and
again."""
MOST_RESUMED = 64
"""Resumes let so many tasks go on for each dispatch and each ``⫻command/resume`` that came: a violation and a resume
can come in turn again and again. A correlation of no more tasks than that never comes to it."""

# Words of the table, and the values that they go with.
DISPATCH, GROUP, RUN, NAME = "dispatch", "group", "run", "name"  # id; correlation; (correlation, task id); task id
OPEN, RUNNING, PAUSED = "open", "running", "paused"  # _places(); correlation; _places()
QUESTION, ASKED, ANSWERED = "question", "asked", "answered"  # id, correlation; these with asker, with asker and asked
VIOLATION, WAITING, DECISION = "violation", "waiting", "decision"  # what it is about; the same; (id, receiver)
_KNOWN = (QUESTION, DISPATCH, GROUP, VIOLATION)
"""The words under which something has a correlation that a question can be about."""
_OVERDUE_TEXT = {
    "accept": "no agent accepted the dispatch in time",
    "finish": "the task was not finished in time",
    "answer": "the question was not answered in time",
    "escalate": "the violation was not escalated in time",
}
_NO_TEXT = frozenset(BAD_TYPE.values())


class _Feed(NamedTuple):
    """An envelope that is fed: the time, the task that it names (a question has a subject instead), where its events
    go, and its place, as the host says it."""

    envelope: Envelope
    now: float | None
    task: str | None
    events: Tell
    place: Any = None

    def tell(
        self,
        kind: EventKind,
        text: str = "",
        about: Tracked | None = None,
        *,
        name: str | None = None,
        issues: Iterable[Issue] = (),
    ) -> None:
        """Tells an event about the envelope, and about something that is followed. name: of the task, if it is not
        that one's."""
        subject = None if about is None else about.id
        task = name or (self.task if about is None else about.name)
        self.events(Event(kind, task, self.envelope.id, subject, text, tuple(issues)))


class Tracked:
    """Something that has begun and has to end.

    kind: "task", "question" or "violation". id: of the envelope that began it. name: the id of its task, or None.
    group: its correlation, or its own id. number: counts what begins. agent: to whom it went. since: when it began, as
    written. place: where, as the host says it. ended: whether it has its end. keys: those under which the table has
    it, by their word. alarm: the one that counts; older ones are void. late: the words of the last deadline that it
    missed, or "".
    """

    __slots__ = ("agent", "alarm", "ended", "group", "id", "keys", "kind", "late", "name", "number", "place", "since")

    def __init__(self, fed: _Feed, kind: str, number: int) -> None:
        envelope = fed.envelope
        self.kind = kind
        self.id, self.since, self.place = envelope.id, envelope.timestamp, fed.place
        self.name = fed.task
        self.group = envelope.correlation_id or envelope.id
        self.agent = envelope.receiver
        self.number = number
        self.ended = False
        self.late = ""
        self.keys: dict[str, set[Hashable]] = {}
        self.alarm: _Alarm | None = None


class Task(Tracked):
    """A task: its state, whether it is paused, and the paths of what was made."""

    __slots__ = ("artifacts", "paused", "started", "state")

    def __init__(self, fed: _Feed, number: int) -> None:
        super().__init__(fed, "task", number)
        self.state = TaskState.DISPATCHED
        self.paused = False
        self.started = fed.now
        self.artifacts: list[str] = []

    def __repr__(self) -> str:
        paused = ", paused" if self.paused else ""
        return f"<Task {self.name!r} of {self.agent!r}: {self.state}{paused}>"


_Alarm = tuple[float, int, str, Tracked]
"""When something falls due; a number that no other alarm has; its name in :class:`Deadlines`; and what."""


class Table:
    """Everything that is followed, under each of its keys, which are of a word (the state that it is in) and a value;
    what came first under a key is first there."""

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


class Monitor:
    """Tracks tasks, questions and violations in a stream of envelopes.

    Args:
        policy: the table of who may send what; an envelope that it rejects changes nothing.
        deadlines: when something is overdue, in seconds.
        task_of, status_of, artifact_of: functions that extract from an envelope's content the task id (or None), the
            status word, the artifact's path.
        words: status word -> Signal.
        remember: how many envelope ids, closed tasks, answered questions and escalated violations are remembered,
            to recognise duplicates, late reports and late answers.
    """

    def __init__(
        self,
        policy: Policy = DEFAULT_POLICY,
        *,
        deadlines: Deadlines = Deadlines(),  # noqa: B008  (a NamedTuple does not change)
        task_of: Callable[[Envelope], str | None] = task_name,
        status_of: Callable[[Envelope], str] = first_line,
        artifact_of: Callable[[Envelope], str] = first_line,
        words: Mapping[str, Signal] = STATUS_WORDS,
        remember: int = 100_000,
    ) -> None:
        expect(policy, Policy, "policy must be a Policy")
        expect(deadlines, Deadlines, "deadlines must be kick.Deadlines")
        for name, limit in deadlines._asdict().items():
            expect(limit, (int, float, NoneType), f"the deadline {name} must be a number of seconds or None")
        self.policy = policy
        self._deadlines = deadlines
        self._task_of, self._status_of, self._artifact_of, self._words = task_of, status_of, artifact_of, words
        self._remember = remember
        self._seen = Recent(remember)  # id -> a mark of the envelope
        self._commands = Recent(remember)  # id or correlation of one that is no dispatch -> its agent, and its task
        self._table = Table()
        self._alarms: list[_Alarm] = []  # a heap
        self.late = Recent(remember)
        """id -> what was too late, whether it has ended since or not; of what waits, ``Tracked.late`` knows it."""
        self._ended: deque[Tracked] = deque()
        self._numbers = count(1)  # of what begins, and of alarms
        self._to_resume = 0  # so many tasks may go on by now
        row = policy.row_for(ESCALATION_CHANNEL)  # violations go where a row about that channel alone says
        own = row is not None and not row.channel.endswith("*")
        self._decide = row.receivers if row is not None and own else ESCALATION_RECEIVERS

    # --- what the host asks --------------------------------------------------------------------------------------

    def feed(self, envelope: Envelope, now: float | None = None) -> list[Event]:
        """Returns the events that an envelope causes, and (with ``now``) those of deadlines that expired before it.

        now: the host's time in seconds, which must never decrease. Without it, deadlines start at the envelope's own
        timestamp, and only :meth:`overdue` reports overdue work.
        """
        expect(envelope, codec.Envelope, "a monitor accepts only envelopes")
        events: list[Event] = []
        self.feed_checked(envelope, now, codec.check(envelope, self.policy), events.append)
        return events

    def feed_checked(
        self, envelope: Envelope, now: float | None, issues: list[Issue], tell: Tell, place: Any = None
    ) -> None:
        """Reports the events of an envelope that was already checked with the monitor's policy. Faults are reported
        before any change, so if ``tell`` raises an error, nothing has changed. place: where it is; the host's own."""
        due = [] if now is None else self._due(now)
        try:
            for alarm in due:
                tell(_overdue(alarm))
            self._feed_checked(envelope, now, issues, tell, place)
        except BaseException:
            for alarm in due:  # as they were
                alarm[3].alarm = alarm
                heapq.heappush(self._alarms, alarm)
            raise
        self._note_late(due)

    def _feed_checked(self, envelope: Envelope, now: float | None, issues: list[Issue], tell: Tell, place: Any) -> None:
        warnings = [issue for issue in issues if issue.severity == "warning"] if issues else []
        if warnings and any(issue.reason in _NO_TEXT for issue in warnings):  # nothing else can be read
            tell(Event(EventKind.INVALID, None, envelope.id, None, warnings[0].text, tuple(warnings)))
            return
        family, name = channel_parts(envelope.channel)
        task = None if family == "query" else self._task_of(envelope)
        fed = _Feed(envelope, seconds(envelope.timestamp) if now is None else now, task, tell, place)
        mark = hash((envelope.sender, envelope.receiver, envelope.channel, envelope.content, envelope.timestamp))
        before = self._seen.get(envelope.id)
        if before is not None:
            fed.tell(EventKind.DUPLICATE if before == mark else EventKind.ID_REUSED, "the id was seen before")
            return
        kind = EventKind.INVALID
        if warnings:
            reasons = {issue.reason for issue in warnings}
            if reasons & UNAUTHORISED_REASONS:
                kind = EventKind.UNAUTHORISED
            elif reasons == {Reason.MISSING_CORRELATION_ID}:
                kind = EventKind.UNCORRELATED
            fed.tell(kind, warnings[0].text, issues=warnings)
        if kind is EventKind.INVALID:  # it is followed as far as it can be read; any other is void
            handler = _HANDLERS.get((family, name)) or _HANDLERS.get((family, "*"))
            if handler is not None:
                handler(self, fed)
            if family == "command" and name != "dispatch":  # a report may respond to it
                for key in (envelope.id, envelope.correlation_id or envelope.id):
                    self._commands[key] = envelope.receiver, task
        self._seen[envelope.id] = mark

    def overdue(self, now: float) -> list[Event]:
        """Returns the events of deadlines that expired before ``now`` and were not yet reported."""
        due = self._due(now)
        self._note_late(due)
        return list(map(_overdue, due))

    def resume(self, name: str, now: float | None = None) -> list[Event]:
        """Resumes a paused task (like ``⫻command/resume`` or another dispatch of the task)."""
        task = self.task(name)
        if task is None or not task.paused:
            return []
        self._resume(task, now)
        return [Event(EventKind.RESUMED, task.name, None, task.id, "resumed by the host")]

    def task(self, name: str | None) -> Task | None:
        """Returns the latest task with that id, if it is still remembered."""
        found: Task | None = self._table.last(NAME, name)
        return found

    @property
    def unfinished(self) -> list[Unfinished]:
        """All unfinished work: open tasks, unanswered questions, and violations that are not escalated."""
        return [Unfinished(one.kind, one.id, one.name, text) for one, text in self.waiting()]

    def waiting(self) -> Iterator[tuple[Tracked, str]]:
        """All that is tracked and has not ended, and what is missing, in words."""
        for task in self.tasks:
            paused = " and paused" if task.paused else ""
            yield task, f"the task {task.name or task.id} of {task.agent} is {task.state}{paused}"
        for query in self._table.all(ASKED):
            yield query, f"{query.agent} has not answered"
        for violation in self._table.all(WAITING):
            yield violation, "the violation is not escalated"

    def forget(self, room: int) -> Iterator[Tracked]:
        """Forgets the oldest open tasks, questions and violations beyond ``room`` of each; returns them."""
        for word in (OPEN, ASKED, WAITING):
            while self._table.count(word) > room:
                [oldest] = self._table.all(word, most=1)
                self._end(oldest, *tuple(oldest.keys))
                self.late.pop(oldest.id, None)
                yield oldest

    @property
    def tasks(self) -> list[Task]:
        """All tasks that are not closed, in the order of their dispatch."""
        return self._table.all(OPEN)

    # --- what begins and ends ------------------------------------------------------------------------------------

    def _watch(self, what: Tracked, kind: str, start: float | None) -> None:
        """Sets the one alarm of something to a deadline, by its name in :class:`Deadlines`; none if it or the time is
        unknown."""
        after = getattr(self._deadlines, kind)
        what.alarm = None
        if start is not None and after is not None:
            what.alarm = start + after, next(self._numbers), kind, what
            heapq.heappush(self._alarms, what.alarm)

    def _due(self, now: float) -> list[_Alarm]:
        """The alarms that are due before ``now``, each only once."""
        found = []
        while self._alarms and self._alarms[0][0] < now:
            alarm = heapq.heappop(self._alarms)
            if alarm[3].alarm is alarm:
                alarm[3].alarm = None
                found.append(alarm)
        return found

    def _note_late(self, due: list[_Alarm]) -> None:
        for _, _, kind, what in due:
            what.late = _OVERDUE_TEXT[kind]
            self.late.setdefault(what.id, what)

    def _end(self, what: Tracked, *words: str) -> None:
        """Ends something: it has no alarm and no keys of these words any more, and is forgotten once ``remember``
        further things have ended."""
        what.ended = True
        what.alarm = None
        self._table.take(what, *words)
        self._ended.append(what)
        if len(self._ended) > self._remember:
            oldest = self._ended.popleft()
            self._table.take(oldest, *tuple(oldest.keys))

    def _close(self, task: Task, state: TaskState) -> None:
        task.state, task.paused = state, False
        self._end(task, OPEN, RUNNING, PAUSED)

    def _pause(self, groups: Iterable[str]) -> list[Task]:
        """Pauses the open tasks of these correlations; those that were not paused before."""
        found: list[Task] = [task for group in groups for task in self._table.all(RUNNING, group)]
        for task in found:
            task.paused = True
            self._table.take(task, RUNNING)
            self._table.put(task, PAUSED, *_places(task))
            task.alarm = None
        return found

    def _resume(self, task: Task, now: float | None) -> None:
        """Lets one paused task go on; its deadline starts anew."""
        task.paused = False
        self._table.take(task, PAUSED)
        self._table.put(task, RUNNING, task.group)
        self._watch(task, "finish", now)

    # --- tasks ---------------------------------------------------------------------------------------------------

    def _dispatch(self, fed: _Feed) -> None:
        """``⫻command/dispatch``: a new task, a paused one that continues, or a duplicate."""
        task = self.task(fed.task)
        if task is None or task.state in CLOSED:
            task = Task(fed, next(self._numbers))
            self._table.put(task, GROUP, task.group)
            if task.name is not None:
                self._table.put(task, RUN, (task.group, task.name))
                self._table.put(task, NAME, task.name)
            self._table.put(task, OPEN, *_places(task))
            self._table.put(task, RUNNING, task.group)
            self._watch(task, "finish" if self._deadlines.accept is None else "accept", fed.now)
            fed.tell(EventKind.DISPATCHED, "", task)
        elif task.paused and task.agent == fed.envelope.receiver:
            self._too_early(task, fed)
            fed.tell(EventKind.RESUMED, "dispatched again", task)
            self._resume(task, fed.now)
        else:
            fed.tell(EventKind.DUPLICATE_TASK, f"the task is {task.state}", task)
        self._table.put(task, DISPATCH, fed.envelope.id)
        self._to_resume += MOST_RESUMED

    def _status(self, fed: _Feed) -> None:
        """``⫻report/status``: a status word about a task."""
        word = self._status_of(fed.envelope)
        signal = self._words.get(word)
        task = self._reported(fed)
        if task is not None and signal is None:
            fed.tell(EventKind.UNKNOWN_STATUS, f"{word!r} is not a status", task)
        elif task is not None and signal is not None:
            self._signal(task, signal, word, fed)

    def _artifact(self, fed: _Feed) -> None:
        """``⫻report/artifact``: the path of what was made."""
        task = self._reported(fed)
        if task is not None:
            path = self._artifact_of(fed.envelope)
            self._signal(task, Signal.ARTIFACT, path, fed)
            task.artifacts.append(path)

    def _reported(self, fed: _Feed) -> Task | None:
        """The task a report is about; None (and the event is told) if there is none or it is another agent's. A
        report that is about no task may answer a question, or respond to a command."""
        task, sender = self._correlated(fed), fed.envelope.sender
        if task is None:
            if not self._answered(fed) and not self._responds(fed):
                text = f"no dispatch has the correlation_id {fed.envelope.correlation_id!r} and this task"
                fed.tell(EventKind.UNCORRELATED, text)
        elif task.agent != sender:
            fed.tell(EventKind.UNAUTHORISED, f"the task is {task.agent!r}'s, not {sender!r}'s", task)
            return None
        return task

    def _responds(self, fed: _Feed) -> bool:
        """True if a report is the response to a command of its own correlation by the agent that it went to."""
        correlation = fed.envelope.correlation_id or ""
        agent, name = self._commands.get(correlation) or (None, None)
        if agent != fed.envelope.sender:
            return False
        if self._table.first(DISPATCH, correlation) or self._table.first(GROUP, correlation):
            return False
        return fed.task in (None, name) or self.task(fed.task) is not None

    def _correlated(self, fed: _Feed) -> Task | None:
        correlation, name = fed.envelope.correlation_id, fed.task
        if correlation is None:
            return None
        task: Task | None = self._table.last(DISPATCH, correlation)
        if task is not None and (name is None or task.name is None or task.name == name):
            return task
        if name is None:
            several = self._table.all(GROUP, correlation, 2)
            return several[0] if len(several) == 1 else None
        task = self._table.last(RUN, (correlation, name))
        return task

    def _signal(self, task: Task, signal: Signal, text: str, fed: _Feed) -> None:
        before = task.state
        after = TASK_TRANSITIONS.get((before, signal))
        if after is None and before in CLOSED:
            fed.tell(EventKind.LATE, f"{text!r}, but the task is {before}", task)
            return
        if task.paused:
            fed.tell(EventKind.WHILE_PAUSED, f"{text!r}, but the task is paused", task)
        if after is None:
            fed.tell(EventKind.OUT_OF_ORDER, f"{text!r}, but the task is {before}", task)
            after = max(before, SIGNAL_STATE[signal], key=FORWARD.index)
        else:
            fed.tell(EventKind(signal.value), text, task)
        if after in CLOSED and before not in CLOSED:
            self._close(task, after)
        task.state = after
        if before is TaskState.DISPATCHED and after not in CLOSED and not task.paused:
            self._watch(task, "finish", fed.now if task.started is None else task.started)

    def _stop(self, fed: _Feed) -> None:
        """``⫻command/stop``: ends one task, those of a correlation, or all of an agent."""
        found = self._meant(fed, OPEN)
        if not found and fed.envelope.correlation_id is not None:
            found = self._table.all(GROUP, fed.envelope.correlation_id, MOST_ENDED)
        if not found:
            fed.tell(EventKind.UNCORRELATED, "the stop names an unknown task or correlation")
        for task in found:
            if task.state in CLOSED:
                fed.tell(EventKind.LATE, f"the task is {task.state}", task)
            else:
                fed.tell(EventKind.STOPPED, "", task)
        for task in found:
            if task.state not in CLOSED:
                self._close(task, TaskState.STOPPED)

    def _meant(self, fed: _Feed, state: str, most: int | None = None) -> list[Task]:
        """The tasks a command is about: one by name; of those in a state, up to a number, the ones of a correlation,
        or all of the receiver."""
        correlation, receiver = fed.envelope.correlation_id, fed.envelope.receiver
        task = self.task(fed.task)
        if task is None and correlation is not None:
            task = self._table.last(DISPATCH, correlation)
        if task is not None:
            return [task]
        if correlation is not None:
            return self._table.all(state, correlation, most)
        return self._table.all(state, ("agent", receiver), most) if fed.task in (None, receiver) else []

    def _resumed(self, fed: _Feed) -> None:
        """``⫻command/resume``: lets paused tasks go on."""
        self._to_resume += MOST_RESUMED
        found = [task for task in self._meant(fed, PAUSED, self._to_resume + 1) if task.paused]
        if not found:
            fed.tell(EventKind.UNCORRELATED, "there is no paused task to resume")
        text = "other tasks stay paused until the next resume" if len(found) > self._to_resume else ""
        found = found[: self._to_resume]
        self._to_resume -= len(found)
        for task in found:
            self._too_early(task, fed)
            fed.tell(EventKind.RESUMED, text, task)
        for task in found:
            self._resume(task, fed.now)

    def _too_early(self, task: Task, fed: _Feed) -> None:
        """Tells it where a task continues although a violation that concerns it is not escalated (section 003)."""
        violation = self._table.last(WAITING, task.group)
        if violation is not None and violation.number > task.number:
            fed.tell(EventKind.UNESCALATED, "the task continues before its violation was escalated", task)

    # --- questions -----------------------------------------------------------------------------------------------

    def _query(self, fed: _Feed) -> None:
        """``⫻query/*``: an answer where it says so, or where a question is open on that correlation; else a question.
        One whose first section is another ``⫻query/…`` says that it is a question, and answers none."""
        envelope, correlation = fed.envelope, fed.envelope.correlation_id
        section = first_section(envelope.content)
        answers = is_answer(channel_parts(envelope.channel)[1], envelope.content)
        asks = not answers and section is not None and section.name == "query"
        if correlation is None and answers:
            fed.tell(EventKind.UNCORRELATED, "an answer has the correlation_id of its question")
            return
        if correlation is not None:
            if not asks and self._answered(fed):
                return
            there = self._table.first(QUESTION, correlation)
            if answers or not any(self._table.first(word, correlation) for word in _KNOWN):
                text = f"no request has the correlation_id {correlation!r}"
                fed.tell(EventKind.UNCORRELATED, "this does not answer any question" if there else text)
                return
        query = Tracked(fed, "question", next(self._numbers))
        self._table.put(query, QUESTION, query.id, query.group)
        self._table.put(query, ASKED, None, *_pairs(query, envelope.sender))
        self._watch(query, "answer", fed.now)
        fed.tell(EventKind.ASKED, "", query)

    def _answered(self, fed: _Feed) -> bool:
        """True if the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        correlation, sender, asker = fed.envelope.correlation_id, fed.envelope.sender, fed.envelope.receiver
        if sender == asker:
            return False
        state = ASKED if self._table.first(ASKED, (correlation, asker)) else ANSWERED
        mine = self._table.first(state, (correlation, asker))
        if mine is None:
            return False
        fit = [self._table.first(state, (correlation, asker, asked)) for asked in (sender, BROADCAST)]
        query = min((one for one in fit if one is not None), key=lambda one: one.number, default=None)
        if query is None:
            fed.tell(EventKind.UNAUTHORISED, f"the question went to {mine.agent!r}, not to {sender!r}", mine)
        elif query.ended and query.agent != BROADCAST:
            fed.tell(EventKind.LATE, "the question was already answered", query)
        else:
            if not query.ended:
                self._table.put(query, ANSWERED, *_pairs(query, asker))
                self._end(query, ASKED)
            fed.tell(EventKind.ANSWERED, "", query)
        return True

    # --- violations ----------------------------------------------------------------------------------------------

    def _alert(self, fed: _Feed) -> None:
        """``⫻alert/error`` and other alerts: told, and that is all."""
        fed.tell(EventKind.ALERT, first_line(fed.envelope))

    def _violation(self, fed: _Feed) -> None:
        """``⫻alert/violation``: pauses the tasks of its correlation, of the dispatch that this is, and of the task that
        it names, with all their relatives; sets the alarm for the escalation."""
        correlation = fed.envelope.correlation_id
        about = self._table.last(DISPATCH, correlation), self.task(fed.task)
        groups = dict.fromkeys(task.group for task in about if task is not None)
        if correlation is not None:
            groups = {correlation: None, **groups}
        violation = Tracked(fed, "violation", next(self._numbers))
        marks: list[Hashable] = [violation.id, violation.group, *groups]
        if fed.task is not None:
            marks.append((NAME, fed.task))
        self._table.put(violation, VIOLATION, *marks)
        self._table.put(violation, WAITING, None, *marks)
        self._watch(violation, "escalate", fed.now)
        fed.tell(EventKind.VIOLATION, first_line(fed.envelope))
        for task in self._pause(groups):
            fed.tell(EventKind.PAUSED, "pause this task", task)

    def _escalate(self, fed: _Feed) -> None:
        """``⫻command/escalate``: settles a violation when it goes to somebody who can decide."""
        envelope = fed.envelope
        violation = self._escalated(fed)
        if violation is None:
            fed.tell(EventKind.UNCORRELATED, "no violation with this correlation_id or task is known")
            return
        if not allows(self._decide, envelope.receiver):
            text = f"a violation goes to {' or '.join(self._decide)}, not {envelope.receiver!r}"
            fed.tell(EventKind.MISDIRECTED, text, violation, name=fed.task)
            return
        if not violation.ended:
            self._end(violation, WAITING)
        keys = (violation.id, violation.group, envelope.id, envelope.correlation_id or envelope.id)
        self._table.put(violation, DECISION, *((key, envelope.receiver) for key in keys))
        fed.tell(EventKind.ESCALATED, "", violation, name=fed.task)

    def _escalated(self, fed: _Feed) -> Tracked | None:
        """The violation that is escalated: by correlation, else by the task that it names or has paused; the oldest
        that waits comes first."""
        task = self.task(fed.task)
        keys: tuple[Hashable, ...] = (fed.envelope.correlation_id,)
        if fed.envelope.correlation_id is None:
            keys = ((NAME, fed.task),) if task is None else ((NAME, fed.task), task.group)
        found = (self._table.first(word, key) for word in (WAITING, VIOLATION) for key in keys)
        return next((one for one in found if one is not None), None)

    def _report(self, fed: _Feed) -> None:
        """``⫻report/*``: the decision of the one to whom a violation was escalated (of several that on the oldest; on
        the last one more can follow), or it must belong to something, and that is all the loops ask."""
        key = fed.envelope.correlation_id, fed.envelope.sender
        violation = self._table.first(DECISION, key)
        if violation is None:
            self._reported(fed)
            return
        if violation is not self._table.last(DECISION, key):
            self._table.drop(violation, DECISION, key)
        fed.tell(EventKind.DECIDED, first_line(fed.envelope), violation, name=fed.task)


_HANDLERS: dict[tuple[str | None, str | None], Callable[[Monitor, _Feed], None]] = {
    ("command", "dispatch"): Monitor._dispatch,
    ("command", "stop"): Monitor._stop,
    ("command", "resume"): Monitor._resumed,
    ("command", "escalate"): Monitor._escalate,
    ("report", "status"): Monitor._status,
    ("report", "artifact"): Monitor._artifact,
    ("report", "*"): Monitor._report,
    ("alert", "violation"): Monitor._violation,
    ("alert", "*"): Monitor._alert,
    ("query", "*"): Monitor._query,
}
"""The handler of an envelope, by the family and the name of its channel. Commands of other names pass."""


def _places(task: Task) -> tuple[Hashable, ...]:
    """The values under which a task is found in its state: one for all of them, its correlation, its agent."""
    return None, task.group, ("agent", task.agent)


def _pairs(query: Tracked, asker: str) -> list[Hashable]:
    """Who asked, and who asked whom, on each correlation of a question."""
    return [pair for key in (query.id, query.group) for pair in ((key, asker), (key, asker, query.agent))]


def _overdue(alarm: _Alarm) -> Event:
    _, _, kind, what = alarm
    return Event(EventKind.OVERDUE, what.name, None, what.id, _OVERDUE_TEXT[kind])
