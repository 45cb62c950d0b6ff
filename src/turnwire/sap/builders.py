"""Tasks, Results and receipts from a few arguments: right by construction (sections 4 and 5)."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypedDict

from turnwire.contract import LIMITS
from turnwire.errors import CallError, DecodeError, WireError
from turnwire.json import text as json_text
from turnwire.sap.codec import decode, encode
from turnwire.sap.judgement import judge
from turnwire.sap.messages import (
    AgentError,
    CacheEvidence,
    CachePolicy,
    ConstitutionalContext,
    Issuer,
    JsonObject,
    Nack,
    Producer,
    Result,
    Task,
    fields_of,
    plain,
)
from turnwire.sap.spec import (
    UUID,
    VERSION,
    WIRE,
    AgentKind,
    Alignment,
    CacheMode,
    ErrorCode,
    PressureLevel,
    Priority,
    Status,
    write_time,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


def time_now() -> str:
    """The time of now as SAP writes it."""
    return _second(int(time.time()))


@lru_cache(2)
def _second(seconds: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


ContextLike = ConstitutionalContext | Mapping[str, Any]


class TaskFields(TypedDict, total=False):
    """The arguments by name of :func:`make_task`, for editors and type checkers."""

    issuer: str | Issuer
    context: ContextLike | None
    agent_id: str | None
    routing_hints: Mapping[str, Any] | None
    cache: CacheMode | str | CachePolicy | None
    output_schema: Mapping[str, Any] | None
    output_format: str | None
    priority: Priority | str | None
    deadline: datetime | str | None
    seconds: float | None
    tokens: float | None
    trace: bool | None
    reply_to: str | None
    expect_ack: bool | None
    parent: str | Task | None
    tags: Sequence[str] | None
    meta: Mapping[str, Any] | None
    task_id: str | None
    correlation_id: str | None


NOBODY = Issuer(agent_id="anonymous", agent_kind=AgentKind.USER)
"""The issuer of tasks for which no other is named."""


def make_task(capability: str, payload: Mapping[str, Any], **fields: Unpack[TaskFields]) -> Task:
    """Creates a Task with fresh ids, issued now. None values are omitted; without a ``context``, pressureLevel is
    instant.

    Args:
        issuer: the agentId of an agent, or an Issuer.
        context: a ConstitutionalContext, or its fields by their names on the wire.
        agent_id: the agent that should execute it. cache: a mode, or a whole CachePolicy.
        deadline: an aware datetime or its text. seconds, tokens: the budget.
        parent: the parent Task, or its id; the Task inherits its correlationId.
        fields: the fields of these names: routing_hints, output_schema, output_format, priority, trace, reply_to,
            expect_ack, tags, meta, task_id, correlation_id.
    """
    if unknown := fields.keys() - TaskFields.__annotations__.keys():
        raise TypeError(f"make_task() has no argument {min(unknown)!r}")
    get: Callable[[str], Any] = fields.get
    issuer, parent, context = fields.get("issuer", NOBODY), get("parent"), get("context")
    made: dict[str, Any] = {"protocolVersion": VERSION, "taskId": get("task_id") or str(uuid.uuid4())}
    if parent is not None:
        made["parentTaskId"] = parent.task_id if isinstance(parent, Task) else parent
    inherited = parent.correlation_id if isinstance(parent, Task) else str(uuid.uuid4())
    made["correlationId"] = get("correlation_id") or inherited
    made["issuedAt"] = time_now()
    made["issuer"] = issuer if isinstance(issuer, Issuer) else {"agentId": issuer, "agentKind": AgentKind.AGENT}
    made["target"] = {"agentId": get("agent_id"), "capability": capability, "routingHints": get("routing_hints")}
    made["constitutionalContext"] = {"pressureLevel": PressureLevel.INSTANT} if context is None else plain(context)
    if (cache := get("cache")) is not None:
        policy = cache if isinstance(cache, CachePolicy) else {"mode": cache}
        made["constitutionalContext"]["cachePolicy"] = policy
    made["payload"] = payload
    deadline = get("deadline")
    made["outputContract"] = {"schema": get("output_schema"), "format": get("output_format")}
    made["telemetry"] = {
        "priority": get("priority"),
        "deadline": write_time(deadline) if isinstance(deadline, datetime) else deadline,
        "budget": _given({"tokens": get("tokens"), "seconds": get("seconds")}),
        "trace": get("trace"),
    }
    made["replyTo"] = {"endpoint": get("reply_to"), "expectAck": get("expect_ack")}
    made |= {name: _given(made[name]) for name in ("target", "outputContract", "telemetry", "replyTo")}
    return Task.of(plain(_given({**made, "tags": get("tags"), "meta": get("meta")})))


def _given(fields: dict[str, Any]) -> dict[str, Any] | None:
    """The fields that say something; None if none does."""
    return {name: value for name, value in fields.items() if value is not None} or None


class _Nothing:
    """No output at all, which is not the output null."""

    def __repr__(self) -> str:
        return "NOTHING"

    def __reduce__(self) -> str:
        return "NOTHING"  # the one there is, in another process, too


NOTHING: Any = _Nothing()


@dataclass(frozen=True)
class Outcome:
    """The outcome of a task. Only given fields are written.

    output: any JSON value, or NOTHING. status: if None, derived from ``alignment`` and ``error``. alignment: if None,
    or VALID without policy checks, the outcome is not vetted. error: (code, message) or an AgentError. The other fields
    are those of section 4.2. Enum members may be given as text.
    """

    output: Any = NOTHING
    status: Status | str | None = None
    alignment: Alignment | str | None = None
    error: AgentError | tuple[str, str] | None = None
    pressure_readings: Mapping[str, float] | None = None
    policy_checks: Sequence[JsonObject | Mapping[str, Any]] | None = None
    violations: Sequence[JsonObject | Mapping[str, Any]] | None = None
    citations: Sequence[str] | None = None
    cache: CacheEvidence | None = None
    artifacts: Sequence[JsonObject | Mapping[str, Any]] | None = None
    metrics: Mapping[str, Any] | None = None
    next_actions: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None


def result_for(task: Task, outcome: Outcome, producer: str | Producer, *, now: datetime | None = None) -> Result:
    """Creates the Result of ``task``: its ids, the time, the outcome and its evidence.

    A success that is NON_CONSTITUTIONAL becomes FAILED with the code NON_CONSTITUTIONAL. A failure without a message
    gets its code as the message, and an escalation without next actions gets a review. The alignment is VALID only for
    a success whose outcome declares it, with policy checks that all passed and without violations; otherwise it is
    ESCALATE, with the policy check "not vetted" if there was no verdict or a failure claimed VALID. Raises ValueError
    for an invalid status or alignment.
    """
    if not isinstance(outcome, Outcome):
        raise TypeError(f"expected an Outcome, not {type(outcome).__name__}; write Outcome(output)")
    said = alignment_of(outcome)
    checks, violations = plain(outcome.policy_checks), plain(outcome.violations)
    status, error = _status_of(outcome, said)
    alignment = said or Alignment.ESCALATE
    clean = judge(Status.SUCCEEDED, Alignment.VALID, checks or (), violations or ()).valid
    if alignment is Alignment.VALID and not (clean and judge(status, alignment).valid):
        alignment = Alignment.ESCALATE
    if said is None or (said is Alignment.VALID is not alignment and clean):
        checks = [*(checks or ()), dict(NOT_VETTED)]
    asked, actions = task._fields, outcome.next_actions
    if status is Status.ESCALATED and not actions:
        actions = [{"action": "review", "taskId": asked["taskId"], "capability": asked["target"]["capability"]}]
    evidence = {
        "alignment": alignment,
        "pressureReadings": outcome.pressure_readings,
        "policyChecks": checks or [{"principle": "constitution", "status": alignment}],
        "violations": violations,
        "citations": outcome.citations,
        "cache": outcome.cache,
    }
    fields = {
        "protocolVersion": VERSION,
        "taskId": asked["taskId"],
        "correlationId": asked["correlationId"],
        "reportedAt": time_now() if now is None else write_time(now),
        "producer": {"agentId": producer, "agentKind": AgentKind.AGENT} if isinstance(producer, str) else producer,
        "status": status,
        "output": outcome.output,
        "artifacts": outcome.artifacts,
        "metrics": outcome.metrics,
        "constitutionalEvidence": _given(evidence),
        "error": error,
        "nextActions": actions,
        "meta": outcome.meta,
    }
    kept = {name: value for name, value in fields.items() if value is not None or name == "output"}
    if outcome.output is NOTHING:
        del kept["output"]
    return Result.of(plain(kept))


def _status_of(outcome: Outcome, said: Alignment | None) -> tuple[Status, AgentError | None]:
    """Status and error that fit each other, and what was said of the outcome (sections 5 and 8)."""
    error = outcome.error
    if isinstance(error, tuple):
        error = AgentError(code=error[0], message=error[1])
    usual = Status.ESCALATED if said is Alignment.ESCALATE else Status.SUCCEEDED
    status = Status(outcome.status or (usual if error is None else Status.FAILED))
    if status is Status.SUCCEEDED and said is Alignment.NON_CONSTITUTIONAL:
        status = Status.FAILED
        error = error or AgentError(code=ErrorCode.NON_CONSTITUTIONAL, message="the output is not constitutional")
    if status is Status.FAILED:
        error = AgentError(code=ErrorCode.INTERNAL) if error is None else error.replace()
        if not (error.message or "").strip():
            error.message = str(error.code)
    return status, error


def alignment_of(outcome: Outcome) -> Alignment | None:
    """The alignment from a capability or a vetter: its own, or the code of its error. None: no verdict, or VALID
    without a policy check."""
    if outcome.alignment is not None:
        said = Alignment(outcome.alignment)
        return None if said is Alignment.VALID and not outcome.policy_checks else said
    error = outcome.error
    code = error[0] if isinstance(error, tuple) else None if error is None else error.code
    return Alignment.NON_CONSTITUTIONAL if code == ErrorCode.NON_CONSTITUTIONAL else None


NOT_VETTED: Mapping[str, str] = {
    "principle": "constitution",
    "status": "not vetted",
    "notes": "not vetted: neither a vetter nor the capability returned an alignment with policy checks",
}
"""The policy check of an outcome that nobody judged; its alignment is ESCALATE."""


_SHOWN = 500  # characters of an error in a reason


class Refused(CallError):
    """A task was rejected before execution; ``nack`` contains the reason."""

    def __init__(self, nack: Nack) -> None:
        super().__init__(nack.reason)
        self.nack = nack

    @property
    def code(self) -> str:
        """The code of section 8 with which the reason begins."""
        return code_of(self.nack)


class Failed(CallError):
    """A task ended without success; see ``result``."""

    def __init__(self, result: Result) -> None:
        error = result.error
        super().__init__(f"{result.status}: {error.code or ''} {error.message or ''}" if error else str(result.status))
        self.result = result


def code_of(nack: Nack) -> str:
    """The code of section 8 with which the reason of a Nack begins."""
    return (nack.reason or "").partition(":")[0]


def nack(task: Task, code: ErrorCode | str, text: str) -> Nack:
    """The Nack of a task; the reason starts with a code of section 8."""
    fields = task.fields
    return Nack(
        message_id=str(fields.get("taskId", "")),
        correlation_id=_uuid(fields.get("correlationId")),
        reason=f"{code}: {text[:_SHOWN]}",
    )


def unreadable(data: bytes | str, error: WireError, *, message_id: str = "", correlation: str | None = None) -> Nack:
    """The Nack of what is not a Task. Its ids are those that the data still show, else those given (of a header)."""
    shown: Mapping[str, Any] = {}
    with suppress(DecodeError):
        shown = json_text.read_object(data, WIRE)
    return Nack(
        message_id=_uuid(shown.get("taskId")) or message_id,
        correlation_id=_uuid(shown.get("correlationId")) or _uuid(correlation),
        reason=f"{ErrorCode.INVALID_TASK}: {said(error)}"[:_SHOWN],
    )


def said(error: BaseException) -> str:
    """An error in words, its JSON pointer first; of one that is not of this program, the name of its type alone."""
    if not isinstance(error, WireError):
        return type(error).__name__
    path = getattr(error, "path", None)
    return f"{path}: {error}" if path else str(error)


def expects_ack(task: Task) -> bool:
    """replyTo.expectAck; true by default (section 4.1)."""
    return task.reply_to is None or task.reply_to.expect_ack is not False


def mode_of(task: Task) -> CacheMode:
    """The mode of the task's cachePolicy; without one, bypass: nothing is read and nothing written."""
    return CacheMode(fields_of(task)["constitutionalContext"].get("cachePolicy", {}).get("mode", "bypass"))


def _uuid(value: Any) -> str | None:
    return value if isinstance(value, str) and UUID.fullmatch(value) else None


OURS = LIMITS._replace(message=1 << 30)
"""Limits for what this program has written itself: it may be larger than what strangers may send."""


def thaw(text: str | bytes) -> Any:
    """The message of a text that this program wrote, as a new copy."""
    return decode(text, limits=OURS)


def copy_of(message: Task | Result) -> Any:
    """A message as its receiver gets it: written strictly and read again. Raises EncodeError."""
    return decode(encode(message), limits=OURS)
