"""The escalation flow (section 003): a violation pauses the related tasks and waits for ``⫻command/escalate``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnwire.kick.spec import ESCALATION_RECEIVERS, EventKind
from turnwire.kick.tracking import Kept, Reading, Tell, Violation, drop, event, first_line

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
        self._kept.alarms.set(violation, "escalate", now, self._kept.deadlines.escalate)
        tell(event(EventKind.VIOLATION, envelope, first_line(envelope)))
        for task in violation.tasks:
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
            self._kept.alarms.clear(violation)
            self._kept.forget_later(lambda: drop(self._violations, violation))
        tell(event(EventKind.ESCALATED, envelope, "", subject=violation))

    def _escalated(self, envelope: Envelope) -> Violation | None:
        """The violation that is escalated: by correlation, else by task; the oldest open one comes first."""
        if envelope.correlation_id is not None:
            found = self._violations.get(envelope.correlation_id, [])
        else:
            name = self._reading.task_of(envelope)
            found = [
                one
                for key, several in self._violations.items()
                for one in several
                if one.id == key and name is not None and any(task.name == name for task in one.tasks)
            ]
        return next((one for one in found if not one.escalated), found[0] if found else None)
