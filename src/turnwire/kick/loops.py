"""The loops of sections 002 and 003: tasks from their dispatch to their end, questions and the answers they are owed,
violations that pause tasks and wait for ``⫻command/escalate``."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.policy import allows
from turnwire.kick.space import first_section
from turnwire.kick.spec import (
    BROADCAST,
    CLOSED,
    ESCALATION_RECEIVERS,
    FORWARD,
    SIGNAL_EVENT,
    SIGNAL_STATE,
    TASK_TRANSITIONS,
    EventKind,
    Signal,
    TaskState,
)
from turnwire.kick.tracking import (
    EnvelopeReaders,
    LoopMemory,
    Query,
    Recent,
    Runs,
    Table,
    Task,
    Tell,
    Unfinished,
    Violation,
    drop,
    event,
    first,
    first_line,
    put,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turnwire.kick.codec import Envelope


# --- tasks ---------------------------------------------------------------------------------------------------------

MOST_ENDED = 64
"""Limit: where all tasks of a correlation have ended, a stop is told to be late for so many: it can come again and
again."""
MOST_RESUMED = 64
"""Resumes let so many tasks go on for each dispatch and each ``⫻command/resume`` that came: a violation and a resume
can come in turn again and again. A correlation of no more tasks than that never comes to it."""


class TaskLoop:
    """The tasks and what envelopes do to them. ``answered`` is asked about reports that belong to no task; commands
    remembers those that are not dispatchs. What is a fault is told before anything changes."""

    def __init__(
        self, kept: LoopMemory, reading: EnvelopeReaders, answered: Callable[[Envelope, Tell], bool], commands: Recent
    ) -> None:
        self._commands = commands  # id or correlation -> the agent that it went to, and the task that it names
        self._kept = kept
        self._reading = reading
        self.answered = answered
        self._tasks: dict[str, Task] = {}  # by dispatch id, that of a second dispatch of a task included
        self._named: dict[str, Task] = {}  # by task id, the latest run
        self._groups: Table[Task] = {}  # by correlation
        self._runs: dict[tuple[str, str | None], list[Task]] = {}  # by correlation and task id, the latest run last
        self._open: dict[str, Task] = {}  # those that are not closed, by dispatch id
        self._open_groups: Table[Task] = {}  # the same by correlation
        self._open_agents: Table[Task] = {}  # the same by agent
        self._running: Table[Task] = {}  # those that are open and not paused, by correlation
        self._paused: Table[Task] = {}  # those that are paused, by correlation
        self._paused_agents: Table[Task] = {}  # the same by agent
        self._to_resume = 0  # so many tasks may go on by now
        self._count = 0
        self.runs = Runs(), Runs()  # for the violations, all and those that wait
        self.waiting: Callable[[Task], int] = lambda task: 0  # how many violations of a task are not escalated
        self.decided: Callable[[Envelope, Tell], bool] = lambda envelope, tell: False  # a decision, which is told

    def open(self) -> list[Task]:
        """The tasks that are not closed, in the order of their dispatch."""
        return list(self._open.values())

    def unfinished(self) -> list[Unfinished]:
        """The tasks that are not closed, in the order of their dispatch."""
        found = []
        for task in self._open.values():
            paused = " and paused" if task.paused else ""
            text = f"the task {task.name or task.id} of {task.agent} is {task.state}{paused}"
            found.append(Unfinished("task", task.id, task.name, text))
        return found

    def named(self, name: str) -> Task | None:
        """The latest task of that id."""
        return self._named.get(name)

    def knows(self, correlation: str) -> bool:
        """True if a dispatch or a group of tasks has this correlation."""
        return correlation in self._tasks or correlation in self._groups

    def count(self) -> int:
        """The next number of what begins and ends."""
        self._count += 1
        return self._count

    def related(self, envelope: Envelope) -> list[str]:
        """The correlations of an alert: its own, and that of the task it names."""
        groups: dict[str, None] = {}
        correlation = envelope.correlation_id
        if correlation is not None:
            groups[correlation] = None
            if correlation in self._tasks:
                groups[self._tasks[correlation].group] = None
        named = self._named.get(self._reading.task_of(envelope) or "")
        if named is not None:
            groups[named.group] = None
        return list(groups)

    def pause(self, groups: list[str]) -> list[Task]:
        """Pauses the open tasks of these correlations; those that were not paused before."""
        found: list[Task] = []
        for group in groups:
            found += _in_order(self._running.pop(group, {}).values())
        for task in found:
            task.paused = True
            put(self._paused, task.group, task)
            put(self._paused_agents, task.agent, task)
            self._kept.alarms.clear(task)
        return found

    def dispatch(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/dispatch``: a new task, a paused one that goes on, or a duplicate."""
        self._to_resume += MOST_RESUMED
        name = self._reading.task_of(envelope)
        running = self._named.get(name) if name is not None else None
        if running is not None and running.state not in CLOSED:
            goes_on = running.paused and running.agent == envelope.receiver
            if goes_on:
                self._too_early(running, envelope, tell)
                tell(event(EventKind.RESUMED, envelope, "dispatched again", running))
                self.resume(running, now)
            else:
                tell(event(EventKind.DUPLICATE_TASK, envelope, f"the task is {running.state}", running))
            self._tasks[envelope.id] = running
            running.aliases.append(envelope.id)
            return
        task = Task(envelope, name, now, self.count())
        self._tasks[envelope.id] = task
        put(self._groups, task.group, task)
        self._runs.setdefault((task.group, name), []).append(task)
        self._open[task.id] = task
        put(self._open_groups, task.group, task)
        put(self._open_agents, task.agent, task)
        put(self._running, task.group, task)
        for runs in self.runs:
            runs.add(task)
        if name is not None:
            self._named[name] = task
        first = "accept" if self._kept.deadlines.accept is not None else "finish"
        self._kept.alarms.set(task, first, now, getattr(self._kept.deadlines, first))
        tell(event(EventKind.DISPATCHED, envelope, "", task))

    def status(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻report/status``: a status word about a task."""
        word = self._reading.status_of(envelope)
        signal = self._reading.words.get(word)
        task = self._reported(envelope, tell)
        if task is None:
            return
        if signal is None:
            tell(event(EventKind.UNKNOWN_STATUS, envelope, f"{word!r} is not a status", task))
            return
        self._signal(task, signal, envelope, now, word, tell)

    def artifact(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻report/artifact``: the path of what was made."""
        task = self._reported(envelope, tell)
        if task is not None:
            path = self._reading.artifact_of(envelope)
            self._signal(task, Signal.ARTIFACT, envelope, now, path, tell)
            task.artifacts.append(path)

    def report(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """Any other report: a decision, or it must belong to something, and that is all the loop asks."""
        if not self.decided(envelope, tell):
            self._reported(envelope, tell)

    def _reported(self, envelope: Envelope, tell: Tell) -> Task | None:
        """The task a report is about; None (and the event is told) where there is none or it is another agent's."""
        task = self._correlated(envelope)
        if task is None:
            if not self.answered(envelope, tell) and not self._responds(envelope):
                text = f"nothing that was sent has the correlation_id {envelope.correlation_id!r} and this task"
                tell(event(EventKind.UNCORRELATED, envelope, text, name=self._reading.task_of(envelope)))
            return None
        if task.agent != envelope.sender:
            text = f"the task is {task.agent!r}'s, not {envelope.sender!r}'s"
            tell(event(EventKind.UNAUTHORISED, envelope, text, task))
            return None
        return task

    def command(self, envelope: Envelope) -> None:
        """Remembers a command that is not a dispatch: a report may respond to it."""
        name = self._reading.task_of(envelope)
        for key in dict.fromkeys((envelope.id, envelope.correlation_id or envelope.id)):  # in this order, always
            self._commands.put(key, (envelope.receiver, name))

    def _responds(self, envelope: Envelope) -> bool:
        """True if a report is the response to a command of its own correlation by the agent that it went to."""
        correlation = envelope.correlation_id or ""
        agent, name = self._commands.get(correlation) or (None, None)
        task = self._reading.task_of(envelope)
        return (
            agent == envelope.sender and not self.knows(correlation) and (task in (None, name) or task in self._named)
        )

    def _correlated(self, envelope: Envelope) -> Task | None:
        correlation = envelope.correlation_id
        if correlation is None:
            return None
        name = self._reading.task_of(envelope)
        task = self._tasks.get(correlation)
        if task is not None and (name is None or task.name is None or task.name == name):
            return task
        latest = self._named.get(name) if name is not None else None
        if latest is not None and latest.group == correlation:
            return latest
        if name is None:
            return first(self._groups, correlation) if len(self._groups.get(correlation, ())) == 1 else None
        runs = self._runs.get((correlation, name))
        return runs[-1] if runs else None

    def _signal(
        self,
        task: Task,
        signal: Signal,
        envelope: Envelope,
        now: float | None,
        text: str,
        tell: Tell,
    ) -> None:
        before = task.state
        after = TASK_TRANSITIONS.get((before, signal))
        if after is None and before in CLOSED:
            tell(event(EventKind.LATE, envelope, f"{text!r}, but the task is {before}", task))
            return
        if task.paused:
            tell(event(EventKind.WHILE_PAUSED, envelope, f"{text!r}, but the task is paused", task))
        if after is None:
            tell(event(EventKind.OUT_OF_ORDER, envelope, f"{text!r}, but the task is {before}", task))
            after = SIGNAL_STATE[signal]
            after = after if FORWARD.index(after) > FORWARD.index(before) else before
        else:
            tell(event(SIGNAL_EVENT[signal], envelope, text, task))
        task.state = after
        if after in CLOSED:
            if before not in CLOSED:
                self._close(task)
        elif before is TaskState.DISPATCHED and not task.paused:
            started = now if task.started is None else task.started
            self._kept.alarms.set(task, "finish", started, self._kept.deadlines.finish)

    def _close(self, task: Task) -> None:
        self._kept.alarms.clear(task)
        self._go_on(task)
        drop(self._running, task.group, task)
        task.ended = self.count()
        self._open.pop(task.id, None)
        drop(self._open_groups, task.group, task)
        drop(self._open_agents, task.agent, task)
        self._kept.forget_later(partial(self._forget_task, task))

    def _forget_task(self, task: Task) -> None:
        for several in self.runs:
            several.forget(task)
        drop(self._groups, task.group, task)
        runs = self._runs[task.group, task.name]
        runs.remove(task)
        if not runs:
            del self._runs[task.group, task.name]
        for key in (task.id, *task.aliases):
            self._tasks.pop(key, None)
        if task.name is not None and self._named.get(task.name) is task:
            del self._named[task.name]

    def stop(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/stop``: ends one task, those of a correlation, or all of an agent."""
        found = self._meant(envelope, self._open_groups, self._open_agents, self._groups)
        if found is None:
            text = "the stop names a task or a correlation that is not known"
            tell(event(EventKind.UNCORRELATED, envelope, text, name=self._reading.task_of(envelope)))
            return
        for task in found:
            if task.state in CLOSED:
                tell(event(EventKind.LATE, envelope, f"the task is {task.state}", task))
            else:
                tell(event(EventKind.STOPPED, envelope, "", task))
        for task in found:
            if task.state not in CLOSED:
                task.state = TaskState.STOPPED
                self._close(task)

    def _meant(
        self, envelope: Envelope, groups: Table[Task], agents: Table[Task], ended: Table[Task], most: int | None = None
    ) -> list[Task] | None:
        """The tasks a command is about: one by name, those of a correlation, or all of the receiver.
        groups, agents: what is looked for, so many of it at most; ended: where a correlation has none of it, the first
        of that."""
        name = self._reading.task_of(envelope)
        correlation = envelope.correlation_id
        if name is not None and name in self._named:
            return [self._named[name]]
        if correlation is not None:
            task = self._tasks.get(correlation)
            if task is not None:
                return [task]
            if correlation in groups:
                return _in_order(islice(groups[correlation].values(), most))
            return list(islice(ended.get(correlation, {}).values(), MOST_ENDED)) or None
        own = _in_order(islice(agents.get(envelope.receiver, {}).values(), most))
        return own if own and name in (None, envelope.receiver) else None

    def resumed(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/resume``: lets paused tasks go on."""
        self._to_resume += MOST_RESUMED
        meant = self._meant(envelope, self._paused, self._paused_agents, {}, self._to_resume + 1)
        found = [task for task in meant or [] if task.paused]
        if not found:
            text = "there is no paused task to resume"
            tell(event(EventKind.UNCORRELATED, envelope, text, name=self._reading.task_of(envelope)))
        text = "others stay paused until the next resume" if len(found) > self._to_resume else ""
        found = found[: self._to_resume]
        self._to_resume -= len(found)
        for task in found:
            self._too_early(task, envelope, tell)
            tell(event(EventKind.RESUMED, envelope, text, task))
        for task in found:
            self.resume(task, now)

    def _too_early(self, task: Task, envelope: Envelope, tell: Tell) -> None:
        """Tells it where a task goes on although a violation that concerns it is not escalated (section 003)."""
        waiting = self.waiting(task)
        if waiting:
            text = f"the task continues before {waiting} of its violations was escalated"
            tell(event(EventKind.UNESCALATED, envelope, text, task))

    def resume(self, task: Task, now: float | None) -> None:
        """Lets one paused task go on; its deadline starts anew."""
        self._go_on(task)
        self._kept.alarms.set(task, "finish", now, self._kept.deadlines.finish)

    def _go_on(self, task: Task) -> None:
        if task.paused:
            task.paused = False
            drop(self._paused, task.group, task)
            drop(self._paused_agents, task.agent, task)
            put(self._running, task.group, task)


def _in_order(tasks: Iterable[Task]) -> list[Task]:
    """Tasks in the order of their dispatch."""
    return sorted(tasks, key=attrgetter("number"))


# --- questions -----------------------------------------------------------------------------------------------------

ANSWER, QUESTION, EITHER = "answer", "question", "either"


def is_answer(name: str | None, content: str) -> bool:
    """True if what is on the channel ``⫻query/<name>`` says that it is an answer: by that name, or by the type of
    the content's first section."""
    section = first_section(content)
    return name == ANSWER or (section is not None and section.type == ANSWER)


def kind_of(envelope: Envelope) -> str:
    """The kind that an envelope on ``⫻query/*`` says it is: an answer where the channel or the type of the content's
    first section is "answer"; a question where that section is another ``⫻query/…``; else it may be either."""
    if is_answer(channel_parts(envelope.channel)[1], envelope.content):
        return ANSWER
    section = first_section(envelope.content)
    return QUESTION if section is not None and section.name == "query" else EITHER


class Questions:
    """The questions. ``known`` says whether anything else than a question has a correlation. What is a fault is told
    before anything changes."""

    def __init__(self, kept: LoopMemory) -> None:
        self._kept = kept
        self.known: Callable[[str], bool] = lambda correlation: False
        self._open: dict[str, Query] = {}  # those that wait for an answer, by question id
        self._waiting: Table[Query] = {}  # the same by their keys
        self._answered: Table[Query] = {}  # those that have their answer, by their marks
        self._turn = 0

    def query(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻query/*``: an answer where a question is open on that correlation, else a question. One that says of
        itself that it is a question answers none."""
        kind, correlation = kind_of(envelope), envelope.correlation_id
        if correlation is None:
            if kind == ANSWER:
                text = "an answer has the correlation_id of its question"
                tell(event(EventKind.UNCORRELATED, envelope, text))
                return
        else:
            if kind != QUESTION and self.answered(envelope, tell):
                return
            there = correlation in self._answered or correlation in self._waiting
            if kind == ANSWER or not (there or self.known(correlation)):
                text = f"nothing that was sent has the correlation_id {correlation!r}"
                tell(event(EventKind.UNCORRELATED, envelope, "this answers no question" if there else text))
                return
        query = Query(envelope)
        self._open[query.id] = query
        self._put(self._waiting, query)
        self._kept.alarms.set(query, "answer", now, self._kept.deadlines.answer)
        tell(event(EventKind.ASKED, envelope, "", subject=query))

    def answered(self, envelope: Envelope, tell: Tell) -> bool:
        """True if the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        correlation, sender, asker = envelope.correlation_id or "", envelope.sender, envelope.receiver
        if sender == asker:
            return False
        table = self._waiting if (correlation, asker) in self._waiting else self._answered
        mine = first(table, (correlation, asker))
        if mine is None:
            return False
        fit = [first(table, (correlation, asker, asked)) for asked in (sender, BROADCAST)]
        query = min((one for one in fit if one is not None), key=lambda one: one.turn, default=None)
        if query is None:
            text = f"the question went to {mine.asked!r}, not to {sender!r}"
            tell(event(EventKind.UNAUTHORISED, envelope, text, subject=mine))
            return True
        if query.answered and query.asked != BROADCAST:
            tell(event(EventKind.LATE, envelope, "the question has its answer", subject=query))
            return True
        if not query.answered:
            query.answered = True
            self._settle(query)
            self._kept.alarms.clear(query)
            self._kept.forget_later(partial(self._take, self._answered, query))
        tell(event(EventKind.ANSWERED, envelope, "", subject=query))
        return True

    def _settle(self, query: Query) -> None:
        """Moves a question to those that have their answer."""
        self._open.pop(query.id, None)
        self._take(self._waiting, query)
        self._put(self._answered, query)

    def _put(self, table: Table[Query], query: Query) -> None:
        self._turn += 1
        query.turn = self._turn
        for key in query.marks():
            put(table, key, query)

    @staticmethod
    def _take(table: Table[Query], query: Query) -> None:
        for key in query.marks():
            drop(table, key, query)

    def unfinished(self) -> list[Unfinished]:
        """The questions without an answer, in order."""
        return [
            Unfinished("question", query.id, None, f"{query.asked} has not answered") for query in self._open.values()
        ]


# --- violations ----------------------------------------------------------------------------------------------------


class Escalation:
    """The violations and what became of them. What is a fault is told before anything changes. decide: the names of
    those to whom they go, as rows of a policy have them."""

    def __init__(
        self, kept: LoopMemory, reading: EnvelopeReaders, loop: TaskLoop, decide: tuple[str, ...] = ESCALATION_RECEIVERS
    ) -> None:
        self._decide = decide
        self._kept = kept
        self._reading = reading
        self._loop = loop
        self._violations: Table[Violation] = {}  # by alert id and by correlation
        self._waiting: Table[Violation] = {}  # those that are not escalated, by the same
        self._open: dict[str, Violation] = {}  # the same by alert id
        self._numbers: dict[str, list[int]] = {}  # of all, by the correlations of their tasks
        self._waiting_numbers: dict[str, list[int]] = {}  # of those that are not escalated, by the same
        self._by_number: dict[int, Violation] = {}
        self._undecided: Table[Violation] = {}  # those that were escalated, by correlation and whom they went to
        self._runs, self._waiting_runs = loop.runs
        loop.waiting = self._concerning
        loop.decided = self.decided

    def knows(self, correlation: str) -> bool:
        """True if a violation has this id or correlation."""
        return correlation in self._violations

    def alert(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/error`` and other alerts: told, and that is all."""
        tell(event(EventKind.ALERT, envelope, first_line(envelope), name=self._reading.task_of(envelope)))

    def violation(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/violation``: pauses the related tasks and sets the alarm for the escalation."""
        name = self._reading.task_of(envelope)
        violation = Violation(envelope, name, self._loop.related(envelope), self._loop.count())
        for key in {violation.id, violation.group}:
            put(self._violations, key, violation)
            put(self._waiting, key, violation)
        self._open[violation.id] = violation
        self._by_number[violation.number] = violation
        for group in violation.groups:
            self._numbers.setdefault(group, []).append(violation.number)
            self._waiting_numbers.setdefault(group, []).append(violation.number)
        self._kept.alarms.set(violation, "escalate", now, self._kept.deadlines.escalate)
        tell(event(EventKind.VIOLATION, envelope, first_line(envelope), name=name))
        for task in self._loop.pause(violation.groups):
            tell(event(EventKind.PAUSED, envelope, "pause this task", task))

    def escalate(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/escalate``: settles a violation when it goes to somebody who can decide."""
        violation = self._escalated(envelope)
        name = self._reading.task_of(envelope)
        if violation is None:
            text = "no violation with this correlation_id or task is known"
            tell(event(EventKind.UNCORRELATED, envelope, text, name=name))
            return
        if not allows(self._decide, envelope.receiver):
            text = f"a violation goes to {' or '.join(self._decide)}, not {envelope.receiver!r}"
            tell(event(EventKind.MISDIRECTED, envelope, text, subject=violation, name=name or violation.name))
            return
        if not violation.escalated:
            violation.escalated = True
            self._settle(violation)
            self._kept.alarms.clear(violation)
        for key in {violation.id, violation.group, envelope.id, envelope.correlation_id or envelope.id}:
            mark = key, envelope.receiver
            violation.decisions.add(mark)
            put(self._undecided, mark, violation)
        tell(event(EventKind.ESCALATED, envelope, "", subject=violation, name=name or violation.name))

    def decided(self, envelope: Envelope, tell: Tell) -> bool:
        """True if a report is the decision of the one to whom a violation was escalated; then that is told. Of several
        it is that on the oldest; on the last one more can follow."""
        mark = envelope.correlation_id, envelope.sender
        violation = first(self._undecided, mark)
        if violation is None:
            return False
        if len(self._undecided[mark]) > 1:
            drop(self._undecided, mark, violation)
            violation.decisions.discard(mark)
        name = self._reading.task_of(envelope) or violation.name
        tell(event(EventKind.DECIDED, envelope, first_line(envelope), subject=violation, name=name))
        return True

    def _escalated(self, envelope: Envelope) -> Violation | None:
        """The violation that is escalated: by correlation, else by task; the oldest open one comes first."""
        key = envelope.correlation_id
        if key is not None:
            return first(self._waiting, key) or first(self._violations, key)
        name = self._reading.task_of(envelope) or ""
        number = self._waiting_runs.first(name, self._waiting_numbers)
        if number is None:
            number = self._runs.first(name, self._numbers)
        return None if number is None else self._by_number[number]

    def _concerning(self, task: Task) -> int:
        """The number of violations that are not escalated and concern a task that is open."""
        numbers = self._waiting_numbers.get(task.group, [])
        return len(numbers) - bisect_right(numbers, task.number)

    def _settle(self, violation: Violation) -> None:
        """Takes a violation that was escalated from those that wait."""
        self._open.pop(violation.id, None)
        for key in {violation.id, violation.group}:
            drop(self._waiting, key, violation)
        _take_out(self._waiting_numbers, violation)
        self._kept.forget_later(partial(self._forget, violation))

    def _forget(self, violation: Violation) -> None:
        for key in {violation.id, violation.group}:
            drop(self._violations, key, violation)
        for mark in violation.decisions:
            drop(self._undecided, mark, violation)
        _take_out(self._numbers, violation)
        del self._by_number[violation.number]

    def unfinished(self) -> list[Unfinished]:
        """The violations that are not escalated, in order."""
        text = "the violation is not escalated"
        return [Unfinished("violation", one.id, one.name, text) for one in self._open.values()]


def _take_out(numbers: dict[str, list[int]], violation: Violation) -> None:
    for group in violation.groups:
        several = numbers[group]
        del several[bisect_right(several, violation.number) - 1]
        if not several:
            del numbers[group]
