"""The meaning of Results: the status machine of section 5, and the judgement of an outcome as one table: whether it is
VALID, may be cached, is a lesson, or is contradictory (sections 4.2, 5, 6 and 7).

Vetting, Results, the cache, learning and the checklist all use this table; conversion copies the given values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from hashlib import sha256
from typing import Any, NamedTuple

from turnwire.errors import EncodeError, Issue, Reason, RuleError
from turnwire.json.text import canonical, write
from turnwire.sap.messages import JsonObject, Message, Result, Task, fields_of
from turnwire.sap.spec import TERMINAL, TRANSITIONS, WIRE, Alignment, Status, same_id, uuid_key

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


def mismatches(task: Task, answer: Message) -> Iterator[Issue]:
    """The ids of an answer that are not those of the task (section 5)."""
    asked, told = fields_of(task), fields_of(answer)
    if isinstance(answer, Result) and not same_id(told["taskId"], asked.get("taskId")):
        yield Issue(Reason.WRONG_TASK, "/taskId", "warning", "the result answers another task (section 5)")
    if not same_id(told["correlationId"], asked.get("correlationId")):
        text = "the correlationId is not the task's (section 5)"
        yield Issue(Reason.WRONG_CORRELATION, "/correlationId", "warning", text)


def require_answer(task: Task, result: Result) -> None:
    """Raises RuleError(wrong_task, wrong_correlation) if a Result does not belong to the task."""
    for reason, where, _, text in mismatches(task, result):
        rule = "task-id" if reason is Reason.WRONG_TASK else "correlation"
        raise RuleError(reason, text, rule=rule, wire=WIRE, path=str(where))


# --- the status machine (section 5) ---


def content_of(message: JsonObject) -> bytes:
    """Bytes that are equal for equal messages, whatever the order of their keys and the case of their ids."""
    fields = message._fields
    ids = {name: fields[name].lower() for name in _IDS if isinstance(fields.get(name), str)}
    return form_of({**fields, **ids})


def form_of(value: Any) -> bytes:
    """Canonical JSON; where a value has no such form (integers beyond 2**53), its plain text."""
    try:
        return canonical(value)
    except EncodeError:
        return write(value).encode()


_IDS = ("taskId", "correlationId", "parentTaskId")


@dataclass(slots=True)
class TaskProgress:
    """The progress of one task. task: None if only results were seen; status: None before the first result.

    digests: SHA-256 of all its results, since queues may redeliver them. place: where the task is, as the host says it.
    acknowledged: by a receipt; refused: by a Nack, and not sent again.
    """

    task_id: str
    correlation_id: str
    task: Task | None = None
    status: Status | None = None
    digests: set[bytes] = field(default_factory=set)
    place: Any = None
    acknowledged: bool = False
    refused: bool = False

    @property
    def done(self) -> bool:
        """True if the state is terminal."""
        return self.status in TERMINAL


class Lifecycle:
    """Tracks tasks until a terminal state; ids and correlation must stay the same.

    Args:
        strict: raise RuleError if a rule is violated; False returns a warning and keeps the state.
    """

    def __init__(self, *, strict: bool = True) -> None:
        self.strict = strict
        self._tasks: dict[str, TaskProgress] = {}  # in the order in which they were first seen

    def feed(self, message: Task | Result) -> list[Issue]:
        """Adds the next task or result. A repeated one changes nothing.

        Raises RuleError (when strict): bad_transition, wrong_correlation, duplicate (a task id with other content).
        Returns issues, with an "info" of unknown_task for a result of an unknown task.
        """
        if isinstance(message, Task):
            return self._feed_task(message)
        if isinstance(message, Result):
            return self._feed_result(message)
        raise TypeError(f"expected a Task or a Result, not {type(message).__name__}")

    def _feed_task(self, task: Task) -> list[Issue]:
        name, correlation = task._fields["taskId"], task._fields["correlationId"]
        if (known := self._tasks.get(uuid_key(name))) is None:
            known = self._tasks[uuid_key(name)] = TaskProgress(name, correlation)
        if known.task is not None and content_of(known.task) != content_of(task):
            return self._broken(Reason.DUPLICATE, "/taskId", "another task already has this id", "task-id")
        if known.task is None and not same_id(known.correlation_id, correlation):
            text = "its results had another one"
            return self._broken(Reason.WRONG_CORRELATION, "/correlationId", text, "correlation")
        known.task = known.task or task
        return []

    def _feed_result(self, result: Result) -> list[Issue]:
        name, correlation = result._fields["taskId"], result._fields["correlationId"]
        issues = []
        if (known := self._tasks.get(uuid_key(name))) is None:
            known = self._tasks[uuid_key(name)] = TaskProgress(name, correlation)
            issues.append(Issue(Reason.UNKNOWN_TASK, "/taskId", "info", "the task of this result was not seen"))
        if not same_id(known.correlation_id, correlation):
            text = "the correlationId of the task must be preserved (section 5)"
            return self._broken(Reason.WRONG_CORRELATION, "/correlationId", text, "correlation")
        digest = sha256(content_of(result)).digest()
        if digest in known.digests:
            return issues
        status = Status(result._fields["status"])
        if status not in TRANSITIONS[known.status]:
            text = f"{known.status} is not followed by {status} (section 5)"
            return self._broken(Reason.BAD_TRANSITION, "/status", text, "status")
        known.status = status
        known.digests.add(digest)
        return issues

    def _broken(self, reason: Reason, where: str, text: str, rule: str) -> list[Issue]:
        if self.strict:
            raise RuleError(reason, text, rule=rule, wire=WIRE, path=where)
        return [Issue(reason, where, "warning", text)]

    def __getitem__(self, task_id: str) -> TaskProgress:
        """The progress of a task. Raises KeyError for one that was never seen."""
        return self._tasks[uuid_key(task_id)]

    def __contains__(self, task_id: str) -> bool:
        return uuid_key(task_id) in self._tasks

    def forget(self, task_id: str) -> None:
        """Forgets a task, so that a long-lived lifecycle stays small."""
        self._tasks.pop(uuid_key(task_id), None)
