"""SSTP, the Structured Semantic Turn Protocol: seven kinds of message, strict and salvaged, and sessions of turns."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.sstp.acknowledgements import ACKNOWLEDGEMENTS
    from turnwire.sstp.builder import Agent
    from turnwire.sstp.checklist import conformance
    from turnwire.sstp.codec import Salvaged, check, decode, detect, encode, from_fields, salvage
    from turnwire.sstp.messages import (
        CLASSES,
        Commit,
        Delegation,
        EvidenceBundle,
        Fields,
        Intent,
        Knowledge,
        MemoryDelta,
        Message,
        Query,
        retention_days,
    )
    from turnwire.sstp.schema import json_schema
    from turnwire.sstp.session import Session
    from turnwire.sstp.spec import WIRE, Kind

__all__ = [
    "ACKNOWLEDGEMENTS",
    "CLASSES",
    "WIRE",
    "Agent",
    "Commit",
    "Delegation",
    "EvidenceBundle",
    "Fields",
    "Intent",
    "Kind",
    "Knowledge",
    "MemoryDelta",
    "Message",
    "Query",
    "Salvaged",
    "Session",
    "check",
    "conformance",
    "decode",
    "detect",
    "encode",
    "from_fields",
    "json_schema",
    "retention_days",
    "salvage",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "acknowledgements": "ACKNOWLEDGEMENTS",
        "builder": "Agent",
        "checklist": "conformance",
        "codec": "Salvaged check decode detect encode from_fields salvage",
        "messages": "CLASSES Commit Delegation EvidenceBundle Fields Intent Knowledge MemoryDelta Message Query "
        "retention_days",
        "schema": "json_schema",
        "session": "Session",
        "spec": "WIRE Kind",
    },
)
