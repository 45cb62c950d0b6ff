"""KickLang in logs, as data for the search: what makes an object an envelope, what counts as damage, its columns, and
which messages answer each other.

A Command is answered by the ``⫻report/status`` that says Completed or Failed, of the same place and correlation (that
of the command, or its id); other reports show progress. A Query is answered by the next message of its receiver with
that correlation that is no Query, or is one that says of itself that it answers. Stops and the like ask for nothing.
"""

from __future__ import annotations

from turnwire._lazy import Deferred
from turnwire.contract import BulkScanner, Column
from turnwire.errors import DecodeError, Reason
from turnwire.json.plan import Fill, Need, Sign, Value, Variant, WirePlan
from turnwire.json.scanner import scanner
from turnwire.kick.space import DOCUMENTS, read_record
from turnwire.kick.spec import BAD_TYPE, DOCUMENT, FIELDS, MISSING, REQUIRED_FIELDS, ROLES, SIGIL, TYPES, WIRE
from turnwire.pairs import AnswerPattern, Key, PairRule, Pairs, Work

COLUMNS = (
    Column("id", "text", nullable=True),
    Column("sender", "text", nullable=True),
    Column("receiver", "text", nullable=True),
    Column("type", "enum", names=(*TYPES, DOCUMENT)),
    Column("channel", "text", nullable=True),
    Column("family", "text", nullable=True),
    Column("correlation_id", "text", nullable=True),
    Column("timestamp", "text", nullable=True),
    Column("content", "text"),
    Column("sections", "i64"),
    Column("subject", "text"),
)
"""A document has ``type``, ``content`` (all of it), ``sections`` and ``subject`` (its first header line) alone."""

_FORMS = {"type": ("word", tuple(TYPES)), "channel": ("channel", ())}
_BAD = {"type": Reason.BAD_ENUM_TYPE, "channel": Reason.BAD_CHANNEL}
_TEXTS = ("id", "sender", "receiver", "channel", "correlation_id", "timestamp", "content")
_VARIANT = Variant(
    "envelope",
    tuple(
        Need(
            name,
            ("good",) if name in _FORMS else ("string",),
            name in REQUIRED_FIELDS,
            missing=MISSING.get(name),
            wrong=BAD_TYPE[name],
            bad=_BAD.get(name),
        )
        for name in FIELDS
    ),
    (
        *(Fill(name, "text", name) for name in _TEXTS),
        Fill("type", "word", "type"),
        Fill("subject", "text", "channel"),
        Fill("family", "family", "channel"),
        Fill("sections", "sections", "content"),
        Fill("time", "time", "timestamp"),
        Fill("_task", "section", "channel", "content"),
        Fill("_asker", "text", "id"),
        Fill("_work", "standing", "channel", "content"),
    ),
)
_OWN_ROLES = frozenset(ROLES) - {"Human", "Supervisor", "Dima"}
"""Roles that nobody else has."""
_ROLE_VALUES = tuple(f'{role}"' for role in sorted(_OWN_ROLES))
_TYPE_VALUES = tuple(f'{kind}"' for kind in TYPES)
_CLAIMED = (
    (Sign(("channel",), values=(SIGIL,)), Sign(REQUIRED_FIELDS, 2)),
    (Sign(("content",), values=(SIGIL,)), Sign(REQUIRED_FIELDS, 4), Sign(("sender", "receiver"))),
    (Sign(REQUIRED_FIELDS, len(REQUIRED_FIELDS) - 1), Sign(("sender", "receiver"), values=_ROLE_VALUES)),
    (Sign(REQUIRED_FIELDS, len(REQUIRED_FIELDS)), Sign(("type",), values=_TYPE_VALUES)),
)
"""An object that is not an envelope is a damaged one: its channel starts with the sigil and it has a further field; or
its content does and it has four fields; or it has all seven and a type of KickLang, or all but one and a role of it. A
sender, a receiver and a channel are anybody's."""

