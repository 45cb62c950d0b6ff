"""Requests and their answers in SSTP, where a task is an actor who is asked in a session.

A query is answered by the next knowledge of its addressee (of anybody else if it names none), a delegation by the next
message of its addressee; evidence bundles tell progress. Names are compared without case, as in sessions. Knowledge,
evidence and memory have no session_id in the templates: one without it answers what has waited longest for its
speaker, in any session.
"""

from __future__ import annotations

from turnwire.pairs import AnswerPattern, Key, PairRule
from turnwire.sstp.spec import Kind

_TO = tuple(Key((session, "folded receiver"), needs=("receiver",)) for session in ("conversation", None))
_FROM = Key(("conversation", "folded sender"))
_TO_NOBODY = tuple(Key((session,), without=("receiver",)) for session in ("conversation", None))
_KNOWLEDGE = frozenset({"knowledge"})
PAIRS = (
    PairRule(
        "query",
        frozenset({"query"}),
        (
            AnswerPattern(_KNOWLEDGE, _TO, _FROM),
            AnswerPattern(_KNOWLEDGE, _TO_NOBODY, Key(("conversation",)), others=True),
        ),
    ),
    PairRule(
        "delegation",
        frozenset({"delegation"}),
        (AnswerPattern(frozenset(kind.value for kind in Kind), _TO, _FROM),),
        progress=frozenset({"evidence_bundle"}),
    ),
)
