"""KickLang envelopes as fields. The content is made and read as a whole: task id, status word and text share it."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from turnwire.conversion.context import Names
from turnwire.conversion.facts import FORMS
from turnwire.conversion.shapes import ABSENT, Fields, Path, Shape, flat, nested
from turnwire.conversion.tables import ACTS, PLACES, own_acts
from turnwire.kick import codec
from turnwire.kick.codec import Envelope
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.policy import DEFAULT_POLICY, allows
from turnwire.kick.sections import has_section
from turnwire.kick.space import first_section, is_answer
from turnwire.kick.spec import SIGIL

CARRY: Path = ("content", "carry")

CHANNEL_FAMILY = {"report": "inform", "alert": "warn", "query": "ask"}
"""The meaning of a channel whose name is no act's; a report tells by that name how the work stands. A command may
be any order, also to stop: it has none."""

CHANNEL_EXACT: dict[str, tuple[str, ...]] = {"error": ("report/error",), "warn": ()}
"""Further channels on which an act is still itself, where the policy does not let it through on the first."""

CHANNEL_NEAREST = ("query",)
"""Families that take what the policy lets through nowhere else (only the Orchestrator commands, reports go to
it, alerts to everyone); the channel's name says the act, but its type says Query, so that this is the nearest only."""

STATUS_CHANNEL = "report/status"
"""The channel of an "inform" with a status, an "accept" (its word is ``ACCEPTED``), and the "error" of a task
(``Failed``); the word is in the first line of the content."""

ACCEPTED = "Accepted"

_CARRY = f"\n{SIGIL}turnwire/carry\n"
_CHANNEL, _CONTENT, _TYPE, _CORRELATION = ("channel",), ("content",), ("type",), ("correlation_id",)
_ENDS: tuple[Path, ...] = ("sender",), ("receiver",)

_OWN = own_acts("kick")
_WORDS = set(_OWN.values())
_PLACE = re.compile(rf"[^\s{SIGIL}]*[^\s{SIGIL}/]")
_TYPES = {"command": "Command", "report": "Info", "alert": "Alert", "query": "Query"}


def split(message: Envelope) -> Fields:
    """The fields and the unknown keys by name, and what was carried, cut off from the content."""
    fields = flat(message.to_dict(), frozenset())
    main, mark, rest = fields[_CONTENT].rpartition(_CARRY)
    if mark and rest.find("\n") == len(rest) - 1:
        fields[_CONTENT] = main
        fields[CARRY] = rest[:-1]
    return fields


def join(fields: Fields) -> Envelope:
    """The envelope of its fields."""
    if CARRY in fields:
        fields = {**fields, _CONTENT: f"{fields[_CONTENT]}{_CARRY}{fields[CARRY]}\n"}
        del fields[CARRY]
    whole = nested(fields)
    envelope: Envelope | None = codec._core.build(whole)
    return Envelope.from_dict(whole) if envelope is None else envelope


def kind(fields: Fields) -> tuple[str | None, str]:
    """The channel: one of the table, else one whose name is an act's, else the act of its family; of a status, the
    word in its first line. A message marked as an answer is not a question."""
    family, name = channel_parts(fields[_CHANNEL])
    whole = f"{family}/{name}"
    if family == "query" and is_answer(name, fields[_CONTENT]):
        return "inform", ""
    if whole == STATUS_CHANNEL:
        return ("accept" if _first_line(fields[_CONTENT]) == ACCEPTED else "inform"), ""
    if whole in _OWN:
        return _OWN[whole], ""
    if name in _WORDS and family in ("report", "query"):
        return name, ""
    return CHANNEL_FAMILY.get(str(family)), ""


def near(fields: Fields) -> str | None:
    """A channel whose name says what its type does not: ``⫻query/request`` asks, and orders nothing."""
    family, name = channel_parts(fields[_CHANNEL])
    is_near = family in CHANNEL_NEAREST and name in _WORDS and name != "ask"
    return fields[_CHANNEL] if is_near else None


def _first_line(content: str) -> str:
    return next((line for line in content.split("\n") if line and line[0] != SIGIL), "")


def begin(act: str, facts: dict[str, Any]) -> tuple[str, Fields]:
    """Nothing is fixed before sender and receiver are known."""
    return "", {}


