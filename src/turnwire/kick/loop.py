"""The dispatch-execute-report loop (section 003): every task, from its dispatch to its end."""

from __future__ import annotations

from functools import partial
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING

from turnwire.kick.spec import (
    CLOSED,
    FORWARD,
    SIGNAL_EVENT,
    SIGNAL_STATE,
    TASK_TRANSITIONS,
    EventKind,
    Signal,
    TaskState,
)
from turnwire.kick.tracking import Kept, Reading, Recent, Runs, Table, Task, Tell, Unfinished, drop, event, first, put

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from turnwire.kick.messages import Envelope


MOST_ENDED = 64
"""Where all tasks of a correlation have ended, a stop is told to be late for so many: it can come again and again."""
MOST_RESUMED = 64
"""Resumes let so many tasks go on for each dispatch and each ``⫻command/resume`` that came: a violation and a resume
can come in turn again and again. A correlation of no more tasks than that never comes to it."""


class TaskLoop:
    """The tasks and what envelopes do to them. ``answered`` is asked about reports that belong to no task; commands
    remembers those that are not dispatchs. What is a fault is told before anything changes."""

    def __init__(
        self, kept: Kept, reading: Reading, answered: Callable[[Envelope, Tell], bool], commands: Recent
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
        """Whether a dispatch or a group of tasks has this correlation."""
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
        """Any other report: it must belong to something, and that is all the loop asks."""
        self._reported(envelope, tell)

    def _reported(self, envelope: Envelope, tell: Tell) -> Task | None:
        """The task a report is about; None (and the event is told) where there is none or it is another agent's."""
        task = self._correlated(envelope)
        if task is None:
            if not self.answered(envelope, tell) and not self._responds(envelope):
                text = f"nothing that was sent has the correlation_id {envelope.correlation_id!r} and this task"
                tell(event(EventKind.UNCORRELATED, envelope, text))
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
        """Whether a report is the response to a command of its own correlation by the agent that it went to."""
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
            tell(event(EventKind.UNCORRELATED, envelope, text))
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
            tell(event(EventKind.UNCORRELATED, envelope, "there is no paused task to resume"))
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
