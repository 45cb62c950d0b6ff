"""The terms in which each wire tells which of its records answer which (``<package>/pairs.py``).

What ties an answer to its request is the piece of work that both name, the task; a wire says by its ``work`` which that
is, and whether an answer ends it. The rules are data, so that whole columns of records are paired at once.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

FIELDS = ("conversation", "sender", "receiver", "task", "id", "folded sender", "folded receiver")
"""The fields of a record that a key may have: columns that any record has, what its ``work`` says, and names in the
form of :func:`folded`."""


def folded(name: str) -> str:
    """A name as it is compared without case (NFC)."""
    return unicodedata.normalize("NFC", name).casefold()


class Work(NamedTuple):
    """The things that a record says of a piece of work, beyond the columns that any record has (``Wire.work``).

    task: its id, None where the record names none. final: whether the record, as an answer, ends it: one that does not
    tells progress. id: the record's own id, where answers name that. asks: whether it is a request at all, where its
    kind alone does not tell.
    """

    task: str | None = None
    final: bool = True
    id: str | None = None
    asks: bool = True


class Key(NamedTuple):
    """The fields (at most four of FIELDS) by which an answer finds its request: those of the one are equal to those of
    the other, in order. None stands for a field that is absent. A record has this key if it has all fields that the key
    ``needs`` and none of those that it is ``without``."""

    fields: tuple[str | None, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class AnswerPattern(NamedTuple):
    """One way of answering: a message of one of these kinds (None: any) answers a request when its key ``reply`` is a
    key ``ask`` of the request, of which there may be two. subject: how the subject of the answer begins; others: it
    is from somebody else than the request; names: it names its request, so that without one it is an orphan;
    unasking: a request of the rule is no answer."""

    answers: frozenset[str] | None
    ask: tuple[Key, ...]
    reply: Key
    subject: str = ""
    others: bool = False
    names: bool = False
    unasking: bool = False


class PairRule(NamedTuple):
    """A kind of question: its name, the kinds of message that ask it, the ways in which it is answered (at most four),
    the first that fits, whether one answer settles all questions that wait for it, and the kinds of answers that only
    tell progress."""

    name: str
    requests: frozenset[str]
    ways: tuple[AnswerPattern, ...]
    all_at_once: bool = False
    progress: frozenset[str] = frozenset()


THERE = Key(("conversation", "sender", "receiver"))
"""A request from its sender to its receiver in the conversation."""
BACK = Key(("conversation", "receiver", "sender"))
"""The request that a message from the receiver back to the sender is the answer to (see THERE)."""
