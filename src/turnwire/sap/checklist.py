"""The checklist of section 12, and the status machine of section 5, for objects and whole task histories."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from turnwire import checklists
from turnwire.checklists import Checklist as Checklist, Clause, Specification, Untested
from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.registry import reading
from turnwire.sap import judgement
from turnwire.sap.judgement import Lifecycle, TaskProgress
from turnwire.sap.learning import LearningLoop
from turnwire.sap.messages import Ack, Nack, Result, Task
from turnwire.sap.rules import check, is_certain
from turnwire.sap.schema import output_issues
from turnwire.sap.spec import TERMINAL, CacheMode, ErrorCode, Status, read_time, same_id, uuid_key

WIRE = "sap"
CLAUSES = (
    Clause("forms", "3", "Valid ids and timestamps"),
    Clause("required", "4", "Required fields present"),
    Clause("context", "4.1", "Constitutional context provided"),
    Clause("evidence", "4.2", "Result includes constitutional evidence"),
    Clause("cache", "6", "Cache policy honored"),
    Clause("learning", "7", "Learning signals emitted"),
    Clause("correlation", "10", "Transport preserves correlation"),
    Clause("status", "5", "Statuses change only as allowed"),
    Clause("processing", "5", "A task is acknowledged or has a Result, and ends"),
    Clause("version", "2", "protocolVersion is 2.0"),
    Clause("values", "4", "Fields have the types and values of their tables"),
    Clause("errors", "8", "FAILED and a Nack have a reason; an escalation has next actions"),
    Clause("output", "4.2", "The output matches outputContract"),
    Clause("deadline", "4.1", "Results arrive before the deadline of their task"),
    Clause("secrets", "11", "No secrets in payloads, no credentials in URIs"),
)
"""Section 12 line by line, then what it does not list."""

UNTESTED = (
    Untested("2", "Producers make no breaking change without a new version", "a log does not show changes"),
    Untested("2", "Consumers ignore unknown fields", "a log does not show what a consumer does with a field"),
    Untested("4.1", "routingHints, tags and meta have the intended effect", "their form is not defined"),
    Untested("4.1", "telemetry: priority, budget and trace are obeyed", "a log shows no queue and no resources"),
    Untested("4.2", "Evidence, citations and metrics are true", "a log shows only claims"),
    Untested("4.2", "output has the format that outputContract names", "the list of formats is open"),
    Untested("5", "Producers validate before dispatch", "sections 3 and 4 cover the messages that were sent"),
    Untested("6", "The cache key is the hash that section 6 defines", "its essence is configurable"),
    Untested("6", "With mustAlign, a hit is checked again", "a successful check leaves no trace"),
    Untested("6", "Records are written after validation, immutable, versioned", "the cache is not part of a log"),
    Untested("7", "Signals are aggregated; learning changes no old record", "loop and cache are not part of a log"),
    Untested("7", "Learnings are emitted to the Master Librarian", "the librarian is not part of a log"),
    Untested("10", "Transports persist the transcript, send X-Correlation-Id", "a log of messages shows no headers"),
    Untested("11", "Consumers authorise issuers", "messages do not contain the identity from the transport"),
    Untested("11", "Stores are append-only with tamper-evident digests", "turnwire verify checks stores"),
)
"""Demands of the specification that no log can show."""

REASONS: dict[Reason, tuple[str, ...]] = {
    **dict.fromkeys((Reason.BAD_UUID, Reason.BAD_TIMESTAMP, Reason.TIMESTAMP_FORM), ("forms",)),
    Reason.MISSING_FIELD: ("required",),
    Reason.MISSING_MESSAGE: ("required", "errors"),
    Reason.UNSUPPORTED_VERSION: ("version",),
    **dict.fromkeys((Reason.WRONG_TYPE, Reason.UNKNOWN_VALUE, Reason.BAD_ENUM, Reason.BAD_DIGEST), ("values",)),
    **dict.fromkeys((Reason.OUT_OF_RANGE, Reason.NOT_FINITE, Reason.NEGATIVE), ("values",)),
    **dict.fromkeys((Reason.EMPTY_VALUE, Reason.NO_NEXT_ACTIONS, Reason.UNKNOWN_CODE), ("errors",)),
    **dict.fromkeys((Reason.SECRET, Reason.CREDENTIALS_IN_URI, Reason.UNUSUAL_URI), ("secrets",)),
}
"""Reason that reading and ``check`` find -> the clauses. All other refusals of reading go with "required"."""
_CERTAIN = frozenset({Reason.SECRET, Reason.CREDENTIALS_IN_URI})
_ORDER = frozenset({Reason.BAD_TRANSITION, Reason.DUPLICATE})
_LEVEL = "/constitutionalContext/pressureLevel"

Message = Task | Result | Ack | Nack
Finding = tuple[str, str, bool]
"""A clause, words, and whether it is only doubtful."""


class SapChecklist(checklists.RecordChecklist):
    """Checks tasks, results and receipts in the order in which they were seen.

    A task without an Ack or a Result, or that has not ended, is open where the input ends; past its deadline, on the
    clock of the messages or as of ``now``, that is a fault.

    Args:
        learning: where signals should have been recorded; by default, signals are those in Results.
        now: the moment as of which the rest is judged, seconds since 1970-01-01 UTC.
    """

    def __init__(self, learning: LearningLoop | None = None, now: float | None = None) -> None:
        super().__init__()
        self._recorded = None if learning is None else {signal.task_id.lower() for _, signal in learning.signals()}
        self._now = None if now is None else datetime.fromtimestamp(now, UTC)
        self._clock: datetime | None = None
        self._lifecycle = Lifecycle(strict=False)
        self._tasks = deque[tuple[TaskProgress, Task]]()  # in the order in which they were sent
        self._correlations: dict[str, TaskProgress | None] = {}  # correlationId -> its task, None for several
        self._early = deque[tuple[int, int | None, Result | Ack | Nack]]()  # what answers no task that was seen before

    def message(self, message: Message, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one object."""
        expect(message, (Task, Result, Ack, Nack), "expected a SAP object or its text")
        self.applied |= _OF_ALL
        self._tell(self._by_itself(message), line, offset)
        if isinstance(message, Task):
            self._tell(self._task(message, line, offset), line, offset)
            return
        known, answers = self._asked(message)
        self._tell(self._answer(message, known), line, offset)
        if isinstance(message, Result):
            self._tell(self._follow(message), line, offset)
        if answers:
            self.applied.add("correlation")
        else:
            self._early.append((line, offset, message))

    def _tell(self, findings: Iterable[Finding], line: int, offset: int | None) -> None:
        for clause, text, is_doubtful in findings:
            (self.doubt if is_doubtful else self.fault)(clause, line, text, offset)

    def _by_itself(self, message: Message) -> Iterator[Finding]:
        """The findings of a message alone."""
        for issue in check(message) if self._issues is None else self._issues:
            in_context = issue.severity == "warning" and str(issue.where).startswith("/constitutionalContext/")
            for clause in (*REASONS.get(issue.reason, ()), *(("context",) if in_context else ())):
                yield clause, f"{issue.where}: {issue.text}", _is_doubtful(issue, message)
        if isinstance(message, Nack):
            self.applied.add("errors")
            if not message.reason:
                yield "errors", "a Nack must have a reason (section 4.3)", False
        if not isinstance(message, Result):
            return
        fields, task = message._fields, message.task_id
        evidence, ended = fields["constitutionalEvidence"], fields["status"] in TERMINAL
        self.applied |= _OF_ENDS if ended else _OF_RESULTS
        if fields["status"] in ("FAILED", "ESCALATED", "PARTIAL") or "error" in fields:
            self.applied.add("errors")
        answers = judgement.judged(message)
        if found := answers.objection or answers.doubt:
            yield "evidence", f"the result of task {task}: {found}", not answers.objection
        if ended and self._recorded is not None and task.lower() not in self._recorded:
            yield "learning", f"no signal of task {task}", False
        signals = any(map(fields.get, ("metrics", "nextActions"))) or any(
            map(evidence.get, ("policyChecks", "violations"))
        )
        if ended and self._recorded is None and not signals:
            yield "learning", f"the result of task {task} carries no signal", False

    def _task(self, task: Task, line: int, offset: int | None) -> Iterator[Finding]:
        self.applied |= _OF_TASKS
        yield from self._follow(task)
        known, correlation = self._lifecycle[task._fields["taskId"]], task._fields["correlationId"].lower()
        if known.place is None:
            known.task, known.place = known.task or task, (line, offset)
            self._tasks.append((known, known.task))
            self._correlations[correlation] = None if correlation in self._correlations else known
        else:  # it is sent once more
            known.refused = False

    def _asked(self, message: Result | Ack | Nack) -> tuple[TaskProgress | None, bool]:
        """The task that a message answers, if it was seen, and whether it answers any: a receipt may also name the
        correlation of one, or of several."""
        fields, is_result = message._fields, isinstance(message, Result)
        known = self._lifecycle._tasks.get(uuid_key(fields["taskId" if is_result else "messageId"]))
        if known is not None and known.place is not None:
            return known, True
        if is_result:
            return None, False
        correlation = (fields.get("correlationId") or "").lower()
        return self._correlations.get(correlation), correlation in self._correlations

    def _answer(self, message: Result | Ack | Nack, known: TaskProgress | None) -> Iterator[Finding]:
        """The findings of an answer by its task; none where no task was seen, or several have its correlation."""
        if known is None or (task := known.task) is None:
            return
        if not same_id(message._fields.get("correlationId"), task._fields["correlationId"]):
            text = f"{message.kind} of {known.task_id} has another correlationId than its task"
            yield "correlation", text, False
        if isinstance(message, Result):
            yield from self._outcome(task, known.refused, message)
        else:
            known.acknowledged = True
            known.refused = known.refused or isinstance(message, Nack)

    def _outcome(self, task: Task, refused: bool, result: Result) -> Iterator[Finding]:
        fields = result._fields
        self.applied.add("cache")
        for text in _cache_faults(task._fields, fields):
            yield "cache", text, False
        if refused:
            yield "status", f"task {result.task_id} was rejected by a Nack", False
        if "output" in fields and "schema" in task._fields.get("outputContract", ()):
            self.applied.add("output")
            for issue in output_issues(fields["output"], task):
                yield "output", f"{issue.where}: {issue.text}", issue.severity == "info"
        deadline = _deadline(task)
        if deadline is not None and fields["status"] in TERMINAL:
            self.applied.add("deadline")
            timed_out = fields.get("error", {}).get("code") == ErrorCode.TIMEOUT
            if (reported := result.time) is not None and reported > deadline and not timed_out:
                yield "deadline", f"reported after the deadline of task {result.task_id}", False

    def _follow(self, message: Task | Result) -> Iterator[Finding]:
        """The findings in the order of statuses, by the clock of the messages."""
        for issue in self._lifecycle.feed(message):
            if issue.reason in _ORDER:
                yield "status", issue.text, False
        if (moment := message.time) is not None and (self._clock is None or moment > self._clock):
            self._clock = moment

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks a damaged record: it breaks the clause that its reason goes with. What only looks like a message is
        doubtful."""
        text = f"{error.path}: {error.text}" if error.path else f"{error.reason}: {error.text}"
        if error.reason is Reason.LOOK_ALIKE:
            self.doubt("required", line, text, offset)
            return
        self.applied.update(("forms", "required"))
        self.fault(REASONS.get(error.reason, ("required",))[0], line, text, offset)
        if (error.path or "").startswith("/constitutionalEvidence"):
            self.fault("evidence", line, text, offset)

    def forget(self, room: int) -> None:
        """Forgets the oldest tasks beyond ``room``, and the oldest answers to tasks that were not seen. A task that has
        not ended stays open."""
        while len(self._tasks) > room:
            known, _ = self._tasks.popleft()
            self._lifecycle.forget(known.task_id)
            if not known.refused and not known.done:
                self.give_up("processing", known.place[0])
        while len(self._correlations) > room:
            del self._correlations[next(iter(self._correlations))]
        while len(self._early) > room:
            early = self._early.popleft()[2]
            if isinstance(early, Result) and self._asked(early)[0] is None:
                self._lifecycle.forget(early.task_id)

    def end(self) -> None:
        """Checks results by tasks that came later, and what is unfinished."""
        for line, offset, early in self._early:
            known, answers = self._asked(early)
            self._tell(self._answer(early, known), line, offset)
            if answers:
                self.applied.add("correlation")
            elif self._tasks:
                name = early.task_id if isinstance(early, Result) else early.message_id
                text = f"a{'n' * (early.kind == 'Ack')} {early.kind} answers {name}, which is the id of no task here"
                self.fault("correlation", line, text, offset)
        moment = self._now or self._clock
        for known, task in self._tasks:
            if known.refused or known.done:
                continue
            deadline, (line, offset) = _deadline(task), known.place
            if deadline is not None and moment is not None and deadline < moment:
                self.fault("deadline", line, f"task {task.task_id} has no final Result at its deadline", offset)
                continue
            said = "is acknowledged" if known.acknowledged else "has neither Ack nor Result"
            text = f"task {task.task_id} {said if known.status is None else f'is {known.status}'}"
            self.left("processing", line, text, offset, task.issued_at)
        super().end()


def _deadline(task: Task) -> datetime | None:
    stamp = task._fields["telemetry"].get("deadline") if "telemetry" in task._fields else None
    found = read_time(stamp) if stamp is not None else None
    return None if found is None else found[0]


def _is_doubtful(issue: Issue, message: Message) -> bool:
    """True if an issue is told and breaks no clause: one that may well be fine, unless it is a secret for certain; and
    a context without pressureLevel that says its pressure by principle, as the Task that section 4.1 prints."""
    where = str(issue.where)
    if where == _LEVEL and issue.reason is Reason.MISSING_FIELD:
        return bool(message._fields["constitutionalContext"].get("pressure"))
    return issue.severity == "info" and not (issue.reason in _CERTAIN and is_certain(message._fields, where))


_OF_ALL = frozenset(("forms", "required", "version", "values"))
_OF_TASKS = frozenset(("context", "processing", "secrets"))
_OF_RESULTS = frozenset(("evidence", "status"))
_OF_ENDS = _OF_RESULTS | {"learning"}
CHECKLIST = Specification(CLAUSES, UNTESTED, SapChecklist, options=("learning", "now"))
"""The specification by which SAP is judged."""


def conformance(
    *messages: Message | str | bytes, learning: LearningLoop | None = None, now: float | None = None
) -> Checklist:
    """Checks objects, or the history of tasks, against section 12 and other rules. Faults include the number of their
    message, from 1.

    Args:
        messages: tasks, results and receipts in order, or their texts.
        learning: where signals should have been recorded; by default, signals are those in Results.
        now: the time for deadlines, in seconds since 1970-01-01 UTC; by default that of the messages.
    """
    found: Checklist = reading("located").conformance(WIRE, enumerate(messages, 1), learning=learning, now=now)
    return found


def _cache_faults(task: dict[str, Any], result: dict[str, Any]) -> Iterator[str]:
    if result["status"] not in TERMINAL:
        return
    policy = task["constitutionalContext"].get("cachePolicy", {})
    mode = policy.get("mode", CacheMode.BYPASS.value)
    cache = result["constitutionalEvidence"].get("cache", {})
    hit = cache.get("hit") is True
    missed = result.get("error", {}).get("code") == ErrorCode.CACHE_MISS
    if mode == CacheMode.BYPASS and hit:
        yield "the cache was used although the task bypasses it"
    if mode == CacheMode.ONLY and result["status"] in (Status.SUCCEEDED, Status.PARTIAL) and not hit:
        yield 'the output was computed although the mode is "only"'
    if missed and mode != CacheMode.ONLY:
        yield f'CACHE_MISS is for the mode "only", this is "{mode}"'
    if not hit or "cachePolicy" not in task["constitutionalContext"]:
        return
    age, most = cache.get("ageSec"), policy.get("maxAgeSec")
    if cache.get("cacheKey") is None or age is None:
        yield "a hit is shown with cacheKey and ageSec"
    if most is not None and age is not None and age >= most:
        yield f"the record is {age} s old, and the request was for less than {most} s"
