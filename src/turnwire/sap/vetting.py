"""Vetting: functions of the user (vetters) judge whether the outcome of a task is constitutional (sections 4.2 and 6).

A verdict is an ``Alignment``. If several judge, the gravest verdict counts.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from turnwire.sap.builders import Outcome, alignment_of
from turnwire.sap.handlers import Cancelled, DeadlineExceeded, guarded
from turnwire.sap.judgement import judge
from turnwire.sap.messages import JsonObject, Result, Task, plain
from turnwire.sap.spec import SUCCESSES, Alignment, Status

_log = logging.getLogger("turnwire.sap")


@dataclass(frozen=True)
class Vetting:
    """The verdict of a vetter. policy_checks and violations are those of section 4.2; by default, one check follows
    from the alignment."""

    alignment: Alignment | str
    policy_checks: Sequence[JsonObject | Mapping[str, Any]] = ()
    violations: Sequence[JsonObject | Mapping[str, Any]] = ()


Opinion = Vetting | Alignment | str | None
Vetter = Callable[[Task, Result], "Opinion | Awaitable[Opinion]"]
"""(task, Result before vetting), both copies -> a verdict, alone or with its evidence; None: no opinion."""

Run = Callable[[Vetter], Awaitable[Any]]
"""Calls a vetter with copies of the task and its Result, within the task's time; raises what the vetter raises."""

_CHECK_STATUS = {Alignment.VALID: "PASS", Alignment.ESCALATE: "ESCALATE", Alignment.NON_CONSTITUTIONAL: "FAIL"}
"""The status of the policy check that is made for a verdict without one; the gravest verdict last."""


def vetters_of(vet: Vetter | Iterable[Vetter] | None) -> tuple[Vetter, ...]:
    """The tuple of one vetter, of several, or of none."""
    if vet is None:
        return ()
    return (vet,) if callable(vet) else tuple(vet)


async def vetted(outcome: Outcome, draft: Result, vetters: Sequence[Vetter], run: Run, task: Task) -> Outcome:
    """The outcome with the verdict and the evidence of the vetters. It stays as it is if there are none or it failed.

    draft: the Result before vetting. run: calls a vetter, see ``Run``. The capability's own verdict holds where it is
    graver. A vetter that raises counts as ESCALATE.
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
    gravest = max(words, key=list(_CHECK_STATUS).index)
    return replace(
        outcome,
        status=Status.ESCALATED if gravest is Alignment.ESCALATE else outcome.status,
        alignment=gravest,
        policy_checks=[*(outcome.policy_checks or ()), *(check for one in found for check in one.policy_checks)],
        violations=[*(outcome.violations or ()), *(item for one in found for item in one.violations)] or None,
    )


async def _ask(vetter: Vetter, run: Run, task: Task) -> Vetting | None:
    """The verdict of one vetter, ESCALATE if it raises. Raises DeadlineExceeded or Cancelled when the time is over."""
    name = getattr(vetter, "__name__", type(vetter).__name__)
    try:
        return guarded(_as_vetting, await run(vetter), name)
    except (DeadlineExceeded, Cancelled):  # the task's affair, not the vetter's
        raise
    except Exception as error:
        _log.exception("the vetter %s failed on task %s", name, task.task_id)
        check = {"principle": name, "status": "ERROR", "notes": f"the vetter failed: {type(error).__name__}"}
        return Vetting(Alignment.ESCALATE, [check])


def _as_vetting(found: Opinion, name: str) -> Vetting | None:
    """The verdict that a vetter returned, with a policy check under its name if it gave none; VALID with contrary
    evidence becomes ESCALATE. Raises ValueError for what is no alignment."""
    if found is None:
        return None
    made = found if isinstance(found, Vetting) else Vetting(Alignment(found))
    word = Alignment(made.alignment)
    checks = plain(made.policy_checks) or [{"principle": name, "status": _CHECK_STATUS[word]}]
    violations = plain(made.violations)
    if word is Alignment.VALID and not judge(Status.SUCCEEDED, word, checks, violations).valid:
        word = Alignment.ESCALATE  # its own evidence contradicts VALID
    return Vetting(word, checks, violations)
