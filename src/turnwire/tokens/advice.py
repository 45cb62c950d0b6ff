"""The tokens of a log and their price, in its own wire and in others, in JSON, in TOON and as a session; and what to
change first.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import turnwire
from turnwire import registry
from turnwire.errors import Reason
from turnwire.showing import counted
from turnwire.tokens.comparison import FORMATS, Comparison, Report, Row, Section, compare, text_of
from turnwire.tokens.tokenizer import DEFAULT, Tokenizer, load

KEEP = 10
_READ = ("line", "wire", "conversation")
"""The columns that are read of each message, beside its bytes."""


class Price(NamedTuple):
    """The price of a million input tokens.

    input: uncached tokens. cached: tokens of a cached prefix; None: no discount.
    """

    input: float
    cached: float | None = None

    def of(self, fresh: float, cached: float = 0) -> float:
        """Returns the cost of a number of tokens."""
        again = self.input if self.cached is None else self.cached
        return (fresh * self.input + cached * again) / 1e6


def priced(prices: Mapping[str, Any] | None) -> dict[str, Price]:
    """Tokenizer -> Price, from prices, numbers, pairs (input, cached) or mappings. Raises ValueError for all else."""
    found = {}
    for name, given in (prices or {}).items():
        try:
            if isinstance(given, Mapping):
                given = Price(**given)
            price = Price(*(given if isinstance(given, (tuple, list)) else (given,)))
            is_fair = all(each is None or 0 <= each < float("inf") for each in (price.input, price.cached))
            cached = None if price.cached is None else float(price.cached)
            found[name] = price._replace(input=float(price.input), cached=cached)
        except TypeError:
            raise ValueError(f"the price of {name}: expected a number, (input, cached) or a Price") from None
        if not is_fair:
            raise ValueError(f"the price of {name} is not a number of at least 0")
    return found


class LargeMessage(NamedTuple):
    """A message in a log: its tokens, and where it is."""

    tokens: int
    file: str | None
    line: int
    conversation: str | None


class TokenUse:
    """The tokens of a wire's messages with one tokenizer.

    Attributes:
        wire, tokenizer: which. messages: how many. bytes: of the messages as written. tokens: every message read once.
        cached: what is read again when each turn of a conversation is sent with all turns before it, which is a prefix
        that a model may hold in its cache. conversations: the tokens of each; messages without one are priced alone.
        largest: the messages with the most tokens, in that order. over: how many went over the budget of a message.
    """

    def __init__(self, wire: str, tokenizer: str) -> None:
        self.wire = wire
        self.tokenizer = tokenizer
        self.messages = self.bytes = self.tokens = self.cached = self.over = 0
        self.conversations: dict[Hashable, int] = {}
        self.largest: list[LargeMessage] = []

    def add(
        self, counts: Sequence[int], known: Sequence[str | None], file: str | None, lines: Any, budget: int | None
    ) -> None:
        """Messages of one file in the order of the log: their tokens, conversations (None: of none) and lines."""
        least = self.largest[-1].tokens if len(self.largest) == KEEP else -1
        large = []
        for count, conversation, line in zip(counts, known, lines, strict=True):
            if conversation is not None:
                before = self.conversations.get(conversation, 0)
                self.cached += before
                self.conversations[conversation] = before + count
            if count > least:
                large.append(LargeMessage(count, file, int(line), conversation))
        self.messages += len(counts)
        self.tokens += sum(counts)
        if budget is not None:
            self.over += sum(count > budget for count in counts)
        # Of equals the first are kept.
        self.largest = heapq.nlargest(KEEP, [*self.largest, *large], key=lambda each: each.tokens)


class CountedLog(NamedTuple):
    """A log, counted: (wire, tokenizer) -> TokenUse; wire -> sample of its messages; how many records were damaged; a
    sample of all messages in their order."""

    spent: dict[tuple[str, str], TokenUse]
    samples: dict[str, Sample]
    damaged: int
    whole: Sample


class Sample:
    """A fair sample of what is offered: every message has the same chance, and every run takes the same.

    Attributes:
        size, seen, messages: how many are wanted, how many were offered, those that were kept. first: the first ones,
        as they follow each other: what a conversation costs is not seen in single messages. texts: messages as they are
        written in the log.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.seen = 0
        self.messages: list[Any] = []
        self.first: list[Any] = []
        self.texts: list[str] = []
        self._random = random.Random(0)

    def wants(self) -> int | None:
        """The place of the next message, or None when it is not wanted. To be asked once for every message."""
        self.seen += 1
        if len(self.messages) < self.size:
            self.messages.append(None)
            self.texts.append("")
            return len(self.messages) - 1
        place = self._random.randrange(self.seen) if self.size else 0
        return place if place < self.size else None

    def offer(self, batch: Any, rows: Iterable[int]) -> None:
        """Keeps of the messages in these rows of a batch those that are wanted, and how they are written."""
        for row in rows:
            if (place := self.wants()) is not None:
                self.messages[place] = message = batch.message(row)
                self.texts[place] = bytes(batch.raw(row)).decode()
                if len(self.first) < FIRST and place == self.seen - 1:
                    self.first.append(message)


