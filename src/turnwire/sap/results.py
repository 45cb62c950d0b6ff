"""From a task and what came of it to a right Result (section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from turnwire.sap.members import Record, plain
from turnwire.sap.messages import AgentError, CacheEvidence, Producer, Result, Task
from turnwire.sap.spec import VERSION, AgentKind, Alignment, ErrorCode, Status
from turnwire.sap.times import now as time_now
from turnwire.sap.times import write_time


class _Nothing:
    """No output at all, which is not the output null."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()


@dataclass(frozen=True)
class Outcome:
    """What a capability made of a task. Only what is given is written.

    output: anything JSON has, or NOTHING. status: where None, from ``alignment`` and ``error``. alignment: where None,
    or VALID without policy checks, the outcome is not vetted. error: (code, message) or an AgentError. The rest as in
    section 4.2. Members of enums may be given as their texts.
    """

    output: Any = NOTHING
    status: Status | str | None = None
    alignment: Alignment | str | None = None
    error: AgentError | tuple[str, str] | None = None
    pressure_readings: Mapping[str, float] | None = None
    policy_checks: Sequence[Record | Mapping[str, Any]] | None = None
    violations: Sequence[Record | Mapping[str, Any]] | None = None
    citations: Sequence[str] | None = None
    cache: CacheEvidence | None = None
    artifacts: Sequence[Record | Mapping[str, Any]] | None = None
    metrics: Mapping[str, Any] | None = None
    next_actions: Sequence[Mapping[str, Any]] | None = None
    meta: Mapping[str, Any] | None = None


def producer_of(agent: str | Producer) -> Producer:
    """A producer from its agentId, or itself."""
    return Producer(agent_id=agent, agent_kind=AgentKind.AGENT) if isinstance(agent, str) else agent


def result_for(task: Task, outcome: Outcome, producer: str | Producer, *, now: datetime | None = None) -> Result:
    """The Result of ``task``: its ids, the time, the outcome and its evidence; right by construction.

    A success that is NON_CONSTITUTIONAL becomes FAILED with the code NON_CONSTITUTIONAL; a failure without a message
    gets its code for one. The alignment is VALID only of a success whose outcome says so and brings policy checks;
    without a judgement it is ESCALATE, with the policy check "not vetted". Raises ValueError for a status or an
    alignment that is none.
    """
    if not isinstance(outcome, Outcome):
        raise TypeError(f"an Outcome becomes a Result, not {type(outcome).__name__}; write Outcome(output)")
    said = said_of(outcome)
    status, alignment, error = _settled(outcome, said)
    evidence: dict[str, Any] = {"alignment": alignment.value}
    value: Any
    for name, value in (
        ("pressureReadings", outcome.pressure_readings),
        ("policyChecks", _checks(outcome, said, alignment)),
        ("violations", outcome.violations),
        ("citations", outcome.citations),
        ("cache", outcome.cache),
    ):
        if value is not None:
            evidence[name] = plain(value)
    fields: dict[str, Any] = {
        "protocolVersion": VERSION,
        "taskId": task.fields["taskId"],
        "correlationId": task.fields["correlationId"],
        "reportedAt": time_now() if now is None else write_time(now),
        "producer": plain(producer_of(producer).fields),
        "status": status.value,
    }
    if outcome.output is not NOTHING:
        fields["output"] = plain(outcome.output)
    for name, value in (("artifacts", outcome.artifacts), ("metrics", outcome.metrics)):
        if value is not None:
            fields[name] = plain(value)
    fields["constitutionalEvidence"] = evidence
    for name, value in (("error", error), ("nextActions", outcome.next_actions), ("meta", outcome.meta)):
        if value is not None:
            fields[name] = plain(value)
    return Result.from_dict(fields)


def _settled(outcome: Outcome, said: Alignment | None) -> tuple[Status, Alignment, AgentError | None]:
    """Status, alignment and error that fit each other (sections 4.2, 5 and 8)."""
    error = outcome.error
    if isinstance(error, tuple):
        error = AgentError(code=error[0], message=error[1])
    status = Status(outcome.status) if outcome.status is not None else None
    if status is None:
        status = Status.ESCALATED if said is Alignment.ESCALATE else Status.SUCCEEDED
        status = Status.FAILED if error is not None else status
    if status is Status.SUCCEEDED and said is Alignment.NON_CONSTITUTIONAL:
        status = Status.FAILED
        error = error or AgentError(code=ErrorCode.NON_CONSTITUTIONAL, message="the output is not constitutional")
    if status is Status.FAILED:
        error = AgentError(code=ErrorCode.INTERNAL) if error is None else error.replace()
        if error.message is None:
            error.message = str(error.code)
    alignment = Alignment.ESCALATE if said is None else said
    if alignment is Alignment.VALID and (status not in _GOOD or not outcome.policy_checks):
        alignment = Alignment.ESCALATE
    return status, alignment, error


_GOOD = frozenset({Status.SUCCEEDED, Status.PARTIAL})


def said_of(outcome: Outcome) -> Alignment | None:
    """The alignment that a capability or a vetter gave: as such, or as the code of its error. None: nobody judged."""
    if outcome.alignment is not None:
        return Alignment(outcome.alignment)
    error = outcome.error
    code = error[0] if isinstance(error, tuple) else None if error is None else error.code
    return Alignment.NON_CONSTITUTIONAL if code == ErrorCode.NON_CONSTITUTIONAL else None


def _checks(outcome: Outcome, said: Alignment | None, alignment: Alignment) -> list[Any]:
    """The policy checks of the outcome, and one that says so where nobody judged it, or judged it without a check."""
    checks = list(outcome.policy_checks or ())
    if said is None or said is Alignment.VALID is not alignment:
        return [*checks, NOT_VETTED]
    return checks or [{"principle": "constitution", "status": str(alignment)}]


NOT_VETTED: Mapping[str, str] = {
    "principle": "constitution",
    "status": "not vetted",
    "notes": "not vetted: neither a vetter nor the capability gave an alignment with policy checks",
}
"""The policy check of an outcome that nobody judged; its alignment is ESCALATE."""
