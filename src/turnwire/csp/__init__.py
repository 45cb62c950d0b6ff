"""CSP/1, the Compact State Protocol: messages, the state their patches build, and the rules of its tokens."""

from turnwire._lazy import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from turnwire.csp.checklist import conformance
    from turnwire.csp.codec import check, decode, detect, encode, parse
    from turnwire.csp.fileop import Plan
    from turnwire.csp.messages import (
        Block,
        CspMessage,
        Document,
        Error,
        FileOp,
        Generic,
        Junk,
        Op,
        Patch,
        Preamble,
        Result,
        Task,
        Template,
        message,
    )
    from turnwire.csp.laws import Law, judge_laws, routing_laws
    from turnwire.csp.lints import lint
    from turnwire.csp.spec import WIRE, Intent, Priority, Status
    from turnwire.csp.checkpoints import Change, Checkpoint, LogEntry, StoreVerdict
    from turnwire.csp.logs import Board, Replay, board, read_log, replay
    from turnwire.csp.store import Store, verify_dump
    from turnwire.csp.notation import expand, refs

__all__ = [
    "WIRE",
    "Block",
    "Board",
    "Change",
    "Checkpoint",
    "CspMessage",
    "Document",
    "Error",
    "FileOp",
    "Generic",
    "Intent",
    "Junk",
    "Law",
    "LogEntry",
    "Op",
    "Patch",
    "Plan",
    "Preamble",
    "Priority",
    "Replay",
    "Result",
    "Status",
    "Store",
    "StoreVerdict",
    "Task",
    "Template",
    "board",
    "check",
    "conformance",
    "decode",
    "detect",
    "encode",
    "expand",
    "judge_laws",
    "lint",
    "message",
    "parse",
    "read_log",
    "refs",
    "replay",
    "routing_laws",
    "verify_dump",
]

__getattr__, __dir__ = lazy(
    __name__,
    {
        "checklist": "conformance",
        "codec": "check decode detect encode parse",
        "fileop": "Plan",
        "messages": "Block CspMessage Document Error FileOp Generic Junk Op Patch Preamble Result Task Template "
        "message",
        "laws": "Law judge_laws routing_laws",
        "lints": "lint",
        "spec": "WIRE Intent Priority Status",
        "checkpoints": "Change Checkpoint LogEntry StoreVerdict",
        "logs": "Board Replay board read_log replay",
        "store": "Store verify_dump",
        "notation": "expand refs",
    },
)
