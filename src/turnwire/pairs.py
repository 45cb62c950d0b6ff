"""The terms in which each wire tells which of its records answer which (``<package>/pairs.py``).

What ties an answer to its request is the piece of work that both name, the task; a wire says by its ``work`` which that
is, and whether an answer ends it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple


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


class Message(NamedTuple):
    """The part of a record that pairing looks at: the common columns of one record, absent ones None; time in
    microseconds; and its work, None where its wire does not tell."""

    kind: str | None
    sender: str | None
    receiver: str | None
    conversation: str | None
    subject: str | None
    time: int | None
    work: Work | None = None


class AnswerPattern(NamedTuple):
    """One way of answering: a message of one of these kinds (None: any) answers a request when ``reply`` of it is
    ``ask`` of the request, and not None. ``ask`` may give a frozenset of which each fits. subject: how the subject of
    the answer begins; others: it is from somebody else than the request; names: it names its request, so that without
    one it is an orphan."""

    answers: frozenset[str] | None
    ask: Callable[[Message], Hashable]
    reply: Callable[[Message], Hashable]
    subject: str = ""
    others: bool = False
    names: bool = False


class PairRule(NamedTuple):
    """A kind of question: its name, the kinds of message that ask it, the ways in which it is answered, the first that
    fits, and whether one answer settles all questions that wait for it."""

    name: str
    requests: frozenset[str]
    ways: tuple[AnswerPattern, ...]
    all_at_once: bool = False

    @property
    def kinds(self) -> frozenset[str] | None:
        """The kinds of message that it concerns; None for all."""
        answers = [way.answers for way in self.ways]
        known = [kinds for kinds in answers if kinds is not None]
        return self.requests.union(*known) if len(known) == len(answers) else None


def there(message: Message) -> Hashable:
    """A request from its sender to its receiver in the conversation."""
    return message.conversation, message.sender, message.receiver


def back(message: Message) -> Hashable:
    """The request that a message from the receiver back to the sender is the answer to (see :func:`there`)."""
    return message.conversation, message.receiver, message.sender


def conversation(message: Message) -> Hashable:
    """Any message of the same conversation."""
    return message.conversation


def task_of(message: Message) -> str | None:
    """The id of the task that a message names."""
    return None if message.work is None else message.work.task


def untold(key: Callable[[Message], Hashable]) -> Callable[[Message], Hashable]:
    """The same key, of messages whose work is not known."""
    return lambda message: key(message) if message.work is None else None
