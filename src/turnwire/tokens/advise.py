"""What a log costs, what it would cost in other wires, and what to change first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from turnwire import registry
from turnwire.tokens.advice import Advice, Change, Cost
from turnwire.tokens.budget import Sample, Spent, Tally, spend
from turnwire.tokens.compare import compare
from turnwire.tokens.counting import DEFAULT
from turnwire.tokens.fields import text_of
from turnwire.tokens.loading import load
from turnwire.tokens.parts import Part, ablate
from turnwire.tokens.prices import Price, priced
from turnwire.tokens.tokenizer import Tokenizer

SAMPLE = 500
NOTICEABLE = 0.03
"""The share of all tokens from which on a change is worth saying."""
ADVICE: dict[str, str] = {
    "uuids and timestamps": "ids and times: {wire} needs them in full; a wire with numbers writes them shorter",
    "uuids": "ids: {wire} needs UUIDs; a wire with numbers, or one short name for each id, is shorter",
    "timestamps": "times: leave out what the log already says, or fractions and offsets where {wire} allows it",
    "text": "texts: put long ones into a store and send their id, write no politeness and no repetition",
    "spaces": "white space: write the canonical text, as turnwire.encode does",
    "names": "names of members: they come with {wire}; leave out optional members that say nothing",
}
"""Part -> what can be done about it in any wire, beside what a wire says itself (``Wire.advice``). Parts that are in
neither belong to the wire's grammar."""


def advise(
    source: Any,
    prices: Mapping[str, Any] | None = None,
    *,
    tokenizers: Sequence[str | Tokenizer] = (DEFAULT,),
    wires: Sequence[str] | None = None,
    context: Any = None,
    sample: int = SAMPLE,
    threads: int = 1,
) -> Advice:
    """What the messages of a log cost a model, and what to change first.

    source: as ``turnwire.scan`` takes it. prices: tokenizer -> a Price, a number or (input, cached), for a million
    tokens; tokenizers that are priced need not be named again. Every message is counted as it stands; other wires are
    tried on a sample of ``sample`` messages of each wire, and what they save there is taken for all.

    Raises ValueError (no message in the log, a bad price, an unknown name), OSError, and what ``load`` raises.
    """
    known = priced(prices)
    counters = [load(each) for each in dict.fromkeys([*tokenizers, *known])]
    found = spend(source, counters, sample=sample, threads=threads)
    return advice_on(found, counters, known, wires=wires, context=context)


def advice_on(
    found: Tally,
    counters: Sequence[Tokenizer],
    prices: Mapping[str, Price],
    *,
    wires: Sequence[str] | None = None,
    context: Any = None,
) -> Advice:
    """The advice on a log that was counted. Raises ValueError where there was no message in it."""
    if not found.spent:
        raise ValueError("there is no message in this log")
    wires = registry.names() if wires is None else wires
    costs: list[Cost] = []
    changes: list[Change] = []
    absent: dict[str, str] = {}
    for (wire, name), own in found.spent.items():
        counter = next(each for each in counters if each.name == name)
        kept, price = found.samples[wire], prices.get(name)
        costs += _costs(own, kept, wires, counter, price, context, absent)
        changes += _changes(own, kept, counter, price)
    changes += [change for cost in costs if (change := _to_other_wire(cost, costs)) is not None]
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
    own: Spent,
    kept: Sample,
    wires: Sequence[str],
    counter: Tokenizer,
    price: Price | None,
    context: Any,
    absent: dict[str, str],
) -> list[Cost]:
    """What the messages of one wire cost in it, and in each other wire, by the sample."""
    costs = [_cost(own, own.wire, 1.0, price, (), True, False)]
    others = [wire for wire in wires if wire != own.wire]
    found = compare(kept.messages, [own.wire, *others], [counter], formats=(), context=context)
    absent |= {f"{own.wire} as {wire}": why for wire, why in found.absent.items()}
    rows = {row.format: row for row in found.rows}
    part = len(kept.messages) < own.meter.messages
    for wire in others:
        if wire in rows and rows[own.wire].tokens:
            row = rows[wire]
            scale = row.tokens / rows[own.wire].tokens
            costs.append(_cost(own, wire, scale, price, row.dropped, row.round_trip, part))
    return costs


def _cost(
    own: Spent,
    wire: str,
    scale: float,
    price: Price | None,
    dropped: tuple[str, ...],
    round_trip: bool,
    estimated: bool,
) -> Cost:
    tokens, cached = round(own.meter.tokens * scale), round(own.meter.cached * scale)
    return Cost(
        log=own.wire,
        wire=wire,
        tokenizer=own.tokenizer,
        messages=own.meter.messages,
        tokens=tokens,
        cached=cached,
        once=None if price is None else price.of(tokens),
        growing=None if price is None else price.of(tokens, cached),
        uncached=None if price is None else price.of(tokens + cached),
        currency="" if price is None else price.currency,
        dropped=dropped,
        round_trip=round_trip,
        estimated=estimated,
    )


def _changes(own: Spent, kept: Sample, counter: Tokenizer, price: Price | None) -> list[Change]:
    """What the parts of the wire cost, where something can be done about them."""
    if not kept.messages:
        return []
    parts: list[Part] = ablate(kept.messages, counter)
    whole = parts[0].of
    found = []
    advice = registry.wire(own.wire).advice
    for part in parts:
        text = advice.get(part.part) or ADVICE.get(part.part)
        if text is not None and part.share >= NOTICEABLE:
            found.append((part.part, text.format(wire=own.wire), part.share))
    written = sum(counter.count_many([text_of(message) for message in kept.messages]))
    seen = own.meter.tokens / own.meter.messages * len(kept.messages)
    if len(kept.messages) == own.meter.messages and seen - written >= NOTICEABLE * seen:
        found.append(("form", ADVICE["spaces"], (seen - written) / seen))
    named = {part for part, _, _ in found}
    if "uuids and timestamps" in named:
        found = [each for each in found if each[0] not in ("uuids", "timestamps")]
    total = own.meter.tokens
    return [
        Change(own.wire, counter.name, part, text, round(total * share), share, _money(total * share, price))
        for part, text, share in found
        if whole
    ]


def _to_other_wire(cost: Cost, costs: Sequence[Cost]) -> Change | None:
    """The change from a log's own wire to the cheapest that carries the same, or None."""
    if cost.wire != cost.log:
        return None
    same = [each for each in costs if (each.log, each.tokenizer) == (cost.log, cost.tokenizer) and each.round_trip]
    best = min(same, key=lambda each: each.tokens)
    if best.wire == cost.wire or not cost.tokens:
        return None
    saved = cost.tokens - best.tokens
    money = None if cost.once is None or best.once is None else cost.once - best.once
    text = f"write {best.wire} instead of {cost.wire}: it carries the same"
    return Change(cost.log, cost.tokenizer, "wire", text, saved, saved / cost.tokens, money)


def _money(tokens: float, price: Price | None) -> float | None:
    return None if price is None else price.of(tokens)
