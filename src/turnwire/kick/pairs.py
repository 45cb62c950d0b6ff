"""Requests and their answers in KickLang.

A Command is answered by the ``⫻report/status`` that says Completed or Failed, of the same place and correlation (that
of the command, or its id); other reports tell progress. A Query is answered by the next message of its receiver with
that correlation that is no Query, or is one that says of itself that it answers. Stops and the like ask for nothing.
"""

from __future__ import annotations

from collections.abc import Hashable

import msgspec

from turnwire.errors import DecodeError
from turnwire.kick.codec import decode
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.loops import is_answer
from turnwire.kick.tracking import first_line, task_name
from turnwire.pairs import AnswerPattern, Message, PairRule, Work, conversation, task_of, untold

_UNASKING = frozenset({"⫻command/stop", "⫻command/resume", "⫻command/pause", "⫻command/escalate"})
_ENDS = frozenset({"Completed", "Failed"})
_FAILS = frozenset({"⫻report/error", "⫻report/reject"})


class _Record(msgspec.Struct):
    id: str = ""
    channel: str = ""
    content: str = ""


_read = msgspec.json.Decoder(_Record).decode


def work(record: bytes) -> Work | None:
    """The place of the first section of an envelope's content, and whether a report ends the work there; None for what
    is not an envelope."""
    try:
        found = _read(record)
    except msgspec.DecodeError:  # our own reader takes more than the JSON of RFC 8259
        try:
            message = decode(record)
        except DecodeError:
            return None
        found = _Record(message.id, message.channel, message.content)
    final = True
    if found.channel.startswith("⫻report/"):
        final = found.channel in _FAILS or (found.channel == "⫻report/status" and first_line(found) in _ENDS)  # type: ignore[arg-type]
    family, name = channel_parts(found.channel)
    asks = not is_answer(name, found.content) if family == "query" else found.channel not in _UNASKING
    return Work(task_name(found), final, found.id or None, asks)  # type: ignore[arg-type]


def _groups(message: Message) -> list[str]:
    """The correlations that a report may name: that of the command, or the command's id."""
    own = None if message.work is None else message.work.id
    return [name for name in (message.conversation, own) if name is not None]


def _placed(message: Message) -> Hashable:
    task = task_of(message)
    return None if task is None else frozenset((group, task) for group in _groups(message))


def _to_place(message: Message) -> Hashable:
    task = task_of(message)
    return None if task is None or message.conversation is None else (message.conversation, task)


def _any_place(message: Message) -> Hashable:
    return frozenset(_groups(message))


def _to_any(message: Message) -> Hashable:
    return message.conversation if message.work is not None and message.work.task is None else None


def _unplaced(message: Message) -> Hashable:
    return frozenset(_groups(message)) if task_of(message) is None else None


def _to_unplaced(message: Message) -> Hashable:
    return message.conversation if message.work is not None else None


def _to(message: Message) -> Hashable:
    if message.receiver is None:
        return None
    if message.work is None:
        return message.conversation, message.receiver
    return frozenset((group, message.receiver) for group in _groups(message))


def _from(message: Message) -> Hashable:
    if message.kind == "Query" and (message.work is None or message.work.asks):
        return None
    return message.conversation, message.sender


_INFO = frozenset({"Info"})
_REPORT = "⫻report/"
PAIRS = (
    PairRule(
        "command",
        frozenset({"Command"}),
        (
            AnswerPattern(_INFO, _placed, _to_place, subject=_REPORT, names=True),
            AnswerPattern(_INFO, _any_place, _to_any, subject=_REPORT, names=True),
            AnswerPattern(_INFO, _unplaced, _to_unplaced, subject=_REPORT),
            AnswerPattern(_INFO, conversation, untold(conversation), subject=_REPORT),
        ),
    ),
    PairRule(
        "query", frozenset({"Query"}), (AnswerPattern(frozenset({"Info", "Alert", "Command", "Query"}), _to, _from),)
    ),
)
