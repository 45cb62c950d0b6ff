"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.kick import channels
    from turnwire.kick.spec import ROLES, WIRE, EventKind, MessageType, Signal, TaskState
    from turnwire.kick.space import (
        RejectedPiece,
        SalvagedSection,
        SalvagedSpace,
        Section,
        Space,
        parse_space,
        salvage_space,
    )
    from turnwire.kick.codec import Envelope, check, decode, encode, json_schema
    from turnwire.kick.documents import DOCUMENTS, detect
    from turnwire.kick.policy import DEFAULT_POLICY, Policy, Row, PolicyRefusal
    from turnwire.kick.rules import lint
    from turnwire.kick.monitor import Deadlines, Event, Monitor
    from turnwire.kick.checklist import conformance

__all__ = [
    "DEFAULT_POLICY",
    "DOCUMENTS",
    "ROLES",
    "WIRE",
    "Deadlines",
    "Envelope",
    "Event",
    "EventKind",
    "MessageType",
    "Monitor",
    "Policy",
    "PolicyRefusal",
    "RejectedPiece",
    "Row",
    "SalvagedSection",
    "SalvagedSpace",
    "Section",
    "Signal",
    "Space",
    "TaskState",
    "channels",
    "check",
    "conformance",
    "decode",
    "detect",
    "encode",
    "json_schema",
    "lint",
    "parse_space",
    "salvage_space",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "spec": "ROLES WIRE EventKind MessageType Signal TaskState",
        "space": "RejectedPiece SalvagedSection SalvagedSpace Section Space parse_space salvage_space",
        "codec": "Envelope check decode encode json_schema",
        "documents": "DOCUMENTS detect",
        "policy": "DEFAULT_POLICY Policy Row PolicyRefusal",
        "rules": "lint",
        "monitor": "Deadlines Event Monitor",
        "checklist": "conformance",
    },
    modules="channels",
)
