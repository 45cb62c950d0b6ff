"""The escalation flow (section 003): a violation pauses the related tasks and waits for ``⫻command/escalate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.kick.spec import ESCALATION_RECEIVERS, EventKind
from turnwire.kick.tracking import Kept, Reading, Tell, Unfinished, Violation, drop, event, first_line

if TYPE_CHECKING:
    from turnwire.kick.loop import TaskLoop
    from turnwire.kick.messages import Envelope


class Escalation:
    """The violations and what became of them."""

    def __init__(self, kept: Kept, reading: Reading, loop: TaskLoop) -> None:
        self._kept = kept
        self._reading = reading
        self._loop = loop
        self._violations: dict[str, list[Violation]] = {}  # by alert id and by correlation
        self._open: dict[str, Violation] = {}  # those that are not escalated, by alert id
        self._named: dict[str, dict[str, Violation]] = {}  # the same by the names of their tasks

    def knows(self, correlation: str) -> bool:
        """Whether a violation has this id or correlation."""
        return correlation in self._violations

    def alert(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/error`` and other alerts: told, and that is all."""
        tell(event(EventKind.ALERT, envelope, first_line(envelope)))

    def violation(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻alert/violation``: pauses the related tasks and sets the alarm for the escalation."""
        violation = Violation(envelope, self._loop.related(envelope))
        for key in {violation.id, violation.group}:
            self._violations.setdefault(key, []).append(violation)
        self._open[violation.id] = violation
        for name in {task.name for task in violation.tasks if task.name is not None}:
            self._named.setdefault(name, {})[violation.id] = violation
        self._kept.alarms.set(violation, "escalate", now, self._kept.deadlines.escalate)
        tell(event(EventKind.VIOLATION, envelope, first_line(envelope)))
        for task in violation.tasks:
            task.violations.add(violation.id)
            if not task.paused:
                task.paused = True
                self._kept.alarms.clear(task)
                tell(event(EventKind.PAUSED, envelope, "pause this task", task))

    def escalate(self, envelope: Envelope, now: float | None, tell: Tell) -> None:
        """``⫻command/escalate``: settles a violation when it goes to somebody who can decide."""
        violation = self._escalated(envelope)
        if violation is None:
            tell(event(EventKind.UNCORRELATED, envelope, "no violation with this correlation_id or task is known"))
            return
        if envelope.receiver not in ESCALATION_RECEIVERS:
            text = f"a violation goes to {' or '.join(ESCALATION_RECEIVERS)}, not {envelope.receiver!r}"
            tell(event(EventKind.MISDIRECTED, envelope, text, subject=violation))
            return
        if not violation.escalated:
            violation.escalated = True
            self._settle(violation)
            self._kept.alarms.clear(violation)
            self._kept.forget_later(lambda: drop(self._violations, violation))
        tell(event(EventKind.ESCALATED, envelope, "", subject=violation))

    def _escalated(self, envelope: Envelope) -> Violation | None:
        """The violation that is escalated: by correlation, else by task; the oldest open one comes first."""
        if envelope.correlation_id is not None:
            found = self._violations.get(envelope.correlation_id, [])
        else:
            found = list(self._named.get(self._reading.task_of(envelope) or "", {}).values())
        return next((one for one in found if not one.escalated), found[0] if found else None)

    def _settle(self, violation: Violation) -> None:
        """Takes a violation that was escalated from those that wait; its tasks know it no more."""
        self._open.pop(violation.id, None)
        self._kept.forget_later(lambda: self._forget(violation))
        for task in violation.tasks:
            task.violations.discard(violation.id)

    def _forget(self, violation: Violation) -> None:
        for name in {task.name for task in violation.tasks if task.name is not None}:
            several = self._named.get(name, {})
            several.pop(violation.id, None)
            if not several:
                self._named.pop(name, None)

    def unfinished(self) -> list[Unfinished]:
        """The violations that are not escalated, in order."""
        return [Unfinished("violation", one.id, None, "the violation is not escalated") for one in self._open.values()]