FIRST = 200
"""Messages that are kept as they follow each other."""


def spend(
    source: Any,
    tokenizers: Sequence[Tokenizer],
    *,
    wire: str | None = None,
    budget: int | None = None,
    sample: int = 0,
    threads: int = 1,
    progress: Any = None,
) -> CountedLog:
    """Counts all messages of a log, or those of one wire, in one scan; ``sample`` messages of each wire are kept, and
    as many of all together. progress: as ``turnwire.scan`` takes it."""
    spent: dict[tuple[str, str], TokenUse] = {}
    names = registry.names()
    samples: dict[str, Sample] = {}
    whole = Sample(sample)
    scan = turnwire.scan(source, wire=wire, columns=_READ, errors="skip", progress=progress)
    for batch in scan:
        codes = batch.codes("wire")
        whole.offer(batch, range(len(codes)) if sample else ())
        for code in np.unique(codes).tolist():
            name, rows = names[code], np.flatnonzero(codes == code).tolist()
            samples.setdefault(name, Sample(sample)).offer(batch, rows)
            raws = [bytes(batch.raw(row)) for row in rows]
            texts = [raw.decode() for raw in raws]
            conversations, lines = batch["conversation"], batch["line"]
            known = [conversations[row] for row in rows]
            for counter in tokenizers:
                own = spent.setdefault((name, counter.name), TokenUse(name, counter.name))
                own.bytes += sum(map(len, raws))
                own.add(counter.count_many(texts, threads), known, batch.file, lines[rows], budget)
    ordered = {key: spent[key] for key in sorted(spent, key=lambda key: names.index(key[0]))}
    samples = {name: samples[name] for name in names if name in samples}
    return CountedLog(ordered, samples, scan.counts.rejects, whole)


BASE, TABULAR, SESSION = "json", "toon", "session"
REFERENCES = (BASE, TABULAR, SESSION)
"""The formats that messages are compared with as one text."""
ALL = "all wires"
"""Stands for the wire of a log that has messages of several."""

COLUMNS = ("log", "wire", "messages", "tokens", "cached", "once", "growing", "uncached", "carries all", "dropped")
ESTIMATED = "≈: estimated from a sample; for a session, from the first messages"
NUMBERS = frozenset({"messages", "tokens", "cached", "once", "growing", "uncached"})

CACHED = "cached: read again when each turn is sent with all earlier ones, as a prefix in the model's cache"
PRICED = (
    "once, growing, uncached: USD where each message is read once; where each turn is sent with all before it; "
    "the same without a cache"
)


class Cost(NamedTuple):
    """The messages of a log in one wire or format.

    Attributes:
        log: the wire of the messages. wire: the wire or format in which they are priced. tokenizer: its name. tokens:
        those of reading every message once. cached: those that are read again if each turn is sent with all earlier
        turns. once: the price of reading each message once. growing: the price of sending every turn with all earlier
        turns as a cached prefix. uncached: the same without a cache. These are None without a price. dropped,
        round_trip: as in a comparison. estimated: whether the figures are extrapolated from a sample.
    """

    log: str
    wire: str
    tokenizer: str
    messages: int
    tokens: int
    cached: int
    once: float | None
    growing: float | None
    uncached: float | None
    dropped: tuple[str, ...]
    round_trip: bool
    estimated: bool


