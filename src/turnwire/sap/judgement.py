"""The judgement of an outcome as one table: whether it is VALID, may be cached, is a lesson, or is contradictory.

Vetting, Results, the cache, learning and the checklist all use this table; conversion copies the given values (sections
4.2, 5, 6 and 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, NamedTuple

from turnwire.errors import Reason, RuleError
from turnwire.sap.messages import Result, Task, fields_of
from turnwire.sap.spec import TERMINAL, WIRE, Alignment, Status
from turnwire.sap.times import same_id

FAILED_CHECKS = frozenset({"fail", "failed", "failure", "error", "violated", "violation", "non_constitutional"})
"""Statuses of policy checks that did not pass, without case: the document leaves the words open (section 4.2)."""


class Lesson(Enum):
    """The lesson of an outcome for the learning loop, about the pressure of its task."""

    GOOD = "good"
    BAD = "bad"
    SILENT = "silent"


class Judgement(NamedTuple):
    """The answers about one outcome.

    valid: its alignment may be VALID. stored: a cache may store it (if it is not valid, only a cache with
    ``unvetted``). lesson: for the learning loop. objection: the contradiction in such a Result, or ""; doubt: a
    possible contradiction.
    """

    valid: bool = False
    stored: bool = False
    lesson: Lesson = Lesson.SILENT
    objection: str = ""
    doubt: str = ""


_NOTHING, _CHECK, _VIOLATION = _FOUND = ("nothing", "check", "violation")
"""The worst that evidence shows against an outcome: nothing, a policy check that failed, or a violation."""
_ANY_STATUS, _ANY_ALIGNMENT = tuple(Status), tuple(Alignment)
_ENDS = tuple(status for status in Status if status in TERMINAL)
_PROGRESS = (Status.QUEUED, Status.RUNNING)
_SUCCEEDED, _PARTIAL, _FAILED = (Status.SUCCEEDED,), (Status.PARTIAL,), (Status.FAILED,)
_VALID, _NON_CONSTITUTIONAL, _ESCALATE = (Alignment.VALID,), (Alignment.NON_CONSTITUTIONAL,), (Alignment.ESCALATE,)
_BAD, _SILENT = Judgement(lesson=Lesson.BAD), Judgement()

ROWS: tuple[tuple[tuple[Status, ...], tuple[Alignment, ...], tuple[str, ...], Judgement], ...] = (
    (_ANY_STATUS, _ANY_ALIGNMENT, _FOUND, _SILENT),
    # What ended badly is a lesson where somebody said so or found a violation, and only there.
    (_ENDS, _ANY_ALIGNMENT, (_VIOLATION,), _BAD),
    (_ENDS, _NON_CONSTITUTIONAL, _FOUND, _BAD),
    # What nobody vetted.
    (_SUCCEEDED, _ESCALATE, (_NOTHING,), Judgement(stored=True)),
    # What is VALID.
    (_SUCCEEDED, _VALID, (_NOTHING,), Judgement(valid=True, stored=True, lesson=Lesson.GOOD)),
    (_PARTIAL, _VALID, (_NOTHING,), Judgement(valid=True, lesson=Lesson.GOOD)),
    # What contradicts itself.
    (_SUCCEEDED, _NON_CONSTITUTIONAL, _FOUND, _BAD._replace(objection="it SUCCEEDED and is NON_CONSTITUTIONAL")),
    (_FAILED, _VALID, (_NOTHING,), Judgement(doubt="it FAILED but is VALID")),
    (_ANY_STATUS, _VALID, (_CHECK,), Judgement(objection="it is VALID, but a policy check failed")),
    (_PROGRESS, _VALID, (_VIOLATION,), Judgement(objection="it is VALID but has violations")),
    (_ENDS, _VALID, (_VIOLATION,), _BAD._replace(objection="it is VALID but has violations")),
)
"""(statuses, alignments, what was found, the answers); of several rows that fit, the last."""

_TABLE = {
    (status.value, alignment.value, one): answers
    for statuses, alignments, found, answers in ROWS
    for status in statuses
    for alignment in alignments
    for one in found
}


def judge(
    status: str,
    alignment: str,
    policy_checks: Iterable[Mapping[str, Any]] = (),
    violations: Iterable[Mapping[str, Any]] = (),
    *,
    cached: bool = False,
) -> Judgement:
    """The judgement of an outcome by its status and its evidence.

    cached: it came from the cache, so it proves nothing new. An invalid status or alignment proves nothing, either.
    """
    found = _VIOLATION if violations else _NOTHING
    if found is _NOTHING:
        for check in policy_checks:
            if str(check.get("status", "")).strip().casefold() in FAILED_CHECKS:
                found = _CHECK
                break
    answers = _TABLE.get((status, alignment, found), _SILENT)
    return answers._replace(stored=False, lesson=Lesson.SILENT) if cached else answers


def judged(result: Result) -> Judgement:
    """The judgement of a Result of its own task."""
    fields = fields_of(result)
    evidence = fields["constitutionalEvidence"]
    return judge(
        fields["status"],
        evidence["alignment"],
        evidence.get("policyChecks", ()),
        evidence.get("violations", ()),
        cached=is_cached(result),
    )


def is_cached(result: Result) -> bool:
    """True if a Result came from a cache."""
    return fields_of(result)["constitutionalEvidence"].get("cache", {}).get("hit") is True


def require_answer(task: Task, result: Result) -> None:
    """Raises RuleError(wrong_task, wrong_correlation) if a Result does not belong to the task (section 5)."""
    answer, asked = fields_of(result), fields_of(task)
    if not same_id(answer["taskId"], asked["taskId"]):
        raise RuleError(Reason.WRONG_TASK, "the result answers another task", rule="task-id", wire=WIRE)
    if not same_id(answer["correlationId"], asked["correlationId"]):
        raise RuleError(Reason.WRONG_CORRELATION, "the result has another correlationId", rule="correlation", wire=WIRE)
