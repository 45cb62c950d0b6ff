"""Pairs messages with their answers, and measures how long these took.

The rules (which kinds ask, which answer) are data of each wire: ``<package>/pairs.py``, in the terms of
``turnwire.pairs``.

An answer settles the request of its task; where it names none, the one that has waited longest, or every one where its
rule says so. What only tells progress settles nothing.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from functools import partial
from hashlib import blake2b
from heapq import heappop, heappush
from math import log2
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.pairs import AnswerPattern, Message, PairRule, Work
from turnwire.read.coding import Coded, coded_column

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

OPEN = 100_000
"""Requests that are waited for at once; beyond that the oldest are given up, and counted."""

_KINDS = 256  # of messages, for which the ways of answering are remembered

LONGEST = 256
"""Characters of an id beyond which its digest stands for it."""

STEPS = 8
"""Steps of the histogram of latencies for each doubling: what it tells is at most 2**(1/8), 9 %, above the truth."""


class Latencies:
    """Latencies of answers, in bounded memory: a histogram whose steps grow by 9 %, exact at both ends."""

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


Settled = Callable[[Message, int], None]
"""Is told a request that was answered, and after how many microseconds."""


class _Open:
    __slots__ = ("message", "places")

    def __init__(self, message: Message) -> None:
        self.message = message
        self.places: list[tuple[int, Hashable]] = []


class _Many:
    """Requests that wait under one key, oldest first: a dict of which the first of another sender is found at once."""

    __slots__ = ("_count", "_heads", "_of", "_senders")

    def __init__(self, several: dict[int, _Open]) -> None:
        self._count = 0
        self._of: dict[str | None, OrderedDict[int, tuple[int, _Open]]] = {}  # by sender, each with its turn
        self._senders: dict[int, str | None] = {}
        self._heads: list[tuple[int, str | None]] = []  # a heap: the first turn of each sender, and turns that are over
        for name, request in several.items():
            self[name] = request

    def __len__(self) -> int:
        return len(self._senders)

    def __setitem__(self, name: int, request: _Open) -> None:
        sender = self._senders[name] = request.message.sender
        self._count += 1
        if sender not in self._of:
            self._of[sender] = OrderedDict()
            heappush(self._heads, (self._count, sender))
        self._of[sender][name] = self._count, request

    def pop(self, name: int, default: None) -> None:
        """Takes a request out, if it is there."""
        if name not in self._senders:
            return
        sender = self._senders.pop(name)
        own = self._of[sender]
        turn, _ = own.pop(name)
        if not own:
            del self._of[sender]
        elif turn < (first := next(iter(own.values()))[0]):
            heappush(self._heads, (first, sender))

    def first(self, others: bool, sender: str | None) -> _Open | None:
        """The oldest one; others: of another sender than this."""
        held, found = None, None
        while self._heads and found is None:
            turn, known = self._heads[0]
            first = next(iter(self._of[known].values())) if known in self._of else (0, None)
            if first[0] != turn:
                heappop(self._heads)
            elif others and known == sender:
                held = heappop(self._heads)
            else:
                found = first[1]
        if held is not None:
            heappush(self._heads, held)
        return found


_FEW = 8
"""So many requests under a key are looked through one by one."""


def _put(table: dict[Hashable, dict[int, _Open] | _Many], key: Hashable, request: _Open) -> None:
    several = table.setdefault(key, {})
    if len(several) >= _FEW and isinstance(several, dict):
        several = table[key] = _Many(several)
    several[id(request)] = request


def _first(several: dict[int, _Open] | _Many, others: bool, sender: str | None) -> _Open | None:
    """The oldest request; others: of another sender than this."""
    if not isinstance(several, dict):
        return several.first(others, sender)
    return next((one for one in several.values() if not others or one.message.sender != sender), None)


class _Early:
    """Answers that named a request which had not been seen: how many, and the first that is final."""

    __slots__ = ("answer", "count")

    def __init__(self) -> None:
        self.count = 0
        self.answer: Message | None = None


class Pairing:
    """The open requests of one rule, and what became of the others.

    requests: how many were seen; answered: how many of them were answered for good; progress: answers that only tell
    how the work goes; orphans: answers that name a request which is not there; ahead: answers that came before their
    request; further: answers to what had been answered; backwards: answers behind their request with a time before it,
    which tell no latency (nor does one that came ahead with such a time: no clock went back there); given_up: how many
    requests were too old to be remembered.
    """

    def __init__(self, rule: PairRule, room: int = OPEN, settled: Settled | None = None) -> None:
        self.rule = rule
        self._settled = settled
        self.requests = self.answered = self.given_up = self.backwards = 0
        self.progress = self.orphans = self.ahead = self.further = 0
        self.latencies = Latencies()
        self._room = room
        self._waiting: list[dict[Hashable, dict[int, _Open] | _Many]] = [{} for _ in rule.ways]
        self._ways: dict[str | None, list[tuple[int, AnswerPattern]]] = {}
        self._order: deque[_Open] = deque()
        # By way and key, the newest last. The first of a dict is looked for behind all that were forgotten before it.
        self._ended: OrderedDict[tuple[int, Hashable], None] = OrderedDict()
        self._early: OrderedDict[tuple[int, Hashable], _Early] = OrderedDict()

    @property
    def seen(self) -> bool:
        """True if there was a request, or an answer that names one."""
        return bool(self.requests or self.orphans)

    @property
    def waiting(self) -> int:
        """Requests without an answer so far that are not given up."""
        return self.requests - self.answered - self.given_up

    def take(self, message: Message) -> None:
        """The next message of the wire: first as an answer, then as a request of its own."""
        named = asked = key = None
        ways = self._ways.get(message.kind)
        for number, way in self._of_kind(message.kind) if ways is None else ways:
            if way.reply is not asked:  # two ways may ask for the same
                asked, key = way.reply, way.reply(message)
            if key is None or (way.subject and not (message.subject or "").startswith(way.subject)):
                continue
            if key in self._waiting[number] and self._answer(number, key, way, message):
                named = None
                break
            named = (number, key) if way.names and named is None else named
        if named is not None:
            self._unasked(named, message)
        if message.kind in self.rule.requests and (message.work is None or message.work.asks):
            self._ask(message)

    def _of_kind(self, kind: str | None) -> list[tuple[int, AnswerPattern]]:
        """The ways in which messages of a kind may answer, with their numbers."""
        ways = [
            (number, one) for number, one in enumerate(self.rule.ways) if one.answers is None or kind in one.answers
        ]
        if len(self._ways) < _KINDS:
            self._ways[kind] = ways
        return ways

    def _ask(self, message: Message) -> None:
        self.requests += 1
        request = _Open(message)
        for number, way in enumerate(self.rule.ways):
            key = way.ask(message)
            for one in key if isinstance(key, frozenset) else () if key is None else (key,):
                request.places.append((number, one))
        if self._was_answered(request):
            return
        for number, one in request.places:
            _put(self._waiting[number], one, request)
            self._ended.pop((number, one), None)
        self._order.append(request)
        while len(self._order) > self._room:
            oldest = self._order.popleft()
            if oldest.places:
                self._forget(oldest)
                self.given_up += 1

    def _was_answered(self, request: _Open) -> bool:
        """Looks for answers that came before their request."""
        early = next((found for place in request.places if (found := self._early.pop(place, None))), None)
        if early is None:
            return False
        self.orphans -= early.count
        self.ahead += early.count
        if early.answer is None:
            return False
        self._settle(request, early.answer, ahead=True)
        self._end(request)
        return True

    def _answer(self, number: int, key: Hashable, way: AnswerPattern, message: Message) -> bool:
        """True if a request waits for this answer."""
        waiting, found = self._waiting[number][key], False
        while (request := _first(waiting, way.others, message.sender)) is not None:
            found = True
            if message.work is not None and not message.work.final:
                self.progress += 1
                break
            self._forget(request)
            self._settle(request, message)
            if not self.rule.all_at_once:
                break
        return found

    def _unasked(self, place: tuple[int, Hashable], message: Message) -> None:
        """An answer that names a request which does not wait for it."""
        if place in self._ended:
            self.further += 1
            return
        self.orphans += 1
        early = self._early.pop(place, None) or _Early()
        early.count += 1
        if early.answer is None and (message.work is None or message.work.final):
            early.answer = message
        self._early[place] = early
        while len(self._early) > self._room:
            self._early.popitem(last=False)

    def _settle(self, request: _Open, answer: Message, ahead: bool = False) -> None:
        self.answered += 1
        asked = request.message
        if asked.time is not None and answer.time is not None:
            if answer.time >= asked.time:
                self.latencies.add(answer.time - asked.time)
                if self._settled is not None:
                    self._settled(asked, answer.time - asked.time)
            elif not ahead:
                self.backwards += 1

    def _forget(self, request: _Open) -> None:
        for number, key in request.places:
            waiting = self._waiting[number].get(key)
            if waiting is None:
                continue
            waiting.pop(id(request), None)
            if not waiting:
                del self._waiting[number][key]
        self._end(request)
        request.places = []
        while self._order and not self._order[0].places:
            self._order.popleft()

    def _end(self, request: _Open) -> None:
        """A further answer that names the request is not an orphan."""
        for number, key in request.places:
            if self.rule.ways[number].names:
                self._ended.pop((number, key), None)
                self._ended[number, key] = None
        while len(self._ended) > self._room:
            self._ended.popitem(last=False)

    def to_dict(self) -> dict[str, Any]:
        """The outcome of the requests, and the latencies."""
        names = ("requests", "answered", "waiting", "given_up", "backwards", "progress", "orphans", "ahead", "further")
        return {**{name: getattr(self, name) for name in names}, "seconds": self.latencies.to_dict()}


class Pairs:
    """All rules of all wires over the records of a log, in their order. ``found``: (wire, rule) -> its pairing."""

    def __init__(self, room: int = OPEN, settled: Callable[[str, Message, int], None] | None = None) -> None:
        wires = registry.wires()
        self.found = {
            (name, rule.name): Pairing(rule, room, None if settled is None else partial(settled, name))
            for name, wire in wires.items()
            for rule in wire.pairs
        }
        self._pairings = {
            name: [self.found[name, rule.name] for rule in wire.pairs] for name, wire in wires.items() if wire.pairs
        }
        self._works = {name: wire.work for name, wire in wires.items() if wire.pairs and wire.has("work")}
        self._kinds = {name: _kinds(wire.pairs) for name, wire in wires.items() if wire.pairs}

    def take_batch(self, batch: Batch, wires: Coded) -> None:
        """The records of a batch that has their columns; of those that no rule asks about nothing is looked at."""
        kinds = coded_column(batch, "kind")
        wanted = np.zeros(len(batch), bool)
        for code in np.unique(wires.codes).tolist():
            name = wires.names[code]
            if name in self._pairings:
                known = self._kinds[name]
                asked = [known is None or kind in known for kind in kinds.names] + [known is None]
                wanted |= (wires.codes == code) & np.array(asked)[kinds.codes]
        rows = np.flatnonzero(wanted)
        if not len(rows):
            return
        names = ("sender", "receiver", "conversation", "subject")
        columns = [kinds.of(rows).values(), *(coded_column(batch, name).of(rows).values() for name in names)]
        timed = batch.valid("time")[rows].tolist()
        moments = (time if there else None for time, there in zip(batch["time"][rows].tolist(), timed, strict=True))
        messages = zip(*columns, moments, strict=True)
        for wire, raw, message in zip(wires.of(rows).values(), batch.raws(rows), messages, strict=True):
            self.take(str(wire), raw, message)

    def take(self, wire: str, raw: bytes, columns: tuple[Any, ...]) -> None:
        """One record: its bytes, and what :class:`turnwire.pairs.Message` has of its columns."""
        pairings = self._pairings.get(wire)
        if pairings is None:
            return
        kinds = self._kinds[wire]
        if kinds is not None and columns[0] not in kinds:
            return
        work = self._works.get(wire)
        message = Message._make((*columns, None if work is None else _short(work(raw))))
        for pairing in pairings:
            pairing.take(message)


def _kinds(rules: tuple[PairRule, ...]) -> frozenset[str] | None:
    known = [rule.kinds for rule in rules]
    return None if None in known else frozenset().union(*known)  # type: ignore[arg-type]


def _short(work: Work | None) -> Work | None:
    """The same with ids that take little memory: they are the log's."""
    if work is None or max(len(work.task or ""), len(work.id or "")) <= LONGEST:
        return work
    return work._replace(task=_digest(work.task), id=_digest(work.id))


def _digest(name: str | None) -> str | None:
    if name is None or len(name) <= LONGEST:
        return name
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
