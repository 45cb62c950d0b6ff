"""The objects of SAP V2.0 (section 4) as thin typed classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from turnwire.sap import spec
from turnwire.sap.members import Member, Record, plain

__all__ = [
    "Ack",
    "AgentError",
    "Artifact",
    "Attachment",
    "Budget",
    "CacheEvidence",
    "CachePolicy",
    "ConstitutionalContext",
    "ConstitutionalEvidence",
    "Issuer",
    "Member",
    "Message",
    "Nack",
    "OutputContract",
    "PolicyCheck",
    "Producer",
    "Record",
    "ReplyTo",
    "Result",
    "Target",
    "Task",
    "Telemetry",
    "Violation",
    "plain",
]

# Section 10 wants envelopes that map 1:1 to dataclasses: the decorator only lists the fields, the descriptors stay.
_fields = dataclass(init=False, repr=False, eq=False)


@_fields
class Issuer(Record):
    """Who issues a task (section 4.1)."""

    __slots__ = ()
    TABLE = spec.ISSUER
    agent_id: Member[str] = Member("agentId")
    agent_kind: Member[spec.AgentKind | str] = Member("agentKind", spec.AgentKind)
    name: Member[str | None] = Member("name")


@_fields
class Producer(Record):
    """Who produced a result (section 4.2)."""

    __slots__ = ()
    TABLE = spec.PRODUCER
    agent_id: Member[str] = Member("agentId")
    agent_kind: Member[spec.AgentKind | str] = Member("agentKind", spec.AgentKind)


@_fields
class Target(Record):
    """Where and how a task is executed (section 4.1)."""

    __slots__ = ()
    TABLE = spec.TARGET
    agent_id: Member[str | None] = Member("agentId")
    capability: Member[str] = Member("capability")
    routing_hints: Member[dict[str, Any] | None] = Member("routingHints")


@_fields
class CachePolicy(Record):
    """How the cache is used (section 6). Without a mode it is "bypass"; without mustAlign it is true."""

    __slots__ = ()
    TABLE = spec.CACHE_POLICY
    mode: Member[spec.CacheMode | str | None] = Member("mode", spec.CacheMode)
    max_age_sec: Member[int | None] = Member("maxAgeSec")
    must_align: Member[bool | None] = Member("mustAlign")


@_fields
class ConstitutionalContext(Record):
    """Alignment inputs of a task (section 4.1)."""

    __slots__ = ()
    TABLE = spec.CONTEXT
    pressure_level: Member[spec.PressureLevel | str] = Member("pressureLevel", spec.PressureLevel)
    principles: Member[Sequence[str] | None] = Member("principles")
    pressure: Member[dict[str, float] | None] = Member("pressure")
    objectives: Member[Sequence[str] | None] = Member("objectives")
    constraints: Member[Sequence[str] | None] = Member("constraints")
    risk_tolerance: Member[spec.RiskTolerance | str | None] = Member("riskTolerance", spec.RiskTolerance)
    territory: Member[str | None] = Member("territory")
    references: Member[Sequence[str] | None] = Member("references")
    cache_policy: Member[CachePolicy | None] = Member("cachePolicy", CachePolicy)


@_fields
class OutputContract(Record):
    """What the output of a task has to be (section 4.1)."""

    __slots__ = ()
    TABLE = spec.OUTPUT_CONTRACT
    schema: Member[dict[str, Any] | None] = Member("schema")
    format: Member[str | None] = Member("format")


@_fields
class Budget(Record):
    """Limits of one execution (section 4.1); numbers."""

    __slots__ = ()
    TABLE = spec.BUDGET
    tokens: Member[float | None] = Member("tokens")
    seconds: Member[float | None] = Member("seconds")


@_fields
class Telemetry(Record):
    """Execution controls (section 4.1)."""

    __slots__ = ()
    TABLE = spec.TELEMETRY
    priority: Member[spec.Priority | str | None] = Member("priority", spec.Priority)
    deadline: Member[str | None] = Member("deadline")
    budget: Member[Budget | None] = Member("budget", Budget)
    trace: Member[bool | None] = Member("trace")


@_fields
class ReplyTo(Record):
    """Where results go (section 4.1)."""

    __slots__ = ()
    TABLE = spec.REPLY_TO
    endpoint: Member[str | None] = Member("endpoint")
    expect_ack: Member[bool | None] = Member("expectAck")


@_fields
class Attachment(Record):
    """A reference to a payload kept elsewhere (section 4.1); digest is ``sha256:<hex>``."""

    __slots__ = ()
    TABLE = spec.ATTACHMENT
    uri: Member[str | None] = Member("uri")
    kind: Member[str | None] = Member("kind")
    digest: Member[str | None] = Member("digest")


@_fields
class Artifact(Record):
    """An output kept elsewhere (section 4.2)."""

    __slots__ = ()
    TABLE = spec.ARTIFACT
    uri: Member[str | None] = Member("uri")
    kind: Member[str | None] = Member("kind")
    digest: Member[str | None] = Member("digest")


@_fields
class PolicyCheck(Record):
    """A finding about one principle (section 4.2)."""

    __slots__ = ()
    TABLE = spec.POLICY_CHECK
    principle: Member[str | None] = Member("principle")
    status: Member[str | None] = Member("status")
    notes: Member[str | None] = Member("notes")


@_fields
class Violation(Record):
    """A detected violation (section 4.2)."""

    __slots__ = ()
    TABLE = spec.VIOLATION
    principle: Member[str | None] = Member("principle")
    severity: Member[str | None] = Member("severity")
    evidence: Member[str | None] = Member("evidence")


@_fields
class CacheEvidence(Record):
    """What the cache had to do with a result (section 6)."""

    __slots__ = ()
    TABLE = spec.CACHE_EVIDENCE
    hit: Member[bool | None] = Member("hit")
    cache_key: Member[str | None] = Member("cacheKey")
    age_sec: Member[int | None] = Member("ageSec")


@_fields
class ConstitutionalEvidence(Record):
    """Alignment proof of a result (section 4.2)."""

    __slots__ = ()
    TABLE = spec.EVIDENCE
    alignment: Member[spec.Alignment | str] = Member("alignment", spec.Alignment)
    pressure_readings: Member[dict[str, float] | None] = Member("pressureReadings")
    policy_checks: Member[Sequence[PolicyCheck] | None] = Member("policyChecks", PolicyCheck, many=True)
    violations: Member[Sequence[Violation] | None] = Member("violations", Violation, many=True)
    citations: Member[Sequence[str] | None] = Member("citations")
    cache: Member[CacheEvidence | None] = Member("cache", CacheEvidence)


@_fields
class AgentError(Record):
    """Why a task failed (sections 4.2 and 8). The set of codes is open."""

    __slots__ = ()
    TABLE = spec.ERROR
    code: Member[spec.ErrorCode | str | None] = Member("code", spec.ErrorCode)
    message: Member[str | None] = Member("message")
    details: Member[dict[str, Any] | None] = Member("details")


class Message(Record):
    """What can be sent alone on a transport: Task, Result, Ack, Nack."""

    __slots__ = ()


@_fields
class Task(Message):
    """A unit of work issued to an agent or capability (section 4.1)."""

    __slots__ = ()
    TABLE = spec.TASK
    DEFAULTS: ClassVar[dict[str, Any]] = {"protocolVersion": spec.VERSION}
    protocol_version: Member[str] = Member("protocolVersion")
    task_id: Member[str] = Member("taskId")
    parent_task_id: Member[str | None] = Member("parentTaskId", nullable=True)
    correlation_id: Member[str] = Member("correlationId")
    issued_at: Member[str] = Member("issuedAt")
    issuer: Member[Issuer] = Member("issuer", Issuer)
    target: Member[Target] = Member("target", Target)
    constitutional_context: Member[ConstitutionalContext] = Member("constitutionalContext", ConstitutionalContext)
    payload: Member[dict[str, Any]] = Member("payload")
    output_contract: Member[OutputContract | None] = Member("outputContract", OutputContract)
    telemetry: Member[Telemetry | None] = Member("telemetry", Telemetry)
    reply_to: Member[ReplyTo | None] = Member("replyTo", ReplyTo)
    attachments: Member[Sequence[Attachment] | None] = Member("attachments", Attachment, many=True)
    tags: Member[Sequence[str] | None] = Member("tags")
    meta: Member[dict[str, Any] | None] = Member("meta")


@_fields
class Result(Message):
    """The outcome of a task, or how far it is (section 4.2)."""

    __slots__ = ()
    TABLE = spec.RESULT
    DEFAULTS: ClassVar[dict[str, Any]] = {"protocolVersion": spec.VERSION}
    protocol_version: Member[str] = Member("protocolVersion")
    task_id: Member[str] = Member("taskId")
    correlation_id: Member[str] = Member("correlationId")
    reported_at: Member[str] = Member("reportedAt")
    producer: Member[Producer] = Member("producer", Producer)
    status: Member[spec.Status | str] = Member("status", spec.Status)
    output: Member[Any] = Member("output", nullable=True)
    artifacts: Member[Sequence[Artifact] | None] = Member("artifacts", Artifact, many=True)
    metrics: Member[dict[str, Any] | None] = Member("metrics")
    constitutional_evidence: Member[ConstitutionalEvidence] = Member("constitutionalEvidence", ConstitutionalEvidence)
    error: Member[AgentError | None] = Member("error", AgentError)
    next_actions: Member[Sequence[dict[str, Any]] | None] = Member("nextActions")
    meta: Member[dict[str, Any] | None] = Member("meta")


@_fields
class Ack(Message):
    """A task was accepted for processing (section 4.3)."""

    __slots__ = ()
    TABLE = spec.ACK
    DEFAULTS: ClassVar[dict[str, Any]] = {"status": spec.Receipt.ACK.value}
    message_id: Member[str] = Member("messageId")
    correlation_id: Member[str | None] = Member("correlationId", nullable=True)
    status: Member[spec.Receipt | str] = Member("status", spec.Receipt)
    reason: Member[str | None] = Member("reason")


@_fields
class Nack(Message):
    """A task was refused before any work, with the reason (section 4.3)."""

    __slots__ = ()
    TABLE = spec.NACK
    DEFAULTS: ClassVar[dict[str, Any]] = {"status": spec.Receipt.NACK.value}
    message_id: Member[str] = Member("messageId")
    correlation_id: Member[str | None] = Member("correlationId", nullable=True)
    status: Member[spec.Receipt | str] = Member("status", spec.Receipt)
    reason: Member[str | None] = Member("reason")
