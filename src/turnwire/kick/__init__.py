"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire.kick.spec import ROLES, WIRE, MessageType  # first: the core modules import it
from turnwire.kick.space import Found, Reject, Salvage, Section, Space, parse_space, salvage_space
from turnwire.kick.messages import Envelope
from turnwire.kick.codec import decode, detect, encode, json_schema
from turnwire.kick.policy import DEFAULT_POLICY, Policy, Row, Verdict
from turnwire.kick.rules import check, lint

__all__ = [
    "DEFAULT_POLICY",
    "ROLES",
    "WIRE",
    "Envelope",
    "Found",
    "MessageType",
    "Policy",
    "Reject",
    "Row",
    "Salvage",
    "Section",
    "Space",
    "Verdict",
    "check",
    "decode",
    "detect",
    "encode",
    "json_schema",
    "lint",
    "parse_space",
    "salvage_space",
]
