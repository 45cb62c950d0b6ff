"""Requests and their answers in SSTP, where a task is an actor who is asked in a session.

A query is answered by the next knowledge of its addressee (of anybody else if it names none), a delegation by the next
message of its addressee; evidence bundles tell progress. Names are compared without case, as in sessions. Knowledge,
evidence and memory have no session_id in the templates: one without it answers what has waited longest for its
speaker, in any session.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Hashable

from turnwire.pairs import AnswerPattern, Message, PairRule, Work
from turnwire.sstp.spec import Kind


def _folded(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").casefold()


def _to(message: Message) -> Hashable:
    if message.receiver is None:
        return None
    asked = _folded(message.receiver)
    return frozenset({(message.conversation, asked), (None, asked)})


def _from(message: Message) -> Hashable:
    return message.conversation, _folded(message.sender)


def _to_nobody(message: Message) -> Hashable:
    return frozenset({(message.conversation,), (None,)}) if message.receiver is None else None


def _anywhere(message: Message) -> Hashable:
    return (message.conversation,)


_BUNDLE = b'"evidence_bundle"'


def work(record: bytes) -> Work:
    """True if an answer to a delegation ends it: a bundle of evidence does not."""
    return Work(None, _BUNDLE not in record)


PAIRS = (
    PairRule(
        "query",
        frozenset({"query"}),
        (
            AnswerPattern(frozenset({"knowledge"}), _to, _from),
            AnswerPattern(frozenset({"knowledge"}), _to_nobody, _anywhere, others=True),
        ),
    ),
    PairRule(
        "delegation", frozenset({"delegation"}), (AnswerPattern(frozenset(kind.value for kind in Kind), _to, _from),)
    ),
)
