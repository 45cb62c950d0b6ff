"""Rules that define which records of a wire answer which (``PAIRS`` of ``<package>/bulk.py``).

An answer and its request name the same task; ``Pairs.work`` returns the task of a record, and whether an answer ends
it. The rules are data, so that whole columns of records are matched at once.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import NamedTuple

FINAL, ASKS, TOLD = 1, 2, 4
"""The bits of the column ``_work`` (``turnwire.contract.WORK``): an answer ends the task; a request asks for something;
both are known."""
FIELDS = ("conversation", "sender", "receiver", "task", "id", "folded sender", "folded receiver")
"""The fields of a record that a key may have: columns that any record has, what its ``work`` says, and names in the
form of :func:`folded`."""


def folded(name: str) -> str:
    """The form in which names are compared: two that are equal but for case and Unicode composition mean one actor."""
    return name.lower() if name.isascii() else unicodedata.normalize("NFC", name).casefold()


class Work(NamedTuple):
    """The information about a task in a record, beyond the common columns (``Pairs.work``).

    task: its id, or None. final: whether the record, as an answer, ends the task; otherwise it reports progress. id:
    the record's own id, if answers refer to it. asks: whether the record is a request, if its kind does not determine
    this.
    """

    task: str | None = None
    final: bool = True
    id: str | None = None
    asks: bool = True


class Key(NamedTuple):
    """The fields (at most four of FIELDS) that match an answer with its request: their values are equal, in order. None
    stands for a missing field. A record has this key if it has all fields that the key ``needs`` and none of those in
    ``without``."""

    fields: tuple[str | None, ...]
    needs: tuple[str, ...] = ()
    without: tuple[str, ...] = ()


class AnswerPattern(NamedTuple):
    """One kind of answer: a message of one of these kinds (None: any) answers a request if its key ``reply`` equals a
    key ``ask`` of the request (there may be two). subject: the beginning of the answer's subject; others: the answer
    has another sender than the request; names: the answer names its request, so that without one it is an orphan;
    unasking: a request of the rule is not an answer."""

    answers: frozenset[str] | None
    ask: tuple[Key, ...]
    reply: Key
    subject: str = ""
    others: bool = False
    names: bool = False
    unasking: bool = False


class PairRule(NamedTuple):
    """A kind of request: its name, the kinds of messages that make it, its answer patterns (at most four, of which the
    first that matches is used), whether one answer settles all waiting requests, the kinds of answers that only report
    progress, and whether any other answer ends the request, even one whose work goes on."""

    name: str
    requests: frozenset[str]
    ways: tuple[AnswerPattern, ...]
    all_at_once: bool = False
    progress: frozenset[str] = frozenset()
    any_ends: bool = False


class Pairs(NamedTuple):
    """How the records of a wire answer each other (``Wire.pairs``). rules: its kinds of requests. work: (bytes of a
    record) -> the task that it names and whether it ends the task, or None; without it, the common columns tell all."""

    rules: tuple[PairRule, ...]
    work: Callable[[bytes], Work | None] | None = None


THERE = Key(("conversation", "sender", "receiver"))
"""A request from its sender to its receiver in the conversation."""
BACK = Key(("conversation", "receiver", "sender"))
"""The request that a message from the receiver back to the sender is the answer to (see THERE)."""
