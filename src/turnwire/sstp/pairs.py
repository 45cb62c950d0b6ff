"""What answers what in SSTP: a query the next knowledge of its addressee in the session (of anybody else where it names
none). Names are compared without case, as in sessions."""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable

from turnwire.pairs import Message, Rule, Way


def _folded(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").casefold()


def _to(message: Message) -> Hashable:
    return None if message.receiver is None else (message.conversation, _folded(message.receiver))


def _from(message: Message) -> Hashable:
    return message.conversation, _folded(message.sender)


def _to_nobody(message: Message) -> Hashable:
    return (message.conversation,) if message.receiver is None else None


def _anywhere(message: Message) -> Hashable:
    return (message.conversation,)


PAIRS = (
    Rule(
        "query",
        frozenset({"query"}),
        (
            Way(frozenset({"knowledge"}), _to, _from),
            Way(frozenset({"knowledge"}), _to_nobody, _anywhere, others=True),
        ),
    ),
)
