"""Chooses templates for a block of events: which events go by one template, and what each says of its members.

A guess at cost decides: of each leaf the best mark, and about how many tokens rows have with it. What a plan is worth
is counted by whoever made it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import NamedTuple

from turnwire.session import times
from turnwire.session.notation import cut
from turnwire.session.shapes import Event, Leaf, Shape, is_digested
from turnwire.session.templates import FIXED, LATER, MORE, SAME, SEEN, TURN, State, fits, one_more

MOST_KINDS = 12  # values of a leaf that may tell kinds of event apart
MOST_CANDIDATES = 12  # leaves that are tried to tell kinds of event apart: those that cost most
MOST_SPLITS = 4  # splits of the events of one structure, one inside the other
MOST_MISSED = 20  # if more than one event in 20 fits no template, all are planned again
MOST_SOURCES, MOST_HOLDERS = 6, 24  # paths with the same value that a leaf may be told by; those that are looked at
TEMPLATE, MEMBER = 12.0, 4.0  # the cost of a definition, beside its members; of a member there, beside its value
BAR, FIELD, DISTANCE = 0.5, 0.5, 2.5
"""The cost of a field in a row though it is empty; of one that holds a value, beside it; of the distance of a time."""
LEAST_MARKED = 6.0  # tokens above which a constant leaf gets the mark for an earlier value
_IMPOSSIBLE = 1e9
_DIGITS = re.compile("[0-9]").findall
_PENALTY = {SAME: 0.0, MORE: 0.3, SEEN: 0.2, TURN: 0.4}


class Plan(NamedTuple):
    """The templates of a block: the number of that by which each event goes, and the marks of each.

    known: shape -> templates that later events may go by, too, each with the event that it was made for.
    """

    kinds: list[int]
    marks: list[list[str]]
    known: dict[Shape, list[tuple[int, Event]]]

    def again(self, events: Sequence[Event]) -> Plan | None:
        """The same templates for other events, or None where too few of them fit."""
        kinds, marks = [], list(self.marks)
        for event in events:
            known = self.known.get(event.shape, ())
            kind = next((kind for kind, first in known if fits(marks[kind], event.leaves, first.leaves)), len(marks))
            kinds.append(kind)
            if kind == len(marks):
                leaves = zip(event.leaves, event.shape.tables, strict=True)
                marks.append([SAME if table or must_open(leaf) else FIXED for leaf, table in leaves])
        missed = len(marks) - len(self.marks)
        return None if missed * MOST_MISSED > len(events) else Plan(kinds, marks, self.known)


class Planner:
    """Plans one block. keys: paths that name the conversation. allowed: the marks that may be used."""

    def __init__(self, events: Sequence[Event], keys: tuple[str, ...], allowed: frozenset[str]) -> None:
        self.events = events
        self._allowed = allowed
        self._cells = look(events, keys)
        self._judged = cache(self._judge)

    def plan(self) -> Plan:
        """The templates in the order of the first events that go by each."""
        groups: dict[Shape, list[int]] = {}
        for number, event in enumerate(self.events):
            groups.setdefault(event.shape, []).append(number)
        clusters = sorted(cluster for members in groups.values() for cluster in self._clusters(tuple(members)))
        plan = Plan([0] * len(self.events), [marks for _, marks in clusters], {})
        for kind, (members, _) in enumerate(clusters):
            for number in members:
                plan.kinds[number] = kind
            if len(members) > 1:
                first = self.events[members[0]]
                plan.known.setdefault(first.shape, []).append((kind, first))
        return plan

    def marks_of_last(self) -> list[str]:
        """The marks of the template that the last event goes by."""
        last = len(self.events) - 1
        shape = self.events[last].shape
        alike = tuple([number for number, event in enumerate(self.events) if event.shape is shape])
        return next(marks for members, marks in self._clusters(alike, only=last) if last in members)

    def _clusters(
        self, members: tuple[int, ...], depth: int = MOST_SPLITS, only: int | None = None
    ) -> Iterator[tuple[tuple[int, ...], list[str]]]:
        """Events (by number) that go by one template each, and its marks. only: the event of which that is wanted."""
        costs, marks, least = self._judged(members)
        best = [members]
        if len(members) > 2 and depth:
            dearest = sorted([place for place, mark in enumerate(marks) if mark], key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                parts = self._parted(members, place, min(MOST_KINDS, int(len(members) * 0.6)))
                if len(parts) > 1 and (total := self._apart(parts, least)) < least:
                    best, least = parts, total
        if len(best) == 1:
            yield members, marks
            return
        for part in best:
            if only is None or only in part:
                yield from self._clusters(part, depth - 1, only)

    def _parted(self, members: tuple[int, ...], place: int, most: int) -> list[tuple[int, ...]]:
        """Events by the value of a leaf, in the order of the first of each; none for too many values."""
        found: dict[Leaf, list[int]] = {}
        for number in members:
            found.setdefault(self.events[number].leaves[place], []).append(number)
            if len(found) > most:
                return []
        return list(map(tuple, found.values()))

    def _apart(self, parts: list[tuple[int, ...]], most: float) -> float:
        """The cost of parts with a template each, derived from that of the first; any number from ``most`` on where
        that is not less."""
        base_leaves = self.events[parts[0][0]].leaves
        _, base, total = self._judged(parts[0])
        for part in parts[1:]:
            if total >= most:
                break
            costs, marks, _ = self._judged(part)
            total += TEMPLATE + _bars(marks, part)
            rows = 0.0
            for cost in costs:
                rows += max(cost, 0.0)
            total += rows
            leaves = self.events[part[0]].leaves
            for place, mark in enumerate(marks):
                if mark != base[place] or (costs[place] > 0 if mark else leaves[place] != base_leaves[place]):
                    total += MEMBER + weigh(leaves[place])
        return total

    def _judge(self, members: tuple[int, ...]) -> tuple[list[float], list[str], float]:
        """The cost of each leaf in the rows of a template for these events, its best mark, and the cost of all rows."""
        rows = [self._cells[number] for number in members]
        tables = enumerate(self.events[members[0]].shape.tables)
        found = [best_mark([row[at] for row in rows], is_table, self._allowed) for at, is_table in tables]
        costs, marks = [cost for cost, _ in found], [mark for _, mark in found]
        return costs, marks, sum(costs) + _bars(marks, members)


def _bars(marks: list[str], members: tuple[int, ...]) -> float:
    """About what the bars between fields cost."""
    return BAR * (len(members) - 1) * sum(map(bool, marks))


class Cell(NamedTuple):
    """A leaf of an event: what it costs in a row, and what was seen before it.

    fresh: nothing at its path in its conversation. same: the same at its path. more: one less there in its
    conversation. sources: other paths at which it was seen last.
    """

    leaf: Leaf
    cost: float
    conversation: Leaf | None
    fresh: bool
    same: bool
    more: bool
    sources: list[str]


def must_open(leaf: Leaf) -> bool:
    """A definition can tell the leaf only as an open one: arrays that begin with an object."""
    return type(leaf) is bytes and leaf[:2] == b"[{"


def weigh(leaf: Leaf) -> float:
    """About how many tokens a leaf is: a token a word, or three digits."""
    size = len(leaf)
    if type(leaf) is str:
        return 1 + size / (1.6 if len(_DIGITS(leaf[:64])) > 0.3 * min(size, 64) else 4.5)
    return 1 + size / 3


def _can_name(path: str) -> bool:
    """A mark can name the path. Without a path it would name the leaf's own."""
    return path != "" and not is_digested(path) and cut("x" + SEEN + path) == ("x", SEEN + path)


