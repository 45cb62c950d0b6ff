"""What the project wants to reach, as data, and how each figure is taken from the results."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

from measure import Group, ratio

Results = dict[str, Any]
LOWER, HIGHER = "≤", "≥"


class Goal(NamedTuple):
    """A figure, the least that is wanted, and where it should be one day; ``value``: None where it was not measured."""

    text: str
    sign: str
    least: float
    moonshot: float
    unit: str
    value: Callable[[Results], float | None]

    def reached(self, value: float, wanted: float) -> bool:
        return value <= wanted if self.sign == LOWER else value >= wanted


def groups(results: Results, section: str, table: str) -> list[Group]:
    """The groups of one table; none where the section was not measured."""
    return [group for group in results.get(section, {}).get("groups", ()) if group["table"] == table]


def worst(table: str, *names: str, base: str = "msgspec JSON") -> Callable[[Results], float | None]:
    """The greatest median ratio of these names over all messages."""

    def value(results: Results) -> float | None:
        found = [
            ratio(group["samples"], name, base).median for group in groups(results, "messages", table) for name in names
        ]
        return max(found, default=None)

    return value


def of_memchr(name: str) -> Callable[[Results], float | None]:
    """The least percentage of memchr's speed over upstream lines, narrow ids and wide ids."""

    def value(results: Results) -> float | None:
        found = [
            100 * ratio(group["samples"], "memchr", name).median
            for group in groups(results, "bulk", "bulk")
            if group["case"] in ("upstream", "narrow ids", "wide ids")
        ]
        return min(found, default=None)

    return value


def ahead_of_csv(table: str) -> Callable[[Results], float | None]:
    """How many times longer the fastest CSV reader takes, where that is least."""

    def value(results: Results) -> float | None:
        found = [
            ratio(group["samples"], name, "turnwire").median
            for group in groups(results, "files", table)
            for name in group["samples"]
            if " CSV" in name
        ]
        return min(found, default=None)

    return value


def kept_against_dropped(results: Results) -> float | None:
    name = "all columns, all batches kept"
    found = [
        ratio(group["samples"], name, "all columns").median
        for group in groups(results, "bulk", "bulk")
        if name in group["samples"]
    ]
    return max(found, default=None)


def peak_memory(results: Results) -> float | None:
    found = [group["samples"]["turnwire"][0] / 1e6 for group in groups(results, "processes", "memory, streamed")]
    return max(found, default=None)


def import_ratio(results: Results) -> float | None:
    for group in groups(results, "processes", "start"):
        if group["case"] == "whole process":
            middle = {name: median(times) for name, times in group["samples"].items()}
            bare = middle["bare interpreter"]
            return (middle["turnwire"] - bare) / (middle["msgspec"] - bare)
    return None


MANY = ("turnwire decode_many, a list", "turnwire decode_many, lines")
SINGLE = "worst of three messages"
GOALS = (
    Goal(f"decode ÷ msgspec JSON decode, {SINGLE}", LOWER, 0.35, 0.25, "", worst("decode", "turnwire")),
    Goal("decode_many, per message, likewise", LOWER, 0.30, 0.20, "", worst("decode", *MANY)),
    Goal("decode + `.slots`, likewise", LOWER, 1.0, 0.80, "", worst("decode", "turnwire, then .slots")),
    Goal("encode ÷ msgspec JSON encode, slots untouched", LOWER, 0.45, 0.28, "", worst("encode", "turnwire")),
    Goal("the same, slots touched", LOWER, 0.65, 0.45, "", worst("encode", "turnwire, .slots touched")),
    Goal("pure decode ÷ `json.loads`", LOWER, 2.5, 1.5, "", worst("decode", "turnwire, pure Python", base="json")),
    Goal("bulk, all columns, of memchr", HIGHER, 4, 8, " %", of_memchr("all columns")),
    Goal("bulk, four columns, of memchr", HIGHER, 6, 10, " %", of_memchr("four columns")),
    Goal("locate, fully validated, of memchr", HIGHER, 15, 25, " %", of_memchr("offset and length")),
    Goal(
        "file → batches, ahead of the fastest streaming CSV reader", HIGHER, 5, 9, " ×", ahead_of_csv("file to batches")
    ),
    Goal("file → one table, ahead of the fastest CSV reader", HIGHER, 2.5, 5, " ×", ahead_of_csv("file to one table")),
    Goal("peak anonymous memory, streamed", LOWER, 300, 128, " MB", peak_memory),
    Goal("fresh output ÷ touched output (all batches kept ÷ dropped)", LOWER, 1.2, 1.05, "", kept_against_dropped),
    Goal("`import turnwire` ÷ `import msgspec`, over a bare interpreter", LOWER, 1.1, 0.5, "", import_ratio),
)
