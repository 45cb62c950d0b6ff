"""KickLang as data. "Section" means a section of the specification (Inter-Agent Communication Rules, 001 to 004)."""

from __future__ import annotations

from enum import StrEnum

from turnwire.errors import Reason

WIRE = "kick"

# Space Format ----------------------------------------------------------------------------------------------------

SIGIL = "\u2afb"
SIGIL_BYTES = SIGIL.encode()

HEADER_ISSUES = (
    (1, Reason.EMPTY_HEADER, "the header has no name"),
    (2, Reason.LEADING_SPACE, "white space follows the sigil"),
    (4, Reason.TRAILING_SPACE, "the header ends in white space"),
    (8, Reason.NESTED_SIGIL, "the header contains a second sigil"),
    (16, Reason.SPACE_IN_QUALIFIER, "white space in the qualifier"),
)
"""Issues that lenient reading forgives in a header: the bit that both twins report it by, the reason, the words."""
BOM_ISSUE = (Reason.BOM, "the document starts with a byte order mark")

DOCUMENT = "document"
"""The kind of a record that is a Space document by itself, beside the types of envelopes."""

PARTS = ("name", "type", "qualifier", "place", "index", "inline", "content", "raw")
"""The parts of a section, in the order of the constructor."""

# Envelopes (section 001) -----------------------------------------------------------------------------------------


class MessageType(StrEnum):
    """The four types of an envelope, a closed set (section 001). A member equals its string and hashes like it."""

    COMMAND = "Command"
    QUERY = "Query"
    INFO = "Info"
    ALERT = "Alert"


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
    Reason.UNKNOWN_CHANNEL_FAMILY: "002",
    Reason.CHANNEL_NOT_ALLOWED: "002",
    Reason.TYPE_CHANNEL_MISMATCH: "002",
    Reason.RECEIVER_NOT_ALLOWED: "002",
    Reason.CONTENT_NOT_SPACE: "004.1",
    Reason.ROLE_NOT_ALLOWED: "004.2",
    Reason.MISSING_CORRELATION_ID: "004.3",
}
"""Reason of an issue of ``check`` -> its section, or rule of section 004; that of all others is 001."""

# The two loops (section 003) as transition tables --------------------------------------------------------------------


TaskState = StrEnum("TaskState", "DISPATCHED ACCEPTED RUNNING DELIVERED COMPLETED FAILED STOPPED")
"""The state of a task in the dispatch-execute-report loop."""
Signal = StrEnum("Signal", "ACCEPTED PROGRESS ARTIFACT COMPLETED FAILED")
"""The report of an agent about a task, as far as the loop is concerned."""

STATUS_WORDS = {
    "Accepted": Signal.ACCEPTED,
    "In Progress": Signal.PROGRESS,
    "Completed": Signal.COMPLETED,
    "Failed": Signal.FAILED,
}
"""The first content line of ``⫻report/status`` (sections 002 and 003; "Failed" is a reading)."""

CLOSED = frozenset({TaskState.COMPLETED, TaskState.FAILED, TaskState.STOPPED})

TASK_TRANSITIONS = {
    (TaskState.DISPATCHED, Signal.ACCEPTED): TaskState.ACCEPTED,
    (TaskState.DISPATCHED, Signal.FAILED): TaskState.FAILED,  # refused
    (TaskState.ACCEPTED, Signal.PROGRESS): TaskState.RUNNING,
    (TaskState.ACCEPTED, Signal.ARTIFACT): TaskState.DELIVERED,
    (TaskState.ACCEPTED, Signal.FAILED): TaskState.FAILED,
    (TaskState.RUNNING, Signal.PROGRESS): TaskState.RUNNING,
    (TaskState.RUNNING, Signal.ARTIFACT): TaskState.DELIVERED,
    (TaskState.RUNNING, Signal.FAILED): TaskState.FAILED,
    (TaskState.DELIVERED, Signal.PROGRESS): TaskState.DELIVERED,
    (TaskState.DELIVERED, Signal.ARTIFACT): TaskState.DELIVERED,
    (TaskState.DELIVERED, Signal.COMPLETED): TaskState.COMPLETED,
    (TaskState.DELIVERED, Signal.FAILED): TaskState.FAILED,
    (TaskState.STOPPED, Signal.FAILED): TaskState.STOPPED,  # how an agent owns up to having been stopped
}
"""The transitions that are in order. Everything else is out of order (or late, once a task is closed)."""

SIGNAL_STATE = {
    Signal.ACCEPTED: TaskState.ACCEPTED,
    Signal.PROGRESS: TaskState.RUNNING,
    Signal.ARTIFACT: TaskState.DELIVERED,
    Signal.COMPLETED: TaskState.COMPLETED,
    Signal.FAILED: TaskState.FAILED,
}
"""Signal -> what it says about its task, in order or not: a task that is out of order moves there if that is forward,
so that one missing message is one fault and not one for each message after it."""
FORWARD = list(TaskState)

ESCALATION_CHANNEL = f"{SIGIL}command/escalate"
ESCALATION_RECEIVERS = ("Human", "Supervisor")


EventKind = StrEnum(
    "EventKind",
    "DISPATCHED ACCEPTED PROGRESS ARTIFACT COMPLETED FAILED STOPPED PAUSED RESUMED ASKED ANSWERED ALERT VIOLATION "
    "ESCALATED DECIDED "
    # Faults
    "INVALID UNAUTHORISED DUPLICATE ID_REUSED UNCORRELATED DUPLICATE_TASK OUT_OF_ORDER UNKNOWN_STATUS LATE "
    "WHILE_PAUSED UNESCALATED MISDIRECTED OVERDUE",
)
"""The kinds of the monitor's events. Kinds in ``FAULTS`` are faults, the others tell how the work goes."""

FAULTS = frozenset(list(EventKind)[list(EventKind).index(EventKind.INVALID) :])

UNAUTHORISED_REASONS = frozenset({Reason.ROLE_NOT_ALLOWED, Reason.RECEIVER_NOT_ALLOWED})
"""Issues that make an envelope void for the monitor: it changes no state."""