class Change(NamedTuple):
    """A possible change with its savings: in tokens, as a share, and in money (None without a price), measured on all
    messages or extrapolated from a sample. to: the wire or format that is written then."""

    log: str
    tokenizer: str
    part: str
    text: str
    tokens: int
    share: float
    money: float | None
    to: str

    def apply(self, lines: Iterable[str | bytes], context: Any = None) -> list[str]:
        """Messages of ``log``, a text each, as they are written after this change: a text each, or one of a session.
        Raises the errors of decode, encode and :func:`turnwire.convert`."""
        messages = [registry.decode(line, self.log) for line in lines]
        if self.to == SESSION:
            return [FORMATS[SESSION].write(messages)]
        if self.to != self.log:
            messages = [turnwire.convert(message, self.to, context=context).message for message in messages]
        return [text_of(message) for message in messages]


class Advice(Report):
    """The cost of a log and what to change first.

    Attributes:
        costs: for each wire in the log and each tokenizer: the wire itself, then the alternatives, "json", "toon", and
            finally one session.
        changes: the largest savings first.
        absent: alternatives that could not be tried, with the reason. facts: messages, sampled, damaged, tokenizers,
            prices, context (whether one was given).
    """

    def __init__(
        self, costs: Sequence[Cost], changes: Sequence[Change], absent: Mapping[str, str], facts: Mapping[str, Any]
    ) -> None:
        self.costs = tuple(costs)
        self.changes = tuple(changes)
        self.absent = dict(absent)
        self.facts = dict(facts)

    def __repr__(self) -> str:
        return f"<Advice on {sum(self.facts['messages'].values())} messages>"

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain JSON values."""
        return {
            "costs": [{**cost._asdict(), "dropped": list(cost.dropped)} for cost in self.costs],
            "changes": [change._asdict() for change in self.changes],
            "absent": self.absent,
            "facts": self.facts,
        }

    def _sections(self) -> list[Section]:
        found = []
        for tokenizer, provenance in self.facts["tokenizers"].items():
            costs = [cost for cost in self.costs if cost.tokenizer == tokenizer]
            lines = [ESTIMATED] if any(cost.estimated for cost in costs) else []
            lines += [CACHED] if any(cost.cached for cost in costs) else []
            lines += [PRICED] if any(cost.once is not None for cost in costs) else []
            changes = [change for change in self.changes if change.tokenizer == tokenizer]
            lines += ["to change first (each by itself):"] if changes else []
            for change in changes:
                money = "" if change.money is None else f", {change.money:,.4f} USD"
                saved = f"  {change.tokens:>9,} tokens ({change.share:.0%}{money})"
                lines.append(f"{saved}  {change.log}: {change.text}")
            rows = list(map(_cells, costs))
            found.append(Section(f"{tokenizer} ({provenance})", COLUMNS, rows, NUMBERS, [*lines, ""]))
        return found

    def _lines(self) -> list[str]:
        return [f"not tried: {line}" for line in untried(self.absent, bool(self.facts["context"]))]

    def _title(self) -> tuple[str, str]:
        counts = ", ".join(f"{count:,} {wire}" for wire, count in self.facts["messages"].items())
        messages = sum(self.facts["messages"].values())
        title = f"The cost of {counted(messages, 'message')} cost{'s' if messages == 1 else ''}"
        return title, f"{counts}; {counted(self.facts['damaged'], 'damaged record')} not counted."


def untried(absent: Mapping[str, str], context: bool) -> list[str]:
    """Lines of what was not tried ("nslip as csp"), and why; without a context, one line for all that require one."""
    wanting = [name for name, why in absent.items() if not context and why.startswith(Reason.MISSING_FIELD)]
    lines = [f"{name}: {why}" for name, why in absent.items() if name not in wanting]
    if wanting:
        why = "they need what this log lacks; pass a Context (--context FILE) with it"
        lines.append(f"{', '.join(wanting)}: {why}")
    return lines


def _cells(cost: Cost) -> list[str]:
    money = ["" if each is None else f"{each:,.4f}" for each in (cost.once, cost.growing, cost.uncached)]
    return [
        cost.log,
        cost.wire,
        f"{cost.messages:,}",
        ("≈ " if cost.estimated else "") + f"{cost.tokens:,}",
        f"{cost.cached:,}" if cost.cached else "",
        *money,
        "yes" if cost.round_trip else "no",
        ", ".join(cost.dropped),
    ]


SAMPLE = 500
BASELINES = (BASE, TABULAR)
"""Formats that are not a wire, but say what a wire is worth; TOON where its package is there."""
NOTICEABLE = 0.03
"""The share of all tokens from which on a change is worth saying."""
SPACES = "white space: write the canonical text, as turnwire.encode does"


def advise(
    source: Any,
    prices: Mapping[str, Any] | None = None,
    *,
    tokenizers: Sequence[str | Tokenizer] = (DEFAULT,),
    wires: Sequence[str] | None = None,
    context: Any = None,
    sample: int = SAMPLE,
) -> Advice:
    """Counts the tokens of the messages of a log, and suggests what to change first.

    source: any source of ``turnwire.scan``. prices: tokenizer -> a Price, a number or (input, cached), for a million
    tokens; priced tokenizers need not be named again. Counts every message as written, tries other wires on ``sample``
    messages of each wire, and extrapolates the savings.

    Raises ValueError (no message in the log, an invalid price, an unknown name), OSError, and the errors of ``load``.
    """
    known = priced(prices)
    counters = [load(each) for each in dict.fromkeys([*tokenizers, *known])]
    found = spend(source, counters, sample=sample)
    return advice_on(found, counters, known, wires=wires, context=context)


def advice_on(
    found: CountedLog,
    counters: Sequence[Tokenizer],
    prices: Mapping[str, Price],
    *,
    wires: Sequence[str] | None = None,
    context: Any = None,
) -> Advice:
    """The advice on a log that was counted. Raises ValueError if there was no message in it."""
    if not found.spent:
        raise ValueError("there is no message in this log")
    wires = registry.chosen(wires)
    costs: list[Cost] = []
    changes: list[Change] = []
    absent = {
        name: "the wire does not define the meaning of its fields (Wire.shape), so it cannot be compared with others"
        for name in dict.fromkeys([*wires, *(wire for wire, _ in found.spent)])
        if not registry.wire(name).has("shape")
    }
    for (wire, name), own in found.spent.items():
        counter = next(each for each in counters if each.name == name)
        kept, price = found.samples[wire], prices.get(name)
        costs += _costs(own, kept, wires, counter, price, context, absent)
        if len(kept.messages) == own.messages:  # white space is told only where all messages are known
            written = sum(counter.count_many([text_of(message) for message in kept.messages]))
            changes += _change(own.wire, name, "form", SPACES, own.tokens - written, own.tokens, price, own.wire)
    for cost in costs:
        alone = [each for each in costs if each.wire not in (*BASELINES, SESSION)]
        for among in (alone, [each for each in costs if each.wire in (cost.log, SESSION)]):
            changes += _to_other(cost, among, prices.get(cost.tokenizer))
    facts = {
        "messages": {wire: kept.seen for wire, kept in found.samples.items()},
        "sampled": {wire: len(kept.messages) for wire, kept in found.samples.items()},
        "damaged": found.damaged,
        "tokenizers": {counter.name: counter.provenance for counter in counters},
        "context": context is not None,
        "prices": {name: price._asdict() for name, price in prices.items()},
    }
    return Advice(costs, sorted(changes, key=lambda change: -change.tokens), absent, facts)


def _costs(
    own: TokenUse,
    kept: Sample,
    wires: Sequence[str],
    counter: Tokenizer,
    price: Price | None,
    context: Any,
    absent: dict[str, str],
) -> list[Cost]:
    """The cost of the messages of one wire in it, in each other wire and in JSON and TOON, by the sample, and as one
    session, by the first of them; its explanation is counted."""
    costs = [_cost(own, own.wire, price)]
    others = [wire for wire in wires if wire not in (own.wire, *absent) and own.wire not in absent]
    alone = compare(kept.messages, [own.wire, *others], [counter], formats=BASELINES, context=context)
    together = compare(kept.first, [own.wire], [counter], formats=[SESSION], per="conversation")
    written, share = sum(counter.count_many(kept.texts)), own.messages / len(kept.first)
    rows = {row.format: (row, row.total / (written or 1), len(kept.messages)) for row in alone.rows}
    for row in (row for row in together.rows if row.format == SESSION):
        rows[SESSION] = row, row.total * share / (own.tokens or 1), len(kept.first)
    for wire in (*others, *BASELINES, SESSION) if written else ():
        if wire in rows:
            row, scale, sampled = rows[wire]
            costs.append(_cost(own, wire, price, row, scale, sampled < own.messages))
    absent |= {f"{own.wire} as {wire}": why for wire, why in (alone.absent | together.absent).items()}
    return costs


def _cost(
    own: TokenUse, wire: str, price: Price | None, row: Row | None = None, scale: float = 1.0, estimated: bool = False
) -> Cost:
    """The cost where the messages are ``scale`` times as long as they are written, as a row of a comparison has it."""
    tokens, cached = round(own.tokens * scale), round(own.cached * scale)
    return Cost(
        log=own.wire,
        wire=wire,
        tokenizer=own.tokenizer,
        messages=own.messages,
        tokens=tokens,
        cached=cached,
        once=None if price is None else price.of(tokens),
        growing=None if price is None else price.of(tokens, cached),
        uncached=None if price is None else price.of(tokens + cached),
        dropped=() if row is None else row.dropped,
        round_trip=row is None or row.round_trip,
        estimated=estimated,
    )


def _to_other(cost: Cost, costs: Sequence[Cost], price: Price | None) -> list[Change]:
    """The change from a log's own wire to the cheapest of these that carries the same, if it is not that."""
    if cost.wire != cost.log:
        return []
    same = [each for each in costs if (each.log, each.tokenizer) == (cost.log, cost.tokenizer) and each.round_trip]
    best = min(same, key=lambda each: each.tokens)
    part, text = "wire", f"write {best.wire} instead of {cost.wire}: it loses nothing"
    if best.wire == SESSION:
        part, text = SESSION, "send many at once as a session (turnwire session pack): it loses nothing"
    return _change(cost.log, cost.tokenizer, part, text, cost.tokens - best.tokens, cost.tokens, price, best.wire)


