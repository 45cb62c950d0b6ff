"""The objects of SAP V2.0 (section 4) as thin typed classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from turnwire.sap import spec
from turnwire.sap.json_object import JsonField, JsonObject


class Issuer(JsonObject, table=spec.ISSUER):
    """Who issues a task (section 4.1)."""

    __slots__ = ()
    agent_id: JsonField[str] = JsonField("agentId")
    agent_kind: JsonField[spec.AgentKind | str] = JsonField("agentKind", spec.AgentKind)
    name: JsonField[str | None] = JsonField("name")


class Producer(JsonObject, table=spec.PRODUCER):
    """Who produced a result (section 4.2)."""

    __slots__ = ()
    agent_id: JsonField[str] = JsonField("agentId")
    agent_kind: JsonField[spec.AgentKind | str] = JsonField("agentKind", spec.AgentKind)


class Target(JsonObject, table=spec.TARGET):
    """Where and how a task is executed (section 4.1)."""

    __slots__ = ()
    agent_id: JsonField[str | None] = JsonField("agentId")
    capability: JsonField[str] = JsonField("capability")
    routing_hints: JsonField[dict[str, Any] | None] = JsonField("routingHints")


class CachePolicy(JsonObject, table=spec.CACHE_POLICY):
    """How the cache is used (section 6). Without a mode it is "bypass"; without mustAlign it is true."""

    __slots__ = ()
    mode: JsonField[spec.CacheMode | str | None] = JsonField("mode", spec.CacheMode)
    max_age_sec: JsonField[int | None] = JsonField("maxAgeSec")
    must_align: JsonField[bool | None] = JsonField("mustAlign")


class ConstitutionalContext(JsonObject, table=spec.CONTEXT):
    """Alignment inputs of a task (section 4.1)."""

    __slots__ = ()
    pressure_level: JsonField[spec.PressureLevel | str] = JsonField("pressureLevel", spec.PressureLevel)
    principles: JsonField[Sequence[str] | None] = JsonField("principles")
    pressure: JsonField[dict[str, float] | None] = JsonField("pressure")
    objectives: JsonField[Sequence[str] | None] = JsonField("objectives")
    constraints: JsonField[Sequence[str] | None] = JsonField("constraints")
    risk_tolerance: JsonField[spec.RiskTolerance | str | None] = JsonField("riskTolerance", spec.RiskTolerance)
    territory: JsonField[str | None] = JsonField("territory")
    references: JsonField[Sequence[str] | None] = JsonField("references")
    cache_policy: JsonField[CachePolicy | None] = JsonField("cachePolicy", CachePolicy)


class OutputContract(JsonObject, table=spec.OUTPUT_CONTRACT):
    """What the output of a task has to be (section 4.1)."""

    __slots__ = ()
    schema: JsonField[dict[str, Any] | None] = JsonField("schema")
    format: JsonField[str | None] = JsonField("format")


class Budget(JsonObject, table=spec.BUDGET):
    """Limits of one execution (section 4.1); numbers."""

    __slots__ = ()
    tokens: JsonField[float | None] = JsonField("tokens")
    seconds: JsonField[float | None] = JsonField("seconds")


class Telemetry(JsonObject, table=spec.TELEMETRY):
    """Execution controls (section 4.1)."""

    __slots__ = ()
    priority: JsonField[spec.Priority | str | None] = JsonField("priority", spec.Priority)
    deadline: JsonField[str | None] = JsonField("deadline")
    budget: JsonField[Budget | None] = JsonField("budget", Budget)
    trace: JsonField[bool | None] = JsonField("trace")


class ReplyTo(JsonObject, table=spec.REPLY_TO):
    """Where results go (section 4.1)."""

    __slots__ = ()
    endpoint: JsonField[str | None] = JsonField("endpoint")
    expect_ack: JsonField[bool | None] = JsonField("expectAck")


class Attachment(JsonObject, table=spec.ATTACHMENT):
    """A reference to a payload kept elsewhere (section 4.1); digest is ``sha256:<hex>``."""

    __slots__ = ()
    uri: JsonField[str | None] = JsonField("uri")
    kind: JsonField[str | None] = JsonField("kind")
    digest: JsonField[str | None] = JsonField("digest")


class Artifact(JsonObject, table=spec.ARTIFACT):
    """An output kept elsewhere (section 4.2)."""

    __slots__ = ()
    uri: JsonField[str | None] = JsonField("uri")
    kind: JsonField[str | None] = JsonField("kind")
    digest: JsonField[str | None] = JsonField("digest")


class PolicyCheck(JsonObject, table=spec.POLICY_CHECK):
    """A finding about one principle (section 4.2)."""

    __slots__ = ()
    principle: JsonField[str | None] = JsonField("principle")
    status: JsonField[str | None] = JsonField("status")
    notes: JsonField[str | None] = JsonField("notes")


class Violation(JsonObject, table=spec.VIOLATION):
    """A detected violation (section 4.2)."""

    __slots__ = ()
    principle: JsonField[str | None] = JsonField("principle")
    severity: JsonField[str | None] = JsonField("severity")
    evidence: JsonField[str | None] = JsonField("evidence")


class CacheEvidence(JsonObject, table=spec.CACHE_EVIDENCE):
    """What the cache had to do with a result (section 6)."""

    __slots__ = ()
    hit: JsonField[bool | None] = JsonField("hit")
    cache_key: JsonField[str | None] = JsonField("cacheKey")
    age_sec: JsonField[int | None] = JsonField("ageSec")


class ConstitutionalEvidence(JsonObject, table=spec.EVIDENCE):
    """Alignment proof of a result (section 4.2)."""

    __slots__ = ()
    alignment: JsonField[spec.Alignment | str] = JsonField("alignment", spec.Alignment)
    pressure_readings: JsonField[dict[str, float] | None] = JsonField("pressureReadings")
    policy_checks: JsonField[Sequence[PolicyCheck] | None] = JsonField("policyChecks", PolicyCheck, many=True)
    violations: JsonField[Sequence[Violation] | None] = JsonField("violations", Violation, many=True)
    citations: JsonField[Sequence[str] | None] = JsonField("citations")
    cache: JsonField[CacheEvidence | None] = JsonField("cache", CacheEvidence)


class AgentError(JsonObject, table=spec.ERROR):
    """Why a task failed (sections 4.2 and 8). The set of codes is open."""

    __slots__ = ()
    code: JsonField[spec.ErrorCode | str | None] = JsonField("code", spec.ErrorCode)
    message: JsonField[str | None] = JsonField("message")
    details: JsonField[dict[str, Any] | None] = JsonField("details")


class Message(JsonObject):
    """What can be sent alone on a transport: Task, Result, Ack, Nack."""

    __slots__ = ()


class Task(Message, table=spec.TASK):
    """A unit of work issued to an agent or capability (section 4.1)."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]] = {"protocolVersion": spec.VERSION}
    protocol_version: JsonField[str] = JsonField("protocolVersion")
    task_id: JsonField[str] = JsonField("taskId")
    parent_task_id: JsonField[str | None] = JsonField("parentTaskId", nullable=True)
    correlation_id: JsonField[str] = JsonField("correlationId")
    issued_at: JsonField[str] = JsonField("issuedAt")
    issuer: JsonField[Issuer] = JsonField("issuer", Issuer)
    target: JsonField[Target] = JsonField("target", Target)
    constitutional_context: JsonField[ConstitutionalContext] = JsonField("constitutionalContext", ConstitutionalContext)
    payload: JsonField[dict[str, Any]] = JsonField("payload")
    output_contract: JsonField[OutputContract | None] = JsonField("outputContract", OutputContract)
    telemetry: JsonField[Telemetry | None] = JsonField("telemetry", Telemetry)
    reply_to: JsonField[ReplyTo | None] = JsonField("replyTo", ReplyTo)
    attachments: JsonField[Sequence[Attachment] | None] = JsonField("attachments", Attachment, many=True)
    tags: JsonField[Sequence[str] | None] = JsonField("tags")
    meta: JsonField[dict[str, Any] | None] = JsonField("meta")


