"""Chooses templates for a block of events: which events go by one template, and what each says of its members.

A guess at cost decides: of each leaf the best mark, and about how many tokens rows have with it. Costs are
hundredths of a token in whole numbers: their sums are the same with every Python. The caller counts what a plan saves.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from typing import NamedTuple

from turnwire.session.notation import cut
from turnwire.session.shapes import Event, Leaf, Shape, is_digested
from turnwire.session.templates import FIXED, LATER, MORE, SAME, SEEN, TURN, State, Template, measured, one_more

MOST_KINDS = 12  # values of a leaf that may tell kinds of event apart
MOST_MISSED = 20  # if more than one event in 20 fits no template, all are planned again
MOST_CANDIDATES = 12  # leaves that are tried to tell kinds of event apart: those that cost most
MOST_SOURCES, MOST_HOLDERS = 6, 24  # paths with the same value that a leaf may be told by; those that are looked at
TEMPLATE, MEMBER = 1200, 400  # the cost of a definition, beside its members; of a member there, beside its value
BAR, FIELD, DISTANCE, DIGIT = 50, 50, 150, 33
"""The cost of a field in a row though it is empty; of one that holds a value, beside it; of a distance, beside its
digits; of one of these."""
_DIGITS = re.compile("[0-9]").findall
_PENALTY = {SAME: 0, MORE: 30, SEEN: 20, TURN: 40}


def again(plan: Sequence[Template], events: Sequence[Event]) -> list[Template] | None:
    """The templates of earlier events for other ones, or None if too few of these fit."""
    known: dict[Shape, list[Template]] = {}
    for template in dict.fromkeys(plan):
        known.setdefault(template.shape, []).append(template)
    missed = 0
    found: list[Template] = []
    for event in events:
        one = next((each for each in known.get(event.shape, ()) if each.fits(event.leaves)), None)
        missed += one is None
        found.append(one or Template(event.shape, marks_alone(event), event.leaves))
    return None if missed * MOST_MISSED > len(events) else found


class Planner:
    """Plans one block. keys: paths that name the conversation. allowed: the marks that may be used."""

    def __init__(self, events: Sequence[Event], keys: tuple[str, ...], allowed: frozenset[str]) -> None:
        self.events = events
        self._allowed = allowed
        self._cells = look(events, keys)
        self._judged = cache(self._judge)

    def plan(self, shape: Shape | None = None) -> list[Template]:
        """The template of each event, or of each that has a shape."""
        groups = self._grouped(range(len(self.events)), lambda event: event.shape)
        wanted = [members for members in groups if shape in (None, self.events[members[0]].shape)]
        found: dict[int, Template] = {}
        for members, marks in chain.from_iterable(map(self._clusters, wanted)):
            first = self.events[members[0]]
            found |= dict.fromkeys(members, Template(first.shape, marks, first.leaves))
        return [found[number] for number in sorted(found)]

    def _grouped(self, members: Iterable[int], key: Callable[[Event], Hashable]) -> list[tuple[int, ...]]:
        """Events (by number) with the same key, in the order of the first of each."""
        found: dict[Hashable, list[int]] = {}
        for number in members:
            found.setdefault(key(self.events[number]), []).append(number)
        return list(map(tuple, found.values()))

    def _clusters(self, members: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[str]]]:
        """Events (by number) that go by one template each, and its marks."""
        costs, marks, least = self._judged(members)
        best = [members]
        if len(members) > 2:
            dearest = sorted([place for place, mark in enumerate(marks) if mark], key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                parts = self._grouped(members, lambda event, place=place: event.leaves[place])  # type: ignore[misc]
                few = 1 < len(parts) <= min(MOST_KINDS, int(len(members) * 0.6))
                if few and (total := self._apart(parts, least)) < least:
                    best, least = parts, total
        if len(best) == 1:
            yield members, marks
            return
        for part in best:
            yield from self._clusters(part)

    def _apart(self, parts: list[tuple[int, ...]], most: int) -> int:
        """The cost of parts with a template each, of which only what is not in that of the first counts: the rest is an
        alias. Any number from ``most`` on where that is not less."""
        _, marks, total = self._judged(parts[0])
        first, first_leaves = marks, self.events[parts[0][0]].leaves
        for part in parts[1:]:
            if total >= most:
                break
            costs, marks, rows = self._judged(part)
            total += TEMPLATE + rows
            for place, leaf in enumerate(self.events[part[0]].leaves):
                mark = marks[place]
                if mark != first[place] or (costs[place] > 0 if mark else leaf != first_leaves[place]):
                    total += MEMBER + weigh(leaf)
        return total

    def _judge(self, members: tuple[int, ...]) -> tuple[list[int], list[str], int]:
        """The cost of each leaf in the rows of a template for these events, its best mark, and the cost of all rows."""
        rows = [self._cells[number] for number in members]
        tables = enumerate(self.events[members[0]].shape.tables)
        found = [best_mark([row[at] for row in rows], is_table, self._allowed) for at, is_table in tables]
        costs, marks = [cost for cost, _ in found], [mark for _, mark in found]
        return costs, marks, sum([max(cost, 0) for cost in costs]) + BAR * (len(members) - 1) * sum(map(bool, marks))


class Cell(NamedTuple):
    """A leaf of an event: what it costs in a row, and what was seen before it.

    fresh: nothing at its path in its conversation. more: one less there in its conversation. sources: the paths at
    which it was seen last, "" for its own.
    """

    leaf: Leaf
    cost: int
    conversation: Leaf | None
    fresh: bool
    more: bool
    sources: list[str]


def weigh(leaf: Leaf) -> int:
    """About the cost of a leaf: a token a word, or three digits."""
    size = len(leaf)
    if type(leaf) is str:
        return 100 + size * (62 if len(_DIGITS(leaf[:64])) > 0.3 * min(size, 64) else 22)
    return 100 + size * 33


def _can_name(path: str) -> bool:
    """A mark can name the path."""
    return not is_digested(path) and cut("x" + SEEN + path) == ("x", SEEN + path)


def look(events: Iterable[Event], keys: tuple[str, ...]) -> list[dict[int, Cell]]:
    """The leaves of a block's events by number, each with what came before. keys: paths that name the conversation."""
    state = State(keys)
    holders: dict[Leaf, dict[str, None]] = {}  # the paths at which each value is the last one

    def looked(event: Event) -> dict[int, Cell]:
        key, _ = event.shape.order(keys)
        conversation = None if key is None else event.leaves[key]
        cells: dict[int, Cell] = {}

        def see(place: int) -> Leaf:
            path, leaf = event.shape.paths[place], event.leaves[place]
            here, everywhere = state.here, state.all
            last, held = everywhere.get(path), holders.setdefault(leaf, {})
            own = here.get(path)
            sources = [""] if (last if own is None else own) == leaf else []
            for other in islice(reversed(held), MOST_HOLDERS) if held else ():  # "" as a path is none that a mark names
                if other not in ("", path) and here.get(other, everywhere.get(other)) == leaf:
                    sources.append(other)
            more = own is not None and one_more(own) == leaf
            cells[place] = Cell(leaf, weigh(leaf) + FIELD, conversation, own is None, more, sources[:MOST_SOURCES])
            if last is not None:
                holders[last].pop(path, None)
            held[path] = None
            return leaf

        state.take(event.shape, see)
        return cells

    return list(map(looked, events))


