"""UBOS SAP V2.0, complete: tasks, results, receipts, their rules, the cache, the learning loop, the transports."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.sap.transports import bus
    from turnwire.sap.transports import http
    from turnwire.sap.transports import mcp
    from turnwire.sap.transports import nats
    from turnwire.sap.spec import (
        WIRE,
        AgentKind,
        Alignment,
        CacheMode,
        ErrorCode,
        PressureLevel,
        Priority,
        Receipt,
        RiskTolerance,
        Status,
    )
    from turnwire.sap.messages import (
        Ack,
        AgentError,
        Artifact,
        Attachment,
        Budget,
        CacheEvidence,
        CachePolicy,
        ConstitutionalContext,
        ConstitutionalEvidence,
        Issuer,
        Nack,
        OutputContract,
        PolicyCheck,
        Producer,
        ReplyTo,
        Result,
        Target,
        Task,
        Telemetry,
        Violation,
    )
    from turnwire.sap.codec import decode, detect, encode
    from turnwire.sap.rules import check, lint
    from turnwire.sap.schema import json_schema
    from turnwire.sap.access import ANONYMOUS, Access, Action, Principal, Rule, authorise
    from turnwire.sap.agent import Agent
    from turnwire.sap.builders import NOT_VETTED, NOTHING, Failed, Outcome, Refused, make_task, result_for
    from turnwire.sap.handlers import Capability, Context, Refusal
    from turnwire.sap.calls import Caller
    from turnwire.sap.objects import Folder
    from turnwire.sap.jobs import STAGES, Stage
    from turnwire.sap.vetting import Vetting
    from turnwire.sap.cache import WHOLE_PAYLOAD, Cache, Essence, Hit, Miss, cache_key, fingerprint, within
    from turnwire.sap.checklist import Checklist, conform_files, conformance
    from turnwire.sap.learning import LearningLoop, Signal, essence_of, thresholds_of
    from turnwire.sap.lifecycle import Lifecycle, TaskProgress
    from turnwire.sap.transports.bus import Bus

__all__ = [
    "ANONYMOUS",
    "NOTHING",
    "NOT_VETTED",
    "STAGES",
    "WHOLE_PAYLOAD",
    "WIRE",
    "Access",
    "Ack",
    "Action",
    "Agent",
    "AgentError",
    "AgentKind",
    "Alignment",
    "Artifact",
    "Attachment",
    "Budget",
    "Bus",
    "Cache",
    "CacheEvidence",
    "CacheMode",
    "CachePolicy",
    "Caller",
    "Capability",
    "Checklist",
    "ConstitutionalContext",
    "ConstitutionalEvidence",
    "Context",
    "ErrorCode",
    "Essence",
    "Failed",
    "Folder",
    "Hit",
    "Issuer",
    "LearningLoop",
    "Lifecycle",
    "Miss",
    "Nack",
    "Outcome",
    "OutputContract",
    "PolicyCheck",
    "PressureLevel",
    "Principal",
    "Priority",
    "Producer",
    "Receipt",
    "Refusal",
    "Refused",
    "ReplyTo",
    "Result",
    "RiskTolerance",
    "Rule",
    "Signal",
    "Stage",
    "Status",
    "Target",
    "Task",
    "TaskProgress",
    "Telemetry",
    "Vetting",
    "Violation",
    "authorise",
    "bus",
    "cache_key",
    "check",
    "conform_files",
    "conformance",
    "decode",
    "detect",
    "encode",
    "essence_of",
    "fingerprint",
    "http",
    "json_schema",
    "lint",
    "make_task",
    "mcp",
    "nats",
    "result_for",
    "thresholds_of",
    "within",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "spec": "WIRE AgentKind Alignment CacheMode ErrorCode PressureLevel Priority Receipt RiskTolerance Status",
        "messages": "Ack AgentError Artifact Attachment Budget CacheEvidence CachePolicy ConstitutionalContext "
        "ConstitutionalEvidence Issuer Nack OutputContract PolicyCheck Producer ReplyTo Result Target Task "
        "Telemetry Violation",
        "codec": "decode detect encode",
        "rules": "check lint",
        "schema": "json_schema",
        "access": "ANONYMOUS Access Action Principal Rule authorise",
        "agent": "Agent",
        "builders": "NOT_VETTED NOTHING Failed Outcome Refused make_task result_for",
        "cache": "WHOLE_PAYLOAD Cache Essence Hit Miss cache_key fingerprint within",
        "calls": "Caller",
        "checklist": "Checklist conform_files conformance",
        "handlers": "Capability Context Refusal",
        "jobs": "STAGES Stage",
        "learning": "LearningLoop Signal essence_of thresholds_of",
        "lifecycle": "Lifecycle TaskProgress",
        "objects": "Folder",
        "transports.bus": "Bus",
        "vetting": "Vetting",
    },
    modules="transports.bus transports.http transports.mcp transports.nats",
)
