"""UBOS SAP V2.0, complete: tasks, results, receipts, their rules, the cache, the learning loop, the transports."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
from turnwire.sap.rules import lint

if TYPE_CHECKING:
    from turnwire.sap.access import Access, Rule
    from turnwire.sap.agent import Agent, Context, Refusal, Refused
    from turnwire.sap.cache import Cache, Hit, Miss
    from turnwire.sap.checklist import Checklist, conform_files, conformance
    from turnwire.sap.cache_keys import WHOLE_PAYLOAD, Essence, cache_key, fingerprint
    from turnwire.sap.learning import LearningLoop
    from turnwire.sap.lifecycle import Lifecycle, Progress
    from turnwire.sap.results import NOTHING, Outcome, result_for
    from turnwire.sap.signals import Signal
    from turnwire.sap.transports import bus, http, mcp, nats
    from turnwire.sap.transports.bus import Bus

# Reading and checking needs neither SQLite nor asyncio: what does is imported when it is first asked for.
_LATER = {
    "access": ("Access", "Rule"),
    "agent": ("Agent", "Context", "Refusal", "Refused"),
    "cache": ("Cache", "Hit", "Miss"),
    "checklist": ("Checklist", "conform_files", "conformance"),
    "cache_keys": ("WHOLE_PAYLOAD", "Essence", "cache_key", "fingerprint"),
    "learning": ("LearningLoop",),
    "lifecycle": ("Lifecycle", "Progress"),
    "results": ("NOTHING", "Outcome", "result_for"),
    "signals": ("Signal",),
    "transports": ("bus", "http", "mcp", "nats"),
    "transports.bus": ("Bus",),
}
_HOME = {name: f"turnwire.sap.{module}" for module, names in _LATER.items() for name in names}


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'turnwire.sap' has no attribute {name!r}")
    if home == "turnwire.sap.transports":
        found: Any = import_module(f"{home}.{name}")
    else:
        found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