class Result(Message, table=spec.RESULT):
    """The outcome of a task, or how far it is (section 4.2)."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]] = {"protocolVersion": spec.VERSION}
    protocol_version: JsonField[str] = JsonField("protocolVersion")
    task_id: JsonField[str] = JsonField("taskId")
    correlation_id: JsonField[str] = JsonField("correlationId")
    reported_at: JsonField[str] = JsonField("reportedAt")
    producer: JsonField[Producer] = JsonField("producer", Producer)
    status: JsonField[spec.Status | str] = JsonField("status", spec.Status)
    output: JsonField[Any] = JsonField("output", nullable=True)
    artifacts: JsonField[Sequence[Artifact] | None] = JsonField("artifacts", Artifact, many=True)
    metrics: JsonField[dict[str, Any] | None] = JsonField("metrics")
    constitutional_evidence: JsonField[ConstitutionalEvidence] = JsonField(
        "constitutionalEvidence", ConstitutionalEvidence
    )
    error: JsonField[AgentError | None] = JsonField("error", AgentError)
    next_actions: JsonField[Sequence[dict[str, Any]] | None] = JsonField("nextActions")
    meta: JsonField[dict[str, Any] | None] = JsonField("meta")


class Ack(Message, table=spec.ACK):
    """A task was accepted for processing (section 4.3)."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]] = {"status": spec.Receipt.ACK.value}
    message_id: JsonField[str] = JsonField("messageId")
    correlation_id: JsonField[str | None] = JsonField("correlationId", nullable=True)
    status: JsonField[spec.Receipt | str] = JsonField("status", spec.Receipt)
    reason: JsonField[str | None] = JsonField("reason")


class Nack(Message, table=spec.NACK):
    """A task was refused before any work, with the reason (section 4.3)."""

    __slots__ = ()
    DEFAULTS: ClassVar[dict[str, Any]] = {"status": spec.Receipt.NACK.value}
    message_id: JsonField[str] = JsonField("messageId")
    correlation_id: JsonField[str | None] = JsonField("correlationId", nullable=True)
    status: JsonField[spec.Receipt | str] = JsonField("status", spec.Receipt)
    reason: JsonField[str | None] = JsonField("reason")
