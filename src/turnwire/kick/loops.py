"""The loops of sections 002 and 003: tasks from their dispatch to their end, questions and the answers they are owed,
violations that pause tasks and wait for ``⫻command/escalate``.

All of them keep what they follow in one table. What is a fault is told before anything changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.policy import allows
from turnwire.kick.space import first_section
from turnwire.kick.spec import (
    BROADCAST,
    CLOSED,
    ESCALATION_RECEIVERS,
    FORWARD,
    SIGNAL_STATE,
    TASK_TRANSITIONS,
    EventKind,
    Signal,
    TaskState,
)
from turnwire.kick.tracking import Followed, LoopMemory, Recent, Task, Tell, event, first_line

if TYPE_CHECKING:
    from collections.abc import Hashable

    from turnwire.kick.codec import Envelope


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


# --- tasks ---------------------------------------------------------------------------------------------------------


def _places(task: Task) -> tuple[Hashable, ...]:
    """The values under which a task is found in its state: one for all of them, its correlation, its agent."""
    return None, task.group, ("agent", task.agent)


class TaskLoop:
    """The tasks, and their changes by envelopes. A report that is about no task may answer a question, or respond to a
    command: ``commands`` remembers those that are not dispatches."""

    def __init__(self, kept: LoopMemory, questions: Questions, commands: Recent) -> None:
        self._commands = commands  # id or correlation -> the agent that it went to, and the task that it names
        self._kept = kept
        self._table = kept.table
        self._reading = kept.reading
        self._questions = questions
        self._to_resume = 0  # so many tasks may go on by now

    def named(self, name: str | None) -> Task | None:
        """The latest task of that id."""
        found: Task | None = self._table.last(NAME, name)
        return found

    def dispatch(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/dispatch``: a new task, a paused one that goes on, or a duplicate."""
        name = self._reading.task_of(envelope)
        task = self.named(name)
        if task is None or task.state in CLOSED:
            task = Task(envelope, name, self._kept.count(), now)
            self._table.put(task, GROUP, task.group)
            if name is not None:
                self._table.put(task, RUN, (task.group, name))
                self._table.put(task, NAME, name)
            self._table.put(task, OPEN, *_places(task))
            self._table.put(task, RUNNING, task.group)
            self._kept.watch(task, "finish" if self._kept.deadlines.accept is None else "accept", now)
            tell(event(EventKind.DISPATCHED, envelope, "", task))
        elif task.paused and task.agent == envelope.receiver:
            self._too_early(task, envelope, tell)
            tell(event(EventKind.RESUMED, envelope, "dispatched again", task))
            self.resume(task, now)
        else:
            tell(event(EventKind.DUPLICATE_TASK, envelope, f"the task is {task.state}", task))
        self._table.put(task, DISPATCH, envelope.id)
        self._to_resume += MOST_RESUMED

    def status(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻report/status``: a status word about a task."""
        word = self._reading.status_of(envelope)
        signal = self._reading.words.get(word)
        task = self.reported(envelope, tell)
        if task is not None and signal is None:
            tell(event(EventKind.UNKNOWN_STATUS, envelope, f"{word!r} is not a status", task))
        elif task is not None and signal is not None:
            self._signal(task, signal, envelope, now, word, tell)

    def artifact(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻report/artifact``: the path of what was made."""
        task = self.reported(envelope, tell)
        if task is not None:
            path = self._reading.artifact_of(envelope)
            self._signal(task, Signal.ARTIFACT, envelope, now, path, tell)
            task.artifacts.append(path)

    def reported(self, envelope: Envelope, tell: Tell) -> Task | None:
        """The task a report is about; None (and the event is told) where there is none or it is another agent's."""
        task = self._correlated(envelope)
        if task is None:
            if not self._questions.answered(envelope, tell) and not self._responds(envelope):
                text = f"nothing that was sent has the correlation_id {envelope.correlation_id!r} and this task"
                tell(event(EventKind.UNCORRELATED, envelope, text, name=self._reading.task_of(envelope)))
        elif task.agent != envelope.sender:
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
        if agent != envelope.sender or self._table.has(DISPATCH, correlation) or self._table.has(GROUP, correlation):
            return False
        task = self._reading.task_of(envelope)
        return task in (None, name) or self.named(task) is not None

    def _correlated(self, envelope: Envelope) -> Task | None:
        correlation = envelope.correlation_id
        if correlation is None:
            return None
        name = self._reading.task_of(envelope)
        task: Task | None = self._table.last(DISPATCH, correlation)
        if task is not None and (name is None or task.name is None or task.name == name):
            return task
        if name is None:
            several = self._table.all(GROUP, correlation, 2)
            return several[0] if len(several) == 1 else None
        task = self._table.last(RUN, (correlation, name))
        return task

    def _signal(self, task: Task, signal: Signal, envelope: Envelope, now: float | None, text: str, tell: Tell) -> None:
        before = task.state
        after = TASK_TRANSITIONS.get((before, signal))
        if after is None and before in CLOSED:
            tell(event(EventKind.LATE, envelope, f"{text!r}, but the task is {before}", task))
            return
        if task.paused:
            tell(event(EventKind.WHILE_PAUSED, envelope, f"{text!r}, but the task is paused", task))
        if after is None:
            tell(event(EventKind.OUT_OF_ORDER, envelope, f"{text!r}, but the task is {before}", task))
            after = max(before, SIGNAL_STATE[signal], key=FORWARD.index)
        else:
            tell(event(EventKind(signal.value), envelope, text, task))
        task.state = after
        if after in CLOSED:
            if before not in CLOSED:
                self._close(task)
        elif before is TaskState.DISPATCHED and not task.paused:
            self._kept.watch(task, "finish", now if task.started is None else task.started)

    def _close(self, task: Task) -> None:
        task.paused = False
        self._kept.end(task, OPEN, RUNNING, PAUSED)

    def stop(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/stop``: ends one task, those of a correlation, or all of an agent."""
        found = self._meant(envelope, OPEN)
        if not found and envelope.correlation_id is not None:
            found = self._table.all(GROUP, envelope.correlation_id, MOST_ENDED)
        if not found:
            text = "the stop names a task or a correlation that is not known"
            tell(event(EventKind.UNCORRELATED, envelope, text, name=self._reading.task_of(envelope)))
        for task in found:
            if task.state in CLOSED:
                tell(event(EventKind.LATE, envelope, f"the task is {task.state}", task))
            else:
                tell(event(EventKind.STOPPED, envelope, "", task))
        for task in found:
            if task.state not in CLOSED:
                task.state = TaskState.STOPPED
                self._close(task)

    def _meant(self, envelope: Envelope, state: str, most: int | None = None) -> list[Task]:
        """The tasks a command is about: one by name; of those in a state, up to a number, the ones of a correlation,
        or all of the receiver."""
        name, correlation = self._reading.task_of(envelope), envelope.correlation_id
        task = self.named(name)
        if task is None and correlation is not None:
            task = self._table.last(DISPATCH, correlation)
        if task is not None:
            return [task]
        if correlation is not None:
            return self._table.all(state, correlation, most)
        return self._table.all(state, ("agent", envelope.receiver), most) if name in (None, envelope.receiver) else []

    def resumed(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/resume``: lets paused tasks go on."""
        self._to_resume += MOST_RESUMED
        found = [task for task in self._meant(envelope, PAUSED, self._to_resume + 1) if task.paused]
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
        violation = self._table.last(WAITING, task.group)
        if violation is not None and violation.number > task.number:
            tell(event(EventKind.UNESCALATED, envelope, "the task continues before its violation was escalated", task))

    def pause(self, groups: list[str]) -> list[Task]:
        """Pauses the open tasks of these correlations; those that were not paused before."""
        found: list[Task] = [task for group in groups for task in self._table.all(RUNNING, group)]
        for task in found:
            task.paused = True
            self._table.take(task, RUNNING)
            self._table.put(task, PAUSED, *_places(task))
            self._kept.alarms.clear(task)
        return found

    def resume(self, task: Task, now: float | None) -> None:
        """Lets one paused task go on; its deadline starts anew."""
        task.paused = False
        self._table.take(task, PAUSED)
        self._table.put(task, RUNNING, task.group)
        self._kept.watch(task, "finish", now)


# --- questions -----------------------------------------------------------------------------------------------------

ANSWER = "answer"


def is_answer(name: str | None, content: str) -> bool:
    """True if what is on the channel ``⫻query/<name>`` says that it is an answer: by that name, or by the type of
    the content's first section."""
    section = first_section(content)
    return name == ANSWER or (section is not None and section.type == ANSWER)


class Questions:
    """The questions and their answers."""

    def __init__(self, kept: LoopMemory) -> None:
        self._kept = kept
        self._table = kept.table

    def query(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻query/*``: an answer where it says so, or where a question is open on that correlation; else a question.
        One whose first section is another ``⫻query/…`` says that it is a question, and answers none."""
        section, correlation = first_section(envelope.content), envelope.correlation_id
        answers = is_answer(channel_parts(envelope.channel)[1], envelope.content)
        asks = not answers and section is not None and section.name == "query"
        if correlation is None and answers:
            tell(event(EventKind.UNCORRELATED, envelope, "an answer has the correlation_id of its question"))
            return
        if correlation is not None:
            if not asks and self.answered(envelope, tell):
                return
            there = self._table.has(QUESTION, correlation)
            if answers or not any(self._table.has(word, correlation) for word in _KNOWN):
                text = f"nothing that was sent has the correlation_id {correlation!r}"
                tell(event(EventKind.UNCORRELATED, envelope, "this answers no question" if there else text))
                return
        query = Followed(envelope, None, self._kept.count())
        self._table.put(query, QUESTION, query.id, query.group)
        self._table.put(query, ASKED, None, *_pairs(query, envelope.sender))
        self._kept.watch(query, "answer", now)
        tell(event(EventKind.ASKED, envelope, "", query))

    def answered(self, envelope: Envelope, tell: Tell) -> bool:
        """True if the envelope is an answer (right, late or by the wrong agent) to a question; then that is told."""
        correlation, sender, asker = envelope.correlation_id, envelope.sender, envelope.receiver
        if sender == asker:
            return False
        state = ASKED if self._table.has(ASKED, (correlation, asker)) else ANSWERED
        mine = self._table.first(state, (correlation, asker))
        if mine is None:
            return False
        fit = [self._table.first(state, (correlation, asker, asked)) for asked in (sender, BROADCAST)]
        query = min((one for one in fit if one is not None), key=lambda one: one.number, default=None)
        if query is None:
            text = f"the question went to {mine.agent!r}, not to {sender!r}"
            tell(event(EventKind.UNAUTHORISED, envelope, text, mine))
        elif query.ended and query.agent != BROADCAST:
            tell(event(EventKind.LATE, envelope, "the question has its answer", query))
        else:
            if not query.ended:
                self._table.put(query, ANSWERED, *_pairs(query, asker))
                self._kept.end(query, ASKED)
            tell(event(EventKind.ANSWERED, envelope, "", query))
        return True


_KNOWN = (QUESTION, DISPATCH, GROUP, VIOLATION)
"""The words under which something has a correlation that a question can be about."""


def _pairs(query: Followed, asker: str) -> list[Hashable]:
    """Who asked, and who asked whom, on each correlation of a question."""
    return [pair for key in (query.id, query.group) for pair in ((key, asker), (key, asker, query.agent))]


# --- violations ----------------------------------------------------------------------------------------------------


class Escalation:
    """The violations and what became of them. decide: the names of those to whom they go, as rows of a policy have
    them."""

    def __init__(self, kept: LoopMemory, tasks: TaskLoop, decide: tuple[str, ...] = ESCALATION_RECEIVERS) -> None:
        self._decide = decide
        self._kept = kept
        self._table = kept.table
        self._task_of = kept.reading.task_of
        self._tasks = tasks

    def alert(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/error`` and other alerts: told, and that is all."""
        tell(event(EventKind.ALERT, envelope, first_line(envelope), name=self._task_of(envelope)))

    def violation(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/violation``: pauses the tasks of its correlation, of the dispatch that this is, and of the task that
        it names, with all their relatives; sets the alarm for the escalation."""
        name = self._task_of(envelope)
        about = self._table.last(DISPATCH, envelope.correlation_id), self._tasks.named(name)
        groups = dict.fromkeys(task.group for task in about if task is not None)
        if envelope.correlation_id is not None:
            groups = {envelope.correlation_id: None, **groups}
        violation = Followed(envelope, name, self._kept.count())
        marks: list[Hashable] = [violation.id, violation.group, *groups]
        if name is not None:
            marks.append((NAME, name))
        self._table.put(violation, VIOLATION, *marks)
        self._table.put(violation, WAITING, None, *marks)
        self._kept.watch(violation, "escalate", now)
        tell(event(EventKind.VIOLATION, envelope, first_line(envelope), name=name))
        for task in self._tasks.pause(list(groups)):
            tell(event(EventKind.PAUSED, envelope, "pause this task", task))

    def escalate(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/escalate``: settles a violation when it goes to somebody who can decide."""
        name = self._task_of(envelope)
        violation = self._escalated(envelope, name)
        if violation is None:
            text = "no violation with this correlation_id or task is known"
            tell(event(EventKind.UNCORRELATED, envelope, text, name=name))
            return
        if not allows(self._decide, envelope.receiver):
            text = f"a violation goes to {' or '.join(self._decide)}, not {envelope.receiver!r}"
            tell(event(EventKind.MISDIRECTED, envelope, text, violation, name=name))
            return
        if not violation.ended:
            self._kept.end(violation, WAITING)
        keys = (violation.id, violation.group, envelope.id, envelope.correlation_id or envelope.id)
        self._table.put(violation, DECISION, *((key, envelope.receiver) for key in keys))
        tell(event(EventKind.ESCALATED, envelope, "", violation, name=name))

    def _escalated(self, envelope: Envelope, name: str | None) -> Followed | None:
        """The violation that is escalated: by correlation, else by the task that it names or has paused; the oldest
        that waits comes first."""
        task = self._tasks.named(name)
        keys: tuple[Hashable, ...] = (envelope.correlation_id,)
        if envelope.correlation_id is None:
            keys = ((NAME, name),) if task is None else ((NAME, name), task.group)
        found = (self._table.first(word, key) for word in (WAITING, VIOLATION) for key in keys)
        return next((one for one in found if one is not None), None)

    def report(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻report/*``: the decision of the one to whom a violation was escalated (of several that on the oldest; on
        the last one more can follow), or it must belong to something, and that is all the loops ask."""
        key = envelope.correlation_id, envelope.sender
        violation = self._table.first(DECISION, key)
        if violation is None:
            self._tasks.reported(envelope, tell)
            return
        if violation is not self._table.last(DECISION, key):
            self._table.drop(violation, DECISION, key)
        tell(event(EventKind.DECIDED, envelope, first_line(envelope), violation, name=self._task_of(envelope)))
