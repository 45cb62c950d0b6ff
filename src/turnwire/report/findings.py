"""The sentences that a report opens with: what is damaged, unanswered, slow and dear, each with its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

from turnwire.phrases import counted

_UNITS = ((86_400_000_000, "d"), (3_600_000_000, "h"), (60_000_000, "min"), (1_000_000, "s"), (1_000, "ms"), (1, "µs"))
MOST_NAME = 60
"""Characters of a name in a sentence."""


class Finding(NamedTuple):
    """A sentence, the part of the page that shows it, and the filter that part needs, as the page's address has it."""

    text: str
    part: str
    filters: str = ""


class Extremes(NamedTuple):
    """The conversation that cost most, and the one with the slowest answer. Each: (wire, conversation, amount), the
    amount in tokens or bytes and in microseconds; None where there is none. tokens: whether the cost is tokens."""

    dearest: tuple[str, str, int] | None
    slowest: tuple[str, str, int] | None
    tokens: bool


def findings(data: dict[str, Any], extremes: Extremes) -> Iterator[Finding]:
    """The sentences about the data of a page; one where all is well."""
    yield _damage(data)
    answers = [dict(zip(data["answer_columns"], row, strict=True)) for row in data["answers"]]
    asked, open_ = sum(one["requests"] for one in answers), sum(one["waiting"] + one["given_up"] for one in answers)
    if open_:
        verb = "has" if open_ == 1 else "have"
        yield Finding(f"{open_:,} of {counted(asked, 'request')} {verb} no answer.", "answers")
    elif asked:
        yield Finding(f"Every request has its answer ({asked:,}).", "answers")
    slow = max((one for one in answers if one["max"] is not None), key=lambda one: one["max"], default=None)
    if slow is not None:
        where = "" if extremes.slowest is None else f", in conversation {_name(extremes.slowest[1])}"
        text = f"The slowest answer took {duration(slow['max'])}{where}; half took at most {duration(slow['p50'])}."
        yield Finding(text, *(("answers",) if extremes.slowest is None else ("talks", _filter(extremes.slowest[1]))))
    if extremes.dearest is not None:
        wire, name, amount = extremes.dearest
        cost = counted(amount, "token" if extremes.tokens else "byte")
        text = f"The {'dearest' if extremes.tokens else 'largest'} conversation is {_name(name)} ({wire}): {cost}."
        yield Finding(text, "talks", _filter(name))


def _damage(data: dict[str, Any]) -> Finding:
    counts = sorted(data["reject_counts"], key=lambda row: (-row[2], row[:2]))
    damaged = sum(count for *_, count in counts)
    if not damaged:
        return Finding("Nothing is damaged.", "rejects")
    wire, reason, count = counts[0]
    most = "" if len(counts) == 1 else f", {count:,} of them"
    verb = "is" if damaged == 1 else "are"
    return Finding(f"{counted(damaged, 'record')} {verb} damaged{most}: {reason} in {wire}.", "rejects")


def _filter(conversation: str) -> str:
    return urlencode({"conversation": conversation})


def _name(text: str) -> str:
    return text if len(text) <= MOST_NAME else f"{text[:MOST_NAME]}…"


def duration(microseconds: int) -> str:
    """A duration in words: two digits at least, one unit."""
    size, unit = next((one for one in _UNITS if microseconds >= one[0]), _UNITS[-1])
    amount = microseconds / size
    return f"{amount:,.1f} {unit}" if amount < 10 and size > 1 else f"{amount:,.0f} {unit}"
