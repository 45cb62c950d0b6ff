"""Which message answers which, for each wire as data, and how long the answers took.

=======  ================  ===========================================================================================
wire     request           answer
=======  ================  ===========================================================================================
nslip    ASK, REQUEST      the next message back, from its receiver to its sender in the conversation
csp      TASK              the RESULT of the same id from its receiver to its sender, or their next ERROR in the context
sstp     query             the next knowledge of its addressee in the session (of anybody else where it names none);
                           names are compared without case, as in sessions
sap      Task              the Result with the same correlation id
kick     Command           the Info on ``report/*`` with the same correlation id
kick     Query             the next message of its receiver with the same correlation id that is no Query
=======  ================  ===========================================================================================

An answer in nSLIP settles every request that waits for it; in the other wires the one that has waited longest.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, deque
from collections.abc import Callable, Hashable
from math import log2
from typing import Any, NamedTuple

OPEN = 100_000
"""Requests that are waited for at once; beyond that the oldest are given up, and counted."""

STEPS = 8
"""Steps of the histogram of latencies for each doubling: what it tells is at most 2**(1/8), 9 %, above the truth."""


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


def _there(message: Message) -> Hashable:
    return message.conversation, message.sender, message.receiver


def _back(message: Message) -> Hashable:
    return message.conversation, message.receiver, message.sender


def _task(message: Message) -> Hashable:
    return message.subject, message.sender, message.receiver


def _result(message: Message) -> Hashable:
    return message.subject, message.receiver, message.sender


def _conversation(message: Message) -> Hashable:
    return message.conversation


def _to(message: Message) -> Hashable:
    return None if message.receiver is None else (message.conversation, message.receiver)


def _to_nobody(message: Message) -> Hashable:
    return (message.conversation,) if message.receiver is None else None


def _anywhere(message: Message) -> Hashable:
    return (message.conversation,)


def _from(message: Message) -> Hashable:
    return message.conversation, message.sender


def _folded(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").casefold()


def _to_folded(message: Message) -> Hashable:
    return None if message.receiver is None else (message.conversation, _folded(message.receiver))


def _from_folded(message: Message) -> Hashable:
    return message.conversation, _folded(message.sender)


def _kinds(*names: str) -> frozenset[str]:
    return frozenset(names)


PAIRS: dict[str, tuple[Rule, ...]] = {
    "nslip": (Rule("ask", _kinds("ASK", "REQUEST"), (Way(None, _there, _back),), all_at_once=True),),
    "csp": (
        Rule("task", _kinds("TASK"), (Way(_kinds("RESULT"), _task, _result), Way(_kinds("ERROR"), _there, _back))),
    ),
    "sstp": (
        Rule(
            "query",
            _kinds("query"),
            (
                Way(_kinds("knowledge"), _to_folded, _from_folded),
                Way(_kinds("knowledge"), _to_nobody, _anywhere, others=True),
            ),
        ),
    ),
    "sap": (Rule("task", _kinds("Task"), (Way(_kinds("Result"), _conversation, _conversation),)),),
    "kick": (
        Rule("command", _kinds("Command"), (Way(_kinds("Info"), _conversation, _conversation, subject="⫻report/"),)),
        Rule("query", _kinds("Query"), (Way(_kinds("Info", "Alert", "Command"), _to, _from),)),
    ),
}


class Latencies:
    """How long answers took, in bounded memory: a histogram whose steps grow by 9 %, exact at both ends."""

    def __init__(self) -> None:
        self.count = 0
        self.total = 0
        self.least: int | None = None
        self.most: int | None = None
        self._steps: Counter[int] = Counter()

    def add(self, microseconds: int) -> None:
        """One answer, not earlier than its request."""
        self.count += 1
        self.total += microseconds
        self.least = microseconds if self.least is None else min(self.least, microseconds)
        self.most = microseconds if self.most is None else max(self.most, microseconds)
        self._steps[int(log2(microseconds) * STEPS) + 1 if microseconds else 0] += 1

    def quantile(self, share: float) -> int | None:
        """Microseconds within which this share of the answers came, at most 9 % too many; None without answers."""
        wanted, seen = share * self.count, 0
        for step in sorted(self._steps):
            seen += self._steps[step]
            if seen >= wanted:
                assert self.least is not None and self.most is not None
                return max(self.least, min(self.most, int(2 ** (step / STEPS)) if step else 0))
        return None

    def steps(self) -> list[tuple[int, int]]:
        """The histogram: (microseconds at most, answers) for each step that has any."""
        return [(int(2 ** (step / STEPS)) if step else 0, self._steps[step]) for step in sorted(self._steps)]

    def to_dict(self) -> dict[str, Any]:
        """Count, and seconds: min, mean, p50, p90, p99, max (None without answers)."""
        shares = {f"p{share}": self.quantile(share / 100) for share in (50, 90, 99)}
        mean = self.total / self.count if self.count else None
        values = {"min": self.least, "mean": mean, **shares, "max": self.most}
        return {"count": self.count, **{name: None if one is None else one / 1e6 for name, one in values.items()}}


class _Open:
    __slots__ = ("message", "places")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.places: list[tuple[int, Hashable]] = []


class Pairing:
    """The open requests of one rule, and what became of the others.

    requests: how many were seen; answered: how many of them were answered; given_up: how many were too old to be
    remembered; backwards: answers with a time before their request, which tell no latency.
    """

    def __init__(self, rule: Rule, room: int = OPEN) -> None:
        self.rule = rule
        self.requests = self.answered = self.given_up = self.backwards = 0
        self.latencies = Latencies()
        self._room = room
        self._waiting: list[dict[Hashable, dict[int, _Open]]] = [{} for _ in rule.ways]
        self._order: deque[_Open] = deque()

    @property
    def waiting(self) -> int:
        """Requests without an answer so far that are not given up."""
        return self.requests - self.answered - self.given_up

    def take(self, message: Message) -> None:
        """The next message of the wire: first as an answer, then as a request of its own."""
        for number, way in enumerate(self.rule.ways):
            if way.answers is None or message.kind in way.answers:
                self._answer(number, way, message)
        if message.kind in self.rule.requests:
            self._ask(message)

    def _ask(self, message: Message) -> None:
        self.requests += 1
        request = _Open(message)
        for number, way in enumerate(self.rule.ways):
            key = way.ask(message)
            if key is not None:
                request.places.append((number, key))
                self._waiting[number].setdefault(key, {})[id(request)] = request
        self._order.append(request)
        while len(self._order) > self._room:
            oldest = self._order.popleft()
            if oldest.places:
                self._forget(oldest)
                self.given_up += 1

    def _answer(self, number: int, way: Way, message: Message) -> None:
        key = way.reply(message)
        waiting = None if key is None else self._waiting[number].get(key)
        if not waiting or not (message.subject or "").startswith(way.subject):
            return
        for request in list(waiting.values()):
            if way.others and request.message.sender == message.sender:
                continue
            self._forget(request)
            self._settle(request.message, message)
            if not self.rule.all_at_once:
                return

    def _settle(self, request: Message, answer: Message) -> None:
        self.answered += 1
        if request.time is not None and answer.time is not None:
            if answer.time >= request.time:
                self.latencies.add(answer.time - request.time)
            else:
                self.backwards += 1

    def _forget(self, request: _Open) -> None:
        for number, key in request.places:
            waiting = self._waiting[number][key]
            del waiting[id(request)]
            if not waiting:
                del self._waiting[number][key]
        request.places = []
        while self._order and not self._order[0].places:
            self._order.popleft()

    def to_dict(self) -> dict[str, Any]:
        """What became of the requests, and the latencies."""
        names = ("requests", "answered", "waiting", "given_up", "backwards")
        return {**{name: getattr(self, name) for name in names}, "seconds": self.latencies.to_dict()}