def best_mark(cells: Sequence[Cell], is_table: bool, allowed: frozenset[str]) -> tuple[int, str]:
    """The cost of one leaf in the rows of a template for some events, with the best of the marks that are allowed."""
    first = cells[0]
    if all(cell.leaf == first.leaf for cell in cells):
        return 0, mark_alone(first.leaf, is_table)
    missed = _missed(cells)
    if is_table:
        return missed[SAME], SAME
    if first.leaf == b"null":
        allowed &= {SAME, MORE}
    marks = [mark for mark in missed if mark[0] in allowed]
    best = min(marks, key=lambda mark: missed[mark] + _PENALTY.get(mark, 100))
    return missed[best], best


def mark_alone(leaf: Leaf, is_table: bool) -> str:
    """The mark of a leaf that is told as it is: a definition can tell a table, and another array that begins with an
    object, only as an open one."""
    return SAME if is_table or (type(leaf) is bytes and leaf[:2] == b"[{") else FIXED


def marks_alone(event: Event) -> list[str]:
    """The marks of an event that is written without a template."""
    return list(map(mark_alone, event.leaves, event.shape.tables))


def _missed(cells: Sequence[Cell]) -> dict[str, int]:
    """The cost of a leaf with each mark that it may have: in rows in which it is not as the mark says."""
    first, *others = cells
    rows = {first.conversation: first.leaf}
    missed = dict.fromkeys((SAME, MORE, SEEN, TURN, LATER), 0)
    last, before = first.leaf, measured(first.leaf)
    for leaf, cost, conversation, is_fresh, is_more, _ in others:
        row = rows.get(conversation, last)
        missed[SAME] += cost * (row != leaf)
        missed[MORE] += cost * (one_more(row) != leaf)
        missed[TURN] += cost * (leaf != first.leaf if is_fresh else not is_more)
        rows[conversation] = last = leaf
        now = before and measured(leaf)
        if before and now and now[0] == before[0] and (now[0] is not None or now[1] >= before[1]):
            missed[LATER] += DISTANCE + DIGIT * len(str(now[1] - before[1]))
            before = now
        else:
            missed[LATER] += cost
    sources = Counter(chain.from_iterable([cell.sources for cell in others]))
    del sources[""]
    often = [path for path, times in sources.most_common(3) if times * 4 >= len(others) and _can_name(path)]
    for path in ("", *often):
        elsewhere = sum([cell.cost for cell in others if path not in cell.sources])
        missed[SEEN + path] = elsewhere - (weigh(first.leaf) if path in first.sources else 0)
    return missed
