"""KickLang as data. "Section" means a section of the specification (Inter-Agent Communication Rules, 001 to 004)."""

from __future__ import annotations

from enum import Enum

from turnwire.errors import Reason

WIRE = "kick"

# Space Format ----------------------------------------------------------------------------------------------------

SIGIL = "\u2afb"
SIGIL_BYTES = SIGIL.encode()

HEADER_ISSUES = (
    (1, Reason.EMPTY_HEADER, "the header has no name"),
    (2, Reason.LEADING_SPACE, "white space follows the sigil"),
    (4, Reason.TRAILING_SPACE, "the header ends in white space"),
    (8, Reason.NESTED_SIGIL, "the header holds a second sigil"),
    (16, Reason.SPACE_IN_QUALIFIER, "white space stands in the qualifier"),
)
"""What lenient reading forgives in a header: the bit that both twins report it by, the reason, the words."""
BOM_ISSUE = (Reason.BOM, "the document starts with a byte order mark")

PARTS = ("name", "type", "qualifier", "place", "index", "inline", "content", "raw")
"""The parts of a section, in the order of the constructor."""

# Envelopes (section 001) -----------------------------------------------------------------------------------------


class MessageType(str, Enum):
    """The four types of an envelope, a closed set (section 001). A member equals its string and hashes like it."""

    COMMAND = "Command"
    QUERY = "Query"
    INFO = "Info"
    ALERT = "Alert"

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


TYPES = {member.value: member for member in MessageType}

REQUIRED_FIELDS = ("id", "timestamp", "sender", "receiver", "type", "channel", "content")
FIELDS = (*REQUIRED_FIELDS, "correlation_id")
"""All fields of an envelope in the order in which they are written; all are strings, the last one is optional."""
MISSING = {name: Reason(f"missing_{name}") for name in REQUIRED_FIELDS}
BAD_TYPE = {name: Reason(f"bad_type_{name}") for name in FIELDS}

BROADCAST = "Broadcast"
ORCHESTRATOR = "Orchestrator"
ROLES = (
    "Human",
    "Supervisor",
    ORCHESTRATOR,
    "RoleDefiner",
    "PromptEngineer",
    "ProtocolEstablisher",
    "SystemMonitor",
    "MetaCommunicator",
    "FizzLaMetta",
    "KickLaMetta",
    "Dima",
    "AR-00L",
    "QllickBuzz & QllickFizz",
    "WePlan",
)
"""The roles that are known; others are read and written, with an issue of severity "info"."""

# Channels (section 002) and who may use them (rule 2 of section 004): the default policy ---------------------------

DEFAULT_ROWS = (
    # channel, type, senders, receivers ("*" is anyone, "!name" is anyone but), whether a correlation_id is required
    ("command/*", "Command", (ORCHESTRATOR,), ("*", f"!{BROADCAST}"), False),
    ("report/*", "Info", ("*", f"!{ORCHESTRATOR}"), (ORCHESTRATOR,), True),
    ("alert/*", "Alert", ("*",), (BROADCAST,), False),
    ("query/*", "Query", ("*",), ("*",), False),
)

RULES = {
    Reason.ID_NOT_UUID4: "001",
    Reason.CORRELATION_ID_NOT_UUID4: "001",
    Reason.BAD_TIMESTAMP: "001",
    Reason.UNKNOWN_KEY: "001",
    Reason.UNKNOWN_ROLE: "001",
    Reason.BAD_CHANNEL: "001",
    Reason.UNKNOWN_CHANNEL_FAMILY: "002",
    Reason.CHANNEL_NOT_ALLOWED: "002",
    Reason.TYPE_CHANNEL_MISMATCH: "002",
    Reason.RECEIVER_NOT_ALLOWED: "002",
    Reason.CONTENT_NOT_SPACE: "004.1",
    Reason.ROLE_NOT_ALLOWED: "004.2",
    Reason.MISSING_CORRELATION_ID: "004.3",
}
"""Which section, or rule of section 004, an issue of ``check`` comes from."""
