"""What answers what in KickLang: a Command the Info on ``report/*`` with the same correlation id, a Query the next
message of its receiver with that correlation id that is no Query."""

from __future__ import annotations

from collections.abc import Hashable

from turnwire.pairs import Message, Rule, Way, conversation


def _to(message: Message) -> Hashable:
    return None if message.receiver is None else (message.conversation, message.receiver)


def _from(message: Message) -> Hashable:
    return message.conversation, message.sender


PAIRS = (
    Rule(
        "command", frozenset({"Command"}), (Way(frozenset({"Info"}), conversation, conversation, subject="⫻report/"),)
    ),
    Rule("query", frozenset({"Query"}), (Way(frozenset({"Info", "Alert", "Command"}), _to, _from),)),
)
