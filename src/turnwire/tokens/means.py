"""The average cost of a message of a log: in its own wire, in other wires, in JSON, in TOON and as a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.tokens.budget import CountedLog, Sample
from turnwire.tokens.comparison import OWN, Row, compare
from turnwire.tokens.tokenizer import Tokenizer

BASE, TABULAR, SESSION = "json", "toon", "session"
REFERENCES = (BASE, TABULAR, SESSION)
"""The formats that are always there, in this order; of one that cannot be measured it is said why."""
ALL = "all wires"
"""Stands for the wire of a log that has messages of several."""


class Mean(NamedTuple):
    """One format for the messages of a wire, with one tokenizer.

    Attributes:
        format: a wire or one of REFERENCES.
        alone: tokens of a message that is a text of its own, the mean of the sample. together: of one among the first
        messages of the log, written as one text, with what explains that text. ratio, ratio_together: of these to
        minified JSON. bytes: of a message alone. None if there is no such figure.
        dropped: fields that it cannot carry, each with how many messages of the sample have it.
        round_trip: whether every message comes back from it; None if it was not measured. note: why not.
    """

    format: str
    alone: float | None
    ratio: float | None
    together: float | None
    ratio_together: float | None
    bytes: float | None
    dropped: tuple[str, ...]
    round_trip: bool | None
    note: str


class Means(NamedTuple):
    """The formats for the messages of one wire of a log, with one tokenizer, the cheapest together first.

    wire: its name; ``ALL`` for the messages of all wires, in the order of the log. messages: how many there are.
    sampled: how many were measured alone. first: how many together. absent: wires that were not tried, and why.
    """

    wire: str
    tokenizer: str
    messages: int
    sampled: int
    first: int
    rows: tuple[Mean, ...]
    absent: dict[str, str]

    def of(self, wire: str) -> bool:
        """True if messages of that wire are among those of this table."""
        return self.wire in (wire, ALL)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        return {**self._asdict(), "rows": [{**row._asdict(), "dropped": list(row.dropped)} for row in self.rows]}


def means(found: CountedLog, counters: Sequence[Tokenizer], *, context: Any = None) -> list[Means]:
    """The means for each wire of a log and each tokenizer, in the order in which it was counted. Of several wires,
    those for all messages follow: each in its own wire, and in REFERENCES."""
    known = [name for name in registry.names() if registry.wire(name).has("shape")]
    result = []
    for wire, name in found.spent:
        counter = next(each for each in counters if each.name == name)
        others = [each for each in known if each != wire] if wire in known else []
        result.append(_means(wire, found.samples[wire], counter, [wire], others, context))
    several = counters if len(found.samples) > 1 else ()
    return result + [_means(ALL, found.whole, counter, [], [], None) for counter in several]


def _means(
    wire: str, kept: Sample, counter: Tokenizer, own: Sequence[str], others: Sequence[str], context: Any
) -> Means:
    alone = compare(kept.messages, [*own, *others], [counter], formats=REFERENCES[:-1], context=context)
    together = compare(kept.first, own, [counter], formats=REFERENCES, per="conversation")
    single, whole = ({row.format: row for row in found.rows} for found in (alone, together))
    why = {**together.absent, **alone.absent}
    rows = [
        _mean(name, single.get(name), whole.get(name), single.get(BASE), whole.get(BASE), why)
        for name in (own[0] if own else OWN, *others, *REFERENCES)
        if name in single or name in whole or name in REFERENCES
    ]
    rows.sort(key=_least)
    absent = {each: text for each, text in alone.absent.items() if each not in REFERENCES}
    return Means(wire, counter.name, kept.seen, len(kept.messages), len(kept.first), tuple(rows), absent)


def _least(mean: Mean) -> tuple[bool, float]:
    """The order of formats: the cheapest together first, what was not measured last."""
    least = mean.alone if mean.together is None else mean.together
    return least is None, least or 0.0


def _mean(
    name: str,
    alone: Row | None,
    together: Row | None,
    json_alone: Row | None,
    json_together: Row | None,
    absent: dict[str, str],
) -> Mean:
    measured = [row for row in (alone, together) if row is not None]
    one, each = _of_one(alone), _of_one(together)
    notes = dict.fromkeys(row.note for row in measured if row.note)
    return Mean(
        format=name,
        alone=one,
        ratio=_ratio(one, _of_one(json_alone)),
        together=each,
        ratio_together=_ratio(each, _of_one(json_together)),
        bytes=None if alone is None else alone.bytes / alone.messages,
        dropped=measured[0].dropped if measured else (),
        round_trip=all(row.round_trip for row in measured) if measured else None,
        note="; ".join(notes) if measured else absent.get(name, ""),
    )


def _of_one(row: Row | None) -> float | None:
    """The tokens of a message: a wire's prompt is no part of it, since it is sent whatever is written afterwards."""
    return None if row is None else (row.tokens if row.kind == "wire" else row.total) / row.messages


def _ratio(tokens: float | None, base: float | None) -> float | None:
    return None if tokens is None or base is None else tokens / base