def look(events: Iterable[Event], keys: tuple[str, ...]) -> list[dict[int, Cell]]:
    """The leaves of the events of a block by their numbers, with what was seen before each. keys: paths that name the
    conversation."""
    state = State(keys)
    holders: dict[Leaf, dict[str, None]] = {}  # the paths at which each value is the last one

    def looked(event: Event) -> dict[int, Cell]:
        key, _ = event.shape.order(keys)
        conversation = None if key is None else event.leaves[key]
        cells: dict[int, Cell] = {}

        def see(place: int) -> Leaf:
            path, leaf = event.shape.paths[place], event.leaves[place]
            here, everywhere = state.here.values, state.all.values
            last, held = everywhere.get(path), holders.setdefault(leaf, {})
            own = here.get(path)
            paths = islice(reversed(held), MOST_HOLDERS) if held else ()
            sources = [other for other in paths if other != path and here.get(other, everywhere.get(other)) == leaf]
            same, more = (last if own is None else own) == leaf, own is not None and one_more(own) == leaf
            cost = weigh(leaf) + FIELD
            cells[place] = Cell(leaf, cost, conversation, own is None, same, more, sources[:MOST_SOURCES])
            if last is not None:
                holders[last].pop(path, None)
            held[path] = None
            return leaf

        state.take(event.shape, [""] * len(event.leaves), see)
        return cells

    return list(map(looked, events))