def _change(
    log: str, tokenizer: str, part: str, text: str, saved: int, of: int, price: Price | None, to: str
) -> list[Change]:
    """A change, if what it saves is worth saying."""
    if not of or saved <= 0 or saved < NOTICEABLE * of:
        return []
    return [Change(log, tokenizer, part, text, saved, saved / of, None if price is None else price.of(saved), to)]


def comparisons(
    found: CountedLog, counters: Sequence[Tokenizer], *, context: Any = None
) -> Iterator[tuple[str, int, Comparison]]:
    """The formats for each wire of a log, and for the messages of all wires where there are several: the wire or
    ``ALL``, how many messages there are, and a comparison, first of the sample, each message by itself, then of the
    first messages as one text."""
    known = [name for name in registry.names() if registry.wire(name).has("shape")]
    several = [(wire, kept, [wire]) for wire, kept in found.samples.items()]
    several += [(ALL, found.whole, [])] if len(several) > 1 else []
    for wire, kept, own in several:
        others = [each for each in known if each != wire] if wire in known else []
        alone = compare(kept.messages, [*own, *others], counters, formats=BASELINES, context=context)
        yield wire, kept.seen, alone
        yield wire, kept.seen, compare(kept.first, own, counters, formats=REFERENCES, per="conversation")
