"""From a task and what came of it to a right Result (section 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from turnwire.sap.members import Record, plain
from turnwire.sap.messages import AgentError, CacheEvidence, ConstitutionalEvidence, Producer, Result, Task
from turnwire.sap.spec import AgentKind, Alignment, ErrorCode, Status
from turnwire.sap.times import write_time


class _Nothing:
    """No output at all, which is not the output null."""

    def __repr__(self) -> str:
        return "NOTHING"


NOTHING: Any = _Nothing()


@dataclass(frozen=True)
class Outcome:
    """What a capability made of a task. Only what is given is written.

    output: anything JSON has, or NOTHING. status, alignment: where None, from each other and from ``error``.
    error: (code, message) or an AgentError. The rest as in section 4.2.
    """

    output: Any = NOTHING
    status: Status | None = None
    alignment: Alignment | None = None
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
    gets its code for one.
    """
    if not isinstance(outcome, Outcome):
        raise TypeError(f"an Outcome becomes a Result, not {type(outcome).__name__}; write Outcome(output)")
    status, alignment, error = _settled(outcome)
    evidence = ConstitutionalEvidence(
        alignment=alignment,
        pressure_readings=outcome.pressure_readings,
        policy_checks=outcome.policy_checks,
        violations=outcome.violations,
        citations=outcome.citations,
        cache=outcome.cache,
    )
    result = Result(
        task_id=task.task_id,
        correlation_id=task.correlation_id,
        reported_at=write_time(now or datetime.now(UTC)),
        producer=producer_of(producer),
        status=status,
    )
    if outcome.output is not NOTHING:
        result.output = outcome.output
    result.artifacts = outcome.artifacts  # type: ignore[assignment]
    result.metrics = outcome.metrics  # type: ignore[assignment]
    result.constitutional_evidence = evidence
    result.error = error
    result.next_actions = outcome.next_actions  # type: ignore[assignment]
    result.meta = outcome.meta  # type: ignore[assignment]
    result.fields = plain(result.fields)
    return result


def _settled(outcome: Outcome) -> tuple[Status, Alignment, AgentError | None]:
    error = outcome.error
    if isinstance(error, tuple):
        error = AgentError(code=error[0], message=error[1])
    alignment = outcome.alignment
    if alignment is None:
        refused = error is not None and error.code == ErrorCode.NON_CONSTITUTIONAL
        alignment = Alignment.NON_CONSTITUTIONAL if refused else Alignment.VALID
        alignment = Alignment.ESCALATE if outcome.status is Status.ESCALATED else alignment
    status = outcome.status
    if status is None:
        status = Status.SUCCEEDED if error is None else Status.FAILED
        status = Status.ESCALATED if alignment is Alignment.ESCALATE and error is None else status
    if status is Status.SUCCEEDED and alignment is Alignment.NON_CONSTITUTIONAL:
        status = Status.FAILED
        error = error or AgentError(code=ErrorCode.NON_CONSTITUTIONAL, message="the output is not constitutional")
    if status is Status.FAILED:
        error = error or AgentError(code=ErrorCode.INTERNAL)
        if error.message is None:
            error.message = str(error.code)
    return status, alignment, error
