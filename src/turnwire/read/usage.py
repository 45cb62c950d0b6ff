"""Adds up what responses of models cost in the formats of real traffic, each response once even if files repeat it."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS
from turnwire.errors import expect_one_of
from turnwire.formats.prices import price_of, priced
from turnwire.log.scanning import Counts, scan
from turnwire.read.coding import coded_column, days

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

BY = ("session", "project", "model", "tool", "wire", "day")
"""What tokens are added up by; a day is one of UTC, a wire the name of a format."""
TOKENS = ("input_tokens", "output_tokens", "cache_write_tokens", "cache_read_tokens", "reasoning_tokens")
_PAID = TOKENS[:4]
"""The tokens that are paid for: reasoning is a part of the output."""
_PRICED = ("input", "output", "cache_write", "cache_read")
"""Their prices."""
_SUMS = ("responses", *TOKENS, "tokens", "cost")
_TEXTS = ("conversation", "project", "model", "tool", "wire", "id", "request_id")
_GROUPS = (*_TEXTS[:5], "day")
"""The columns of the groups, in the order of BY."""
COLUMNS = (
    *("wire", "conversation", "project", "model", "tool", "time", "id", "request_id", "total_tokens"),
    *("sidechain", "cost"),
    *TOKENS,
)
"""The columns of a scan that are read."""


class Usage(NamedTuple):
    """The result of :func:`usage`.

    by: one of ``BY``. rows: one for each value (None: records without one), the most expensive first: ``by`` with
    its value, responses, the tokens (``TOKENS``; input without cached ones), all tokens, and cost in US dollars.
    total: the same for all. copies: how many repeated responses were not counted. unpriced: model -> its tokens,
    for models without a price or cost. counts: those of the scan.
    """

    by: str
    rows: list[dict[str, Any]]
    total: dict[str, Any]
    copies: int
    unpriced: dict[str, int]
    counts: Counts


class UsageSum:
    """Gathers: ``take`` each batch of a scan with the columns ``COLUMNS``, then ``finish``. About 150 bytes of memory
    for each response: all but its numbers is kept once."""

    def __init__(self) -> None:
        self._names: dict[str | None, int] = {None: 0}  # values of all groups -> their numbers, 0 for none
        self._tables = {name: found.table for name, found in registry.formats().items()}
        self._places: dict[int, int] = {}  # the hash of what says which response it is -> its number
        self._first: dict[int, int] = {}  # the same without the request
        self._groups = {by: array("i") for by in BY}
        self._tokens = {name: array("q") for name in TOKENS}
        self._costs, self._aside = array("d"), bytearray()
        self._carried: dict[tuple[str, str], str | None] = {}
        self._file: str | None = None
        self.copies = 0

    def take(self, batch: Batch) -> None:
        """Adds the responses of a batch."""
        if batch.file != self._file:
            self._file = batch.file
            self._carried.clear()
        counted = np.logical_or.reduce([batch.valid(name) for name in TOKENS])
        wires = coded_column(batch, "wire")
        carrying = [
            code for code, name in enumerate(wires.names) if name in self._tables and self._tables[name].carried
        ]
        rows = np.flatnonzero(counted | np.isin(wires.codes, carrying))
        if not len(rows):
            return
        said: dict[str, Iterable[Any]] = {name: coded_column(batch, name, rows).of(rows).values() for name in _TEXTS}
        said["day"] = days(batch["time"][rows], batch.valid("time")[rows]).values()
        for name in ("total_tokens", "cost", "sidechain", *TOKENS):
            said[name] = np.where(batch.valid(name), batch[name], None)[rows].tolist()
        for counts, values in zip(counted[rows].tolist(), zip(*said.values(), strict=True), strict=True):
            one = dict(zip(said, values, strict=True))
            table = self._tables[one["wire"]]
            for name in table.carried:  # what is not said is as in the records before
                key = table.name, name
                one[name] = self._carried.get(key) if one[name] is None else one[name]
                self._carried[key] = one[name]
            if counts:
                self._add(table, one)

    def _add(self, table: Any, said: dict[str, Any]) -> None:
        """Adds a response, or what says one again; one of a side conversation says again what its parent said, by other
        requests."""
        aside, cost = bool(said["sidechain"]), math.nan if said["cost"] is None else said["cost"]
        numbers = [said[name] or 0 for name in TOKENS]
        groups = [self._names.setdefault(said[name], len(self._names)) for name in _GROUPS]
        if table.cached_is_input:
            numbers[0] = max(numbers[0] - numbers[3], 0)
        place, name = None, said[table.copy_of[0]] if table.copy_of else None
        if name is not None:
            exact, first = hash((table.name, *map(said.__getitem__, table.copy_of))), hash((table.name, name))
            place = self._places.get(exact)
            if place is None and (found := self._first.get(first)) is not None and (aside or self._aside[found]):
                place = found
            if place is None:
                self._places[exact] = len(self._costs)
                self._first.setdefault(first, len(self._costs))
        if place is None:
            for group, value in zip(self._groups.values(), groups, strict=True):
                group.append(value)
            for column, number in zip(self._tokens.values(), numbers, strict=True):
                column.append(number)
            self._costs.append(cost)
            self._aside.append(aside)
            return
        self.copies += 1
        there = sum(self._tokens[name][place] for name in _PAID)
        if (not aside, sum(numbers[:4])) > (not self._aside[place], there):
            for column, number in zip(self._tokens.values(), numbers, strict=True):
                column[place] = number
            self._aside[place] = aside
            for by, value in zip(BY, groups, strict=True):
                if by != "tool":
                    self._groups[by][place] = value
        for by, value in zip(BY, groups, strict=True):  # the tool is in one copy, the text in another
            self._groups[by][place] = self._groups[by][place] or value
        if np.isnan(self._costs[place]):
            self._costs[place] = cost

    def finish(self, by: str, counts: Counts, prices: Mapping[str, Any] | None = None) -> Usage:
        """All of it, with the counts of the scan that has ended. prices: see :func:`usage`."""
        known = priced(prices)
        names = list(self._names)
        price = cache(lambda model: price_of(model, known) if model else None)
        unpriced: Counter[str] = Counter()
        sums: defaultdict[str | None, dict[str, Any]] = defaultdict(partial(dict.fromkeys, _SUMS, 0))
        total: dict[str, Any] = dict.fromkeys(_SUMS, 0)
        for place, cost in enumerate(self._costs):
            numbers = {name: column[place] for name, column in self._tokens.items()}
            paid = [numbers[name] for name in _PAID]
            if math.isnan(cost):
                model = names[self._groups["model"][place]]
                rates, cost = price(model), 0.0
                if rates is not None:
                    cost = sum(number * getattr(rates, kind) for number, kind in zip(paid, _PRICED, strict=True)) / 1e6
                elif any(paid):
                    unpriced[model or ""] += sum(paid)
            for row in (sums[names[self._groups[by][place]]], total):
                for name, number in zip(_SUMS, (1, *numbers.values(), sum(paid), cost), strict=True):
                    row[name] += number
        rows = [{by: value, **row} for value, row in sums.items()]
        rows.sort(key=lambda row: (-row["cost"], -row["tokens"], row[by] or ""))
        if by == "day":
            rows.sort(key=lambda row: row[by] or "")
        return Usage(by, rows, total, self.copies, dict(unpriced), counts)


def usage(
    source: Any, by: str = "model", *, wire: str = FORMATS, prices: Mapping[str, Any] | None = None, **options: Any
) -> Usage:
    """Adds up the tokens and cost of the responses in agents' files, each response once.

    source: as :func:`turnwire.scan` takes it. by: one of ``BY``. wire: one format; all by default. prices: model ->
    {"input", "output", "cache_read", "cache_write"} in US dollars per million tokens, instead of the packaged ones
    (``turnwire.formats.prices``, with their date). A cost in the file takes precedence. Of repeated responses
    (``Format.copy_of``) the copy with the most tokens counts. Raises what a scan raises, UnknownName for another
    ``by`` and ValueError for invalid prices.
    """
    expect_one_of(by, "by", BY)
    priced(prices)
    gathered = UsageSum()
    found = scan(source, wire=wire, columns=COLUMNS, **{"errors": "skip", **options})
    for batch in found:
        gathered.take(batch)
    return gathered.finish(by, found.counts, prices)


def known_folders() -> Iterator[str]:
    """The existing folders of this machine in which the formats keep their files."""
    import os

    for found in registry.formats().values():
        for folder in found.table.folders:
            if os.path.isdir(place := os.path.expanduser(folder)):
                yield place
