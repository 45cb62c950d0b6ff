"""Requests and their answers in KickLang.

A Command is answered by the ``⫻report/status`` that says Completed or Failed, of the same place and correlation (that
of the command, or its id); other reports show progress. A Query is answered by the next message of its receiver with
that correlation that is no Query, or is one that says of itself that it answers. Stops and the like ask for nothing.
"""

from __future__ import annotations

from turnwire.errors import DecodeError
from turnwire.kick.codec import decode
from turnwire.kick.envelope_methods import channel_parts
from turnwire.kick.space import first_line, is_answer, task_name
from turnwire.pairs import AnswerPattern, Key, PairRule, Work

_UNASKING = frozenset({"⫻command/stop", "⫻command/resume", "⫻command/pause", "⫻command/escalate"})
_ENDS = frozenset({"Completed", "Failed"})
_FAILS = frozenset({"⫻report/error", "⫻report/reject"})


def work(record: bytes) -> Work | None:
    """The place of the first section of an envelope's content, and whether a report ends the work there; None for what
    is not an envelope."""
    try:
        found = decode(record)
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


PAIRS = (
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
)