def facts(fields: Fields, kind: str, names: Names) -> dict[str, Any]:
    """Task id, status word and text of the content; a content of another form than ``_header`` gives is text whole."""
    content: str = fields[_CONTENT]
    channel = fields[_CHANNEL].removeprefix(SIGIL)
    section = first_section(content)
    place = None if section is None else section.place
    found: dict[str, Any] = {} if place is None else {"task": place}
    body: str | None = content
    ended = content if content.endswith("\n") else f"{content}\n"  # what comes back has its newline, and is not exact
    for task in (place, None):
        head = f"{_header(channel, task)}\n"
        if ended.startswith(head):
            body = ended[len(head) : -1] if ended != head else None
            break
    if body is not None and has_section(body):
        body = content  # more sections than one
    word = _status_word(channel, content if body is None else body, names, body is content)
    accepted = channel == STATUS_CHANNEL and _first_line(content) == ACCEPTED
    if word is not ABSENT and channel != STATUS_CHANNEL:
        found["status"] = word
    elif accepted or word is not ABSENT:
        if not accepted:
            found["status"] = word
        if body is not None and body is not content:
            _, newline, rest = body.partition("\n")
            body = rest if newline else None
    if body is not None:
        found["text"] = body
    return found


def _status_word(channel: str, body: str, names: Names, whole: bool) -> Any:
    family, _, name = channel.partition("/")
    if family == "report" and channel not in _OWN and name not in _WORDS:
        return FORMS["status"].read(name, names, "kick")  # ⫻report/progress, ⫻report/refusal: no plain report
    if channel != STATUS_CHANNEL:
        return ABSENT
    line = _first_line(body) if whole else body.split("\n")[0]
    return FORMS["status"].read(line, names, "kick") if line else ABSENT


def _header(channel: str, task: str | None) -> str:
    """The first line of a content: ``⫻family/name:task/001``; a dispatch is a ``⫻task/dispatch``."""
    name = channel.replace("command/", "task/", 1)
    return f"{SIGIL}{name}" if task is None else f"{SIGIL}{name}:{task}/001"


def finish(fields: Fields, facts: dict[str, Any], names: Names) -> tuple[Path, ...]:
    """Chooses the channel by the policy and writes the content."""
    act = facts["act"]
    said = "FAILED" if act == "error" and "task" in facts else facts.get("status") if act == "inform" else None
    status = ACCEPTED if act == "accept" else FORMS["status"].write(said, names, "kick")
    # What the context will say of them counts in converting back, too, since the channel will depend on it.
    ends = [names.default("kick", "", *path) if path not in fields else fields[path] for path in _ENDS]
    sender, receiver = (end if isinstance(end, str) else None for end in ends)
    channel, needed = _channel(act, sender, receiver, status is not ABSENT)
    default, correlation = fields.pop(_CONTENT, None), fields.pop(_CORRELATION, ABSENT)
    fields[_TYPE] = _TYPES[channel.partition("/")[0]]
    fields[_CHANNEL] = SIGIL + channel
    if default is None or "text" in facts:
        default = _content(channel, facts, status if channel == STATUS_CHANNEL else ABSENT)
    fields[_CONTENT] = default
    if correlation is not ABSENT:
        fields[_CORRELATION] = correlation
    return needed


@lru_cache(1024)
def _channel(act: str, sender: str | None, receiver: str | None, status: bool) -> tuple[str, tuple[Path, ...]]:
    """The first channel for an act that the policy opens to this sender and receiver, the table's where none is; and
    the further fields that it needs."""
    first = kind = ACTS[act]["kick"].kind
    exact = CHANNEL_EXACT.get(act, ())
    if status and act == "inform":
        first = STATUS_CHANNEL
    elif status and act == "error":
        exact = (STATUS_CHANNEL, *exact)
    for channel in (first, *exact, *(f"{family}/{_OWN[kind]}" for family in CHANNEL_NEAREST), first):
        row = DEFAULT_POLICY.row_for(SIGIL + channel)
        if row is None or sender is None or receiver is None:
            continue
        if allows(row.senders, sender) and allows(row.receivers, receiver):
            break
    return channel, (_CORRELATION,) if row is not None and row.correlation else ()


def _content(channel: str, facts: dict[str, Any], status: Any) -> str:
    text = facts.get("text")
    if isinstance(text, str) and has_section(text):
        return text
    task = facts.get("task")
    place = task if isinstance(task, str) and _PLACE.fullmatch(task) else None
    lines = [_header(channel, place), *([] if status is ABSENT else [status]), *([] if text is None else [text])]
    return "\n".join(lines) + "\n"


SHAPE = Shape(
    split,
    join,
    kind,
    begin,
    PLACES["kick"],
    facts,
    finish,
    CARRY,
    carry_text=True,
    fresh=frozenset({("", ("id",))}),
    opens=True,
    tells=(_CHANNEL,),
    near=near,
    finishes=frozenset({_TYPE, _CHANNEL, _CONTENT}),
)
