"""The monitor: runs the loops of section 003 over a stream of envelopes and says what happens and what is wrong.

The tables are in ``spec.py``. No clock is read here: the host passes the time, as seconds on any scale of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import NoneType
from typing import TYPE_CHECKING

from turnwire.errors import Issue, Reason, expect
from turnwire.kick import codec  # for its core, which tests exchange
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.loops import ASKED, OPEN, WAITING, Escalation, Questions, TaskLoop
from turnwire.kick.policy import DEFAULT_POLICY, Policy
from turnwire.kick.spec import (
    BAD_TYPE,
    ESCALATION_CHANNEL,
    ESCALATION_RECEIVERS,
    STATUS_WORDS,
    UNAUTHORISED_REASONS,
    EventKind,
    Signal,
)
from turnwire.kick.times import seconds
from turnwire.kick.tracking import (
    Deadlines,
    EnvelopeReaders,
    Event,
    Followed,
    LoopMemory,
    Recent,
    Task,
    Tell,
    Unfinished,
    event,
    first_line,
    task_name,
)

if TYPE_CHECKING:
    from turnwire.kick.codec import Envelope

__all__ = ["Deadlines", "Event", "Monitor", "Unfinished"]

_OVERDUE_TEXT = {
    "accept": "the dispatch was not taken up in time",
    "finish": "the task was not finished in time",
    "answer": "the question was not answered in time",
    "escalate": "the violation was not escalated in time",
}


class Monitor:
    """Follows tasks, questions and violations through a stream of envelopes.

    Args:
        policy: who may send what; an envelope that it refuses changes nothing.
        deadlines: when something is overdue, in seconds.
        task_of, status_of, artifact_of: what is read out of an envelope's content: the task id (or None), the status
            word, the artifact's path.
        words: status word -> Signal.
        remember: how many envelope ids, closed tasks, answered questions and escalated violations are remembered, to
            tell a duplicate, a late report or a late answer from an unknown one.
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
        expect(policy, Policy, "a Policy says who may send what")
        expect(deadlines, Deadlines, "deadlines are kick.Deadlines")
        for name, limit in deadlines._asdict().items():
            expect(limit, (int, float, NoneType), f"the deadline {name} is a number of seconds or None")
        self.policy = policy
        self._seen = Recent(remember)
        self._task_of = task_of
        self._kept = LoopMemory(deadlines, EnvelopeReaders(task_of, status_of, artifact_of, words), remember)
        questions = Questions(self._kept)
        self._tasks = TaskLoop(self._kept, questions, Recent(remember))
        escalation = Escalation(self._kept, self._tasks, _who_decides(policy))
        self._handlers: dict[tuple[str | None, str | None], Callable[[Envelope, float | None, Tell], None]] = {
            ("command", "dispatch"): self._tasks.dispatch,
            ("command", "stop"): self._tasks.stop,
            ("command", "resume"): self._tasks.resumed,
            ("command", "escalate"): escalation.escalate,
            ("report", "status"): self._tasks.status,
            ("report", "artifact"): self._tasks.artifact,
            ("report", "*"): escalation.report,
            ("alert", "violation"): escalation.violation,
            ("alert", "*"): escalation.alert,
            ("query", "*"): questions.query,
        }  # commands of other names pass

    # --- what the host asks --------------------------------------------------------------------------------------

    def feed(self, envelope: Envelope, now: float | None = None) -> list[Event]:
        """The events that one envelope brings about, and (with ``now``) what fell overdue before it.

        now: the host's time in seconds, never going back. Without it, deadlines start at the envelope's own timestamp
        and nothing falls overdue until :meth:`overdue` is asked.
        """
        expect(envelope, codec._core.Envelope, "a monitor is fed envelopes")
        events: list[Event] = []
        self.judged(envelope, now, codec._core.check(envelope, self.policy), events.append)
        return events

    def judged(self, envelope: Envelope, now: float | None, issues: list[Issue], tell: Tell) -> None:
        """Tells the events of an envelope of which it is known what ``check`` finds by the monitor's policy. What can
        be a fault is told before anything changes: where ``tell`` raises then, nothing has changed."""
        due = [] if now is None else self._kept.alarms.due(now)
        try:
            for _, kind, what in due:
                tell(_overdue(kind, what))
            self._judge(envelope, now, issues, tell)
        except BaseException:
            self._kept.alarms.again(due)
            raise

    def _judge(self, envelope: Envelope, now: float | None, issues: list[Issue], tell: Tell) -> None:
        warnings = [issue for issue in issues if issue.severity == "warning"] if issues else []
        if warnings and any(issue.reason in _NO_TEXT for issue in warnings):
            tell(event(EventKind.INVALID, envelope, warnings[0].text, issues=warnings))  # nothing else can be read
            return
        mark = hash((envelope.sender, envelope.receiver, envelope.channel, envelope.content, envelope.timestamp))
        before = self._seen.get(envelope.id)
        if before is not None:
            kind = EventKind.DUPLICATE if before == mark else EventKind.ID_REUSED
            tell(event(kind, envelope, "the id was seen before", name=self._named(envelope)))
            return
        kind = EventKind.INVALID
        if warnings:
            reasons = {issue.reason for issue in warnings}
            if reasons & UNAUTHORISED_REASONS:
                kind = EventKind.UNAUTHORISED
            elif reasons == {Reason.MISSING_CORRELATION_ID}:
                kind = EventKind.UNCORRELATED
            tell(event(kind, envelope, warnings[0].text, issues=warnings, name=self._named(envelope)))
        if kind is EventKind.INVALID:  # it is followed as far as it can be read; any other is void
            family, name = channel_parts(envelope.channel)
            handler = self._handlers.get((family, name)) or self._handlers.get((family, "*"))
            if handler is not None:
                handler(envelope, seconds(envelope.timestamp) if now is None else now, tell)
            if family == "command" and name != "dispatch":
                self._tasks.command(envelope)
        self._seen.put(envelope.id, mark)

    def overdue(self, now: float) -> list[Event]:
        """The events of what fell due before ``now`` and was not reported yet."""
        return [_overdue(kind, what) for _, kind, what in self._kept.alarms.due(now)]

    def resume(self, name: str, now: float | None = None) -> list[Event]:
        """The host lets a paused task go on (so does ``⫻command/resume``, or dispatching the task again)."""
        task = self._tasks.named(name)
        if task is None or not task.paused:
            return []
        self._tasks.resume(task, now)
        return [Event(EventKind.RESUMED, task.name, None, task.id, "resumed by the host")]

    def task(self, name: str) -> Task | None:
        """The latest task of that id, as long as it is remembered."""
        return self._tasks.named(name)

    @property
    def unfinished(self) -> list[Unfinished]:
        """Everything that has begun and not ended: tasks, questions without an answer, violations that are not
        escalated."""
        found = []
        for task in self.tasks:
            paused = " and paused" if task.paused else ""
            text = f"the task {task.name or task.id} of {task.agent} is {task.state}{paused}"
            found.append(Unfinished("task", task.id, task.name, text))
        for word, kind, text in ((ASKED, "question", "{} has not answered"), (WAITING, "violation", _WAITS)):
            for one in self._kept.table.all(word):
                found.append(Unfinished(kind, one.id, one.name, text.format(one.agent)))
        return found

    @property
    def tasks(self) -> list[Task]:
        """All tasks that are not closed, in the order of their dispatch."""
        return self._kept.table.all(OPEN)

    def _named(self, envelope: Envelope) -> str | None:
        """The task that an envelope names; a question has a subject instead."""
        return None if channel_parts(envelope.channel)[0] == "query" else self._task_of(envelope)


def _who_decides(policy: Policy) -> tuple[str, ...]:
    """To whom violations go: the receivers of a row about that channel alone, else those of section 003."""
    row = policy.row_for(ESCALATION_CHANNEL)
    return row.receivers if row is not None and not row.channel.endswith("*") else ESCALATION_RECEIVERS


_WAITS = "the violation is not escalated"
_NO_TEXT = frozenset(BAD_TYPE.values())


def _overdue(kind: str, what: Followed) -> Event:
    return Event(EventKind.OVERDUE, what.name, None, what.id, _OVERDUE_TEXT[kind])
