"""How the records of a wire answer each other: the terms in which each wire says it (``<package>/pairs.py``)."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple


class Message(NamedTuple):
    """What pairing looks at: the common columns of one record, absent ones None; time in microseconds."""

    kind: str | None
    sender: str | None
    receiver: str | None
    conversation: str | None
    subject: str | None
    time: int | None


class Way(NamedTuple):
    """One way of answering: a message of one of these kinds (None: any) answers a request when ``reply`` of it is
    ``ask`` of the request, and not None. subject: how the subject of the answer begins; others: it is from somebody
    else than the request."""

    answers: frozenset[str] | None
    ask: Callable[[Message], Hashable]
    reply: Callable[[Message], Hashable]
    subject: str = ""
    others: bool = False


class Rule(NamedTuple):
    """A kind of question: its name, the kinds of message that ask it, the ways in which it is answered, and whether one
    answer settles all questions that wait for it."""

    name: str
    requests: frozenset[str]
    ways: tuple[Way, ...]
    all_at_once: bool = False


def there(message: Message) -> Hashable:
    """A request from its sender to its receiver in the conversation."""
    return message.conversation, message.sender, message.receiver


def back(message: Message) -> Hashable:
    """What a message from the receiver back to the sender is the answer to (see :func:`there`)."""
    return message.conversation, message.receiver, message.sender


def conversation(message: Message) -> Hashable:
    """Any message of the same conversation."""
    return message.conversation