_WRITTEN_SIGIL = (SIGIL, "\\u2afb")
_BOTH = Sign(("sender", "receiver"), 2)
SIGNS = (
    (
        Sign(("channel",), values=_WRITTEN_SIGIL, cased=False),
        Sign(tuple(name for name in REQUIRED_FIELDS if name != "channel")),
    ),
    (Sign(("sender",)), Sign(("timestamp",)), Sign(("sender", "receiver"), values=_ROLE_VALUES)),
    (_BOTH, Sign(("content",), values=_WRITTEN_SIGIL, cased=False)),
    (_BOTH, Sign(("channel",)), Sign(("type",), values=_TYPE_VALUES)),
)
"""Damaged bytes were an envelope: a channel that starts with the sigil and a further key; or a sender, a role of
KickLang and a timestamp; or sender and receiver with a content that starts with the sigil, or with a channel and a type
of KickLang."""


_DECODE = Deferred("turnwire.kick.codec", "decode")
PLAN = WirePlan(
    wire=WIRE,
    values=tuple(Value(name, *_FORMS.get(name, ())) for name in FIELDS),
    variants=(_VARIANT,),
    choose="only",
    detect=Deferred("turnwire.kick.codec", "detect"),
    decode=_DECODE,
    claimed=_CLAIMED,
    signs=SIGNS,
    clues=(("channel",), ("sender", "receiver", "content")),
    inside=("channel", "sender"),
    torn=("channel", "sender"),
)


SCANNER: BulkScanner = scanner(
    (PLAN,),
    COLUMNS,
    decode=read_record,
    fault=Deferred("turnwire.kick.messages", "field_fault"),
    common={"kind": ("column", "type"), "conversation": ("column", "correlation_id"), "subject": ("column", "subject")},
    documents=DOCUMENTS,
)


_UNASKING = frozenset({"⫻command/stop", "⫻command/resume", "⫻command/pause", "⫻command/escalate"})
_ENDS = frozenset({"Completed", "Failed"})
_FAILS = frozenset({"⫻report/error", "⫻report/reject"})


def work(record: bytes) -> Work | None:
    """The place of the first section of an envelope's content, and whether a report ends the work there; None for what
    is not an envelope."""
    from turnwire.kick.messages import channel_parts
    from turnwire.kick.space import first_line, is_answer, task_name

    try:
        found = _DECODE(record)
    except DecodeError:
        return None
    final = True
    if found.channel.startswith("⫻report/"):
        final = found.channel in _FAILS or (found.channel == "⫻report/status" and first_line(found) in _ENDS)
    family, name = channel_parts(found.channel)
    asks = not is_answer(name, found.content) if family == "query" else found.channel not in _UNASKING
    return Work(task_name(found), final, found.id or None, asks)


def _groups(*more: str, needs: tuple[str, ...] = (), without: tuple[str, ...] = ()) -> tuple[Key, Key]:
    """The correlations that a report may name, that of the command or the command's id, each with more fields."""
    return (
        Key(("conversation", *more), ("conversation", *needs), without),
        Key(("id", *more), ("id", *needs), without),
    )


_TOGETHER, _TASK = ("conversation",), ("conversation", "task")


def _report(ask: tuple[Key, Key], reply: Key, names: bool = False) -> AnswerPattern:
    return AnswerPattern(frozenset({"Info"}), ask, reply, subject="⫻report/", names=names)


PAIRS = Pairs(
    (
        PairRule(
            "command",
            frozenset({"Command"}),
            (
                _report(_groups("task", needs=("task",)), Key(_TASK, _TASK), names=True),
                _report(_groups(), Key(_TOGETHER, _TOGETHER, without=("task",)), names=True),
                _report(_groups(without=("task",)), Key(_TOGETHER, _TOGETHER)),
            ),
        ),
        PairRule(
            "query",
            frozenset({"Query"}),
            (
                AnswerPattern(
                    frozenset({"Info", "Alert", "Command", "Query"}),
                    _groups("receiver", needs=("receiver",)),
                    Key(("conversation", "sender")),
                    unasking=True,
                ),
            ),
            any_ends=True,
        ),
    ),
    work,
)
