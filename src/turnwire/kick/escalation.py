"""The escalation flow (section 003): a violation pauses the related tasks and waits for ``⫻command/escalate``."""

from __future__ import annotations

from bisect import bisect_right
from functools import partial
from typing import TYPE_CHECKING

from turnwire.kick.policy import allows
from turnwire.kick.spec import ESCALATION_RECEIVERS, EventKind
from turnwire.kick.tracking import (
    Kept,
    Reading,
    Table,
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
    from turnwire.kick.loop import TaskLoop
    from turnwire.kick.messages import Envelope
    from turnwire.kick.tracking import Task


class Escalation:
    """The violations and what became of them. What is a fault is told before anything changes. decide: the names of
    those to whom they go, as rows of a policy have them."""

    def __init__(
        self, kept: Kept, reading: Reading, loop: TaskLoop, decide: tuple[str, ...] = ESCALATION_RECEIVERS
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
        self._runs, self._waiting_runs = loop.runs
        loop.waiting = self._concerning

    def knows(self, correlation: str) -> bool:
        """Whether a violation has this id or correlation."""
        return correlation in self._violations

    def alert(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/error`` and other alerts: told, and that is all."""
        tell(event(EventKind.ALERT, envelope, first_line(envelope)))

    def violation(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/violation``: pauses the related tasks and sets the alarm for the escalation."""
        violation = Violation(envelope, self._loop.related(envelope), self._loop.count())
        for key in {violation.id, violation.group}:
            put(self._violations, key, violation)
            put(self._waiting, key, violation)
        self._open[violation.id] = violation
        self._by_number[violation.number] = violation
        for group in violation.groups:
            self._numbers.setdefault(group, []).append(violation.number)
            self._waiting_numbers.setdefault(group, []).append(violation.number)
        self._kept.alarms.set(violation, "escalate", now, self._kept.deadlines.escalate)
        tell(event(EventKind.VIOLATION, envelope, first_line(envelope)))
        for task in self._loop.pause(violation.groups):
            tell(event(EventKind.PAUSED, envelope, "pause this task", task))

    def escalate(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/escalate``: settles a violation when it goes to somebody who can decide."""
        violation = self._escalated(envelope)
        if violation is None:
            tell(event(EventKind.UNCORRELATED, envelope, "no violation with this correlation_id or task is known"))
            return
        if not allows(self._decide, envelope.receiver):
            text = f"a violation goes to {' or '.join(self._decide)}, not {envelope.receiver!r}"
            tell(event(EventKind.MISDIRECTED, envelope, text, subject=violation))
            return
        if not violation.escalated:
            violation.escalated = True
            self._settle(violation)
            self._kept.alarms.clear(violation)
        tell(event(EventKind.ESCALATED, envelope, "", subject=violation))

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
        """How many violations that are not escalated concern a task that is open."""
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
        _take_out(self._numbers, violation)
        del self._by_number[violation.number]

    def unfinished(self) -> list[Unfinished]:
        """The violations that are not escalated, in order."""
        return [Unfinished("violation", one.id, None, "the violation is not escalated") for one in self._open.values()]


def _take_out(numbers: dict[str, list[int]], violation: Violation) -> None:
    for group in violation.groups:
        several = numbers[group]
        del several[bisect_right(several, violation.number) - 1]
        if not several:
            del numbers[group]
