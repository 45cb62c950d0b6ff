"""CSP/1, the Compact State Protocol: messages, the state their patches build, and the rules of its tokens."""

from turnwire.csp.codec import check, decode, detect, encode, parse
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
from turnwire.csp.spec import WIRE, Intent, Priority, Status
from turnwire.csp.store import Change, Checkpoint, LogEntry, Replay, Store, Verdict, replay, verify_dump
from turnwire.csp.values import expand, refs

__all__ = [
    "WIRE",
    "Block",
    "Change",
    "Checkpoint",
    "CspMessage",
    "Document",
    "Error",
    "FileOp",
    "Generic",
    "Intent",
    "Junk",
    "LogEntry",
    "Op",
    "Patch",
    "Preamble",
    "Priority",
    "Replay",
    "Result",
    "Status",
    "Store",
    "Task",
    "Template",
    "Verdict",
    "check",
    "decode",
    "detect",
    "encode",
    "expand",
    "message",
    "parse",
    "refs",
    "replay",
    "verify_dump",
]
