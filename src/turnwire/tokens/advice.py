"""What was found about a log, and ways to look at it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from turnwire.errors import Reason
from turnwire.tokens.tables import aligned, safe

COLUMNS = ("log", "wire", "messages", "tokens", "cached", "once", "growing", "uncached", "carries all", "dropped")
_CHANGES = ("log", "what", "tokens", "share")
NUMBERS = frozenset({"messages", "tokens", "cached", "once", "growing", "uncached"})


class Cost(NamedTuple):
    """The messages of a log in one wire.

    Attributes:
        log: the wire in which they stand. wire: the wire in which they are priced. tokenizer: whose tokens.
        tokens: every message read once. cached: what is read again when each turn is sent with all turns before it.
        once: the price of reading each message once. growing: of sending every turn with those before it, which are a
        cached prefix. uncached: the same without a cache. None without a price. currency: of these three.
        dropped, round_trip: as in a comparison. estimated: whether a sample stands for all messages.
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
    currency: str
    dropped: tuple[str, ...]
    round_trip: bool
    estimated: bool


class Change(NamedTuple):
    """Something that can be done: what it would save at most, in tokens, as a share, and in money (None: no price)."""

    log: str
    tokenizer: str
    part: str
    text: str
    tokens: int
    share: float
    money: float | None


class Advice:
    """What a log costs and what to change first.

    Attributes:
        costs: for each wire in the log and each tokenizer, its own wire first. changes: the most saving first.
        absent: what could not be tried, and why. facts: messages, sampled, damaged, tokenizers, prices,
        context (whether one was given).
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

    def _repr_html_(self) -> str:
        from turnwire.showing import table

        costs = [(cost.tokenizer, *_cells(cost)) for cost in self.costs]
        changes = [(change.log, change.text, f"{change.tokens:,}", f"{change.share:.0%}") for change in self.changes]
        parts = [table("What the log costs", ("tokenizer", *COLUMNS), costs)]
        if changes:
            parts.append(table("To change first (each by itself, at most)", _CHANGES, changes))
        return "".join(parts)

    def cheapest(self) -> dict[tuple[str, str], Cost]:
        """(wire of the log, tokenizer) -> the cheapest way to write these messages that carries all of them."""
        best: dict[tuple[str, str], Cost] = {}
        for cost in self.costs:
            key = (cost.log, cost.tokenizer)
            if cost.round_trip and (key not in best or cost.tokens < best[key].tokens):
                best[key] = cost
        return best

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON-able values."""
        return {
            "costs": [{**cost._asdict(), "dropped": list(cost.dropped)} for cost in self.costs],
            "changes": [change._asdict() for change in self.changes],
            "absent": self.absent,
            "facts": self.facts,
        }

    def table(self) -> str:
        """Text to look at: costs for each tokenizer, what to change first, what could not be tried."""
        parts = []
        for tokenizer, provenance in self.facts["tokenizers"].items():
            costs = [cost for cost in self.costs if cost.tokenizer == tokenizer]
            parts.append(f"{safe(tokenizer)} ({safe(provenance)})\n")
            parts.append(aligned(COLUMNS, [_cells(cost) for cost in costs], NUMBERS))
            changes = [change for change in self.changes if change.tokenizer == tokenizer]
            if changes:
                parts.append("to change first (each by itself, at most):\n")
            for change in changes:
                money = "" if change.money is None else f", {change.money:,.4f}"
                text = f"{change.log}: {change.text}"
                parts.append(f"  {change.tokens:>9,} tokens ({change.share:.0%}{money})  {safe(text)}\n")
            parts.append("\n")
        parts += [f"not tried: {safe(line)}\n" for line in self._untried()]
        return "".join(parts).rstrip("\n") + "\n"

    def _untried(self) -> list[str]:
        """What was not tried, and why; without a context in one line for all that wants one."""
        wanting: dict[str, list[str]] = {}
        lines = []
        for name, why in self.absent.items():
            log, _, wire = name.partition(" as ")
            if self.facts["context"] or not why.startswith(Reason.MISSING_FIELD):
                lines.append(f"{name}: {why}")
            else:
                wanting.setdefault(log, []).append(wire)
        if wanting:
            pairs = "; ".join(f"{log} as {', '.join(wires)}" for log, wires in wanting.items())
            lines.append(f"{pairs}: they need what this log does not say; pass a Context (--context FILE) with it")
        return lines

    def html(self, path: str | os.PathLike[str]) -> None:
        """Writes one self-contained page: no script, nothing fetched. Raises OSError."""
        from turnwire.tokens.page import advice_page

        with open(path, "w", encoding="utf-8", newline="\n") as file:
            file.write(advice_page(self))


def _cells(cost: Cost) -> list[str]:
    money = [
        "" if each is None else f"{each:,.4f} {cost.currency}" for each in (cost.once, cost.growing, cost.uncached)
    ]
    return [
        cost.log,
        cost.wire,
        f"{cost.messages:,}",
        ("≈ " if cost.estimated else "") + f"{cost.tokens:,}",
        f"{cost.cached:,}",
        *money,
        "yes" if cost.round_trip else "no",
        ", ".join(cost.dropped),
    ]
