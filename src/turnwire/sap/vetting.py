"""Vetting: whether an outcome is constitutional (sections 4.2 and 6). Of several verdicts the gravest counts."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwire.sap.builders import Outcome, alignment_of
from turnwire.sap.handlers import Cancelled, Overrun, guarded
from turnwire.sap.judgement import judge
from turnwire.sap.messages import JsonObject, Result, Task, plain
from turnwire.sap.spec import SUCCESSES, Alignment, Status

_log = logging.getLogger("turnwire.sap")


@dataclass(frozen=True)
class Vetting:
    """The verdict of a vetter. policy_checks and violations as in section 4.2; without a check, the alignment makes
    one."""

    alignment: Alignment | str
    policy_checks: Sequence[JsonObject | Mapping[str, Any]] = ()
    violations: Sequence[JsonObject | Mapping[str, Any]] = ()


Opinion = Vetting | Alignment | str | None
Vetter = Callable[[Task, Result], "Opinion | Awaitable[Opinion]"]
"""(task, its result as the capability made it), both copies -> what was found; None: no opinion."""

Run = Callable[[Vetter], Awaitable[Any]]
"""Runs one vetter on copies of task and Result, within the time left; raises what it raises."""

GRAVITY = (Alignment.VALID, Alignment.ESCALATE, Alignment.NON_CONSTITUTIONAL)
_STATUS = {Alignment.VALID: "PASS", Alignment.ESCALATE: "ESCALATE", Alignment.NON_CONSTITUTIONAL: "FAIL"}


def vetters_of(vet: Vetter | Iterable[Vetter] | None) -> tuple[Vetter, ...]:
    """One vetter, several or none as a tuple."""
    if vet is None:
        return ()
    return (vet,) if callable(vet) else tuple(vet)


async def vetted(outcome: Outcome, draft: Result, vetters: Sequence[Vetter], run: Run, task: Task) -> Outcome:
    """The outcome with what the vetters found; as it is where there are none, or where it failed already.

    The capability's own word holds where it is graver. A vetter that raises has not said that all is well: ESCALATE.
    """
    if not vetters or draft.status not in SUCCESSES:
        return outcome
    found = [one for vetter in vetters if (one := await _ask(vetter, run, task)) is not None]
    own = alignment_of(outcome)
    words = [Alignment(one.alignment) for one in found]
    if not words:
        return outcome if own is not Alignment.VALID else replace(outcome, alignment=None)
    if own is not None:
        words.append(own)
    gravest = max(words, key=GRAVITY.index)
    escalated = gravest is Alignment.ESCALATE
    # the escalation path of section 8: somebody looks at it
    review = {"action": "review", "taskId": task.task_id, "capability": task.target.capability}
    return replace(
        outcome,
        status=Status.ESCALATED if escalated else outcome.status,
        alignment=gravest,
        policy_checks=[*(outcome.policy_checks or ()), *(check for one in found for check in one.policy_checks)],
        violations=[*(outcome.violations or ()), *(item for one in found for item in one.violations)] or None,
        next_actions=outcome.next_actions or ([review] if escalated else None),
    )


async def _ask(vetter: Vetter, run: Run, task: Task) -> Vetting | None:
    name = getattr(vetter, "__name__", type(vetter).__name__)
    try:
        return guarded(_vetting, await run(vetter), name)
    except (Overrun, Cancelled):  # the task's affair, not the vetter's
        raise
    except Exception as error:
        _log.exception("the vetter %s failed on task %s", name, task.task_id)
        check = {"principle": name, "status": "ERROR", "notes": f"the vetter failed: {type(error).__name__}"}
        return Vetting(Alignment.ESCALATE, [check])


def _vetting(found: Opinion, name: str) -> Vetting | None:
    """The finding that a vetter gave, with a check of its name where it gave none. Raises ValueError for what is not a
    word."""
    if found is None:
        return None
    made = found if isinstance(found, Vetting) else Vetting(Alignment(found))
    word = Alignment(made.alignment)
    checks = plain(made.policy_checks) or [{"principle": name, "status": _STATUS[word]}]
    violations = plain(made.violations)
    if word is Alignment.VALID and not judge(Status.SUCCEEDED, word, checks, violations).valid:
        word = Alignment.ESCALATE  # it found something, whatever it says
    return Vetting(word, checks, violations)
