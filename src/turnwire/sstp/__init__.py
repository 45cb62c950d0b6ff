"""SSTP, the Structured Semantic Turn Protocol: seven kinds of message, strict and salvaged, and sessions of turns."""

from turnwire.sstp.codec import check, decode, detect, encode, from_fields
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
from turnwire.sstp.spec import WIRE, Kind

__all__ = [
    "CLASSES",
    "WIRE",
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
    "check",
    "decode",
    "detect",
    "encode",
    "from_fields",
    "retention_days",
]