def best_mark(cells: Sequence[Cell], is_table: bool, allowed: frozenset[str]) -> tuple[float, str]:
    """The cost of one leaf in the rows of a template for some events, with the best of the marks that are allowed."""
    leaf = cells[0].leaf
    if all(cell.leaf == leaf for cell in cells):
        return 0.0, SAME if is_table or must_open(leaf) else _mark_of_constant(cells[0], allowed)
    missed = _missed(cells)
    if is_table:
        return missed[SAME], SAME
    if leaf == b"null":
        allowed &= {SAME, MORE}
    marks = [mark for mark in missed if mark[0] in allowed]
    best = min(marks, key=lambda mark: missed[mark] + _PENALTY.get(mark, 1.0))
    return missed[best], best


def _mark_of_constant(cell: Cell, allowed: frozenset[str]) -> str:
    """The mark of a leaf that never changes: fixed, or seen elsewhere where its first value need not be told."""
    if SEEN in allowed and cell.leaf != b"null" and weigh(cell.leaf) > LEAST_MARKED:
        if cell.same:
            return SEEN
        for path in cell.sources:
            if _can_name(path) and len(path) < len(cell.leaf) * 1.5:
                return SEEN + path
    return FIXED


def _missed(cells: Sequence[Cell]) -> dict[str, float]:
    """The cost of a leaf with each mark that it may have: in rows in which it is not as the mark says."""
    first, *others = cells
    rows = {first.conversation: first.leaf}
    missed = dict.fromkeys((SAME, MORE, SEEN, TURN), 0.0)
    sources: dict[str, int] = {}
    last = first.leaf
    for leaf, cost, conversation, is_fresh, is_same, is_more, paths in others:
        row = rows.get(conversation, last)
        missed[SAME] += cost * (row != leaf)
        missed[MORE] += cost * (one_more(row) != leaf)
        missed[SEEN] += cost * (not is_same)
        missed[TURN] += cost * (leaf != first.leaf if is_fresh else not is_more)
        for path in paths:
            sources[path] = sources.get(path, 0) + 1
        rows[conversation] = last = leaf
    for path in sorted(sources, key=lambda path: -sources[path])[:3]:
        if sources[path] * 4 >= len(others) and _can_name(path):
            elsewhere = 0.0
            for cell in others:
                elsewhere += cell.cost * (path not in cell.sources)
            missed[SEEN + path] = elsewhere - (weigh(first.leaf) if path in first.sources else 0.0)
    missed[SEEN] -= weigh(first.leaf) if first.same else 0.0
    missed[LATER] = _later([cell.leaf for cell in cells])
    return missed


def _later(leaves: Sequence[Leaf]) -> float:
    """The cost of a leaf in rows that tell it as a time or a number by its distance."""
    cost, last = 0.0, leaves[0]
    time = times.read(last) if type(last) is str else None
    if time is None and not (type(last) is bytes and last.isdigit() and len(last) >= 4):
        return _IMPOSSIBLE
    for leaf in leaves[1:]:
        if time is not None:
            other = times.read(leaf) if type(leaf) is str else None
            cost += DISTANCE if other is not None and other[0] == time[0] else weigh(leaf)
            continue
        if type(leaf) is not bytes or not leaf.isdigit() or int(leaf) < int(last):
            return _IMPOSSIBLE
        cost += 1.5 + len(str(int(leaf) - int(last))) / 3
        last = leaf
    return cost
