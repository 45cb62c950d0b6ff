"""UBOS SAP V2.0, complete: tasks, results, receipts, their rules, the cache, the learning loop, the transports."""

from typing import TYPE_CHECKING

from turnwire.sap.spec import (  # first: the core modules import it
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
from turnwire.sap.rules import check

from turnwire.sap.schema import json_schema
