"""What answers what in CSP/1: a TASK the RESULT of the same id from its receiver to its sender, or their next ERROR in
the context."""

from __future__ import annotations

from collections.abc import Hashable

from turnwire.pairs import Message, Rule, Way, back, there


def _task(message: Message) -> Hashable:
    return message.subject, message.sender, message.receiver


def _result(message: Message) -> Hashable:
    return message.subject, message.receiver, message.sender


PAIRS = (
    Rule(
        "task",
        frozenset({"TASK"}),
        (Way(frozenset({"RESULT"}), _task, _result), Way(frozenset({"ERROR"}), there, back)),
    ),
)
