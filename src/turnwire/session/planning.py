"""Chooses templates for a block of events: which events go by one template, and what each says of its members.

A guess at cost decides; what a plan is worth is counted by whoever made it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from turnwire.session.shapes import Event, Shape
from turnwire.session.template_cost import MEMBER, best_mark, look, must_open, weigh
from turnwire.session.templates import FIXED, SAME
from turnwire.session.values import Leaf

MOST_KINDS = 12
"""Values of a leaf that may tell kinds of event apart."""
TEMPLATE = 12.0
"""The cost of a definition, beside its members."""
BAR = 0.5
"""The cost of a field in a row though it is empty."""
MOST_CANDIDATES = 12
"""Leaves that are tried to tell kinds of event apart: those that cost most."""
MOST_SPLITS = 4
"""So often events of one structure are parted at most."""
MOST_MISSED = 20
"""One of so many events may fit no template before all are planned anew."""


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
            kind = next((kind for kind, first in known if _is_alike(event, first, marks[kind])), len(marks))
            kinds.append(kind)
            if kind == len(marks):
                is_open = [
                    must_open(leaf) or table for leaf, table in zip(event.leaves, event.shape.tables, strict=True)
                ]
                marks.append([SAME if each else FIXED for each in is_open])
        missed = len(marks) - len(self.marks)
        return None if missed * MOST_MISSED > len(events) else Plan(kinds, marks, self.known)


def _is_alike(event: Event, other: Event, marks: list[str]) -> bool:
    """The leaves of two events are the same where they have no marks."""
    return all(mark or one == two for mark, one, two in zip(marks, event.leaves, other.leaves, strict=True))


class Planner:
    """Plans one block. keys: paths that name the conversation. allowed: the marks that may be used. only: the shape of
    the events that are planned; None: all are."""

    def __init__(
        self, events: Sequence[Event], keys: tuple[str, ...], allowed: frozenset[str], only: Shape | None = None
    ) -> None:
        self.events = events
        self._allowed = allowed
        self._cells = look(events, keys, only)
        self._known: dict[tuple[int, ...], tuple[list[float], list[str]]] = {}

    def plan(self) -> Plan:
        """The templates in the order of the first events that go by each."""
        groups: dict[Shape, list[int]] = {}
        for number, event in enumerate(self.events):
            groups.setdefault(event.shape, []).append(number)
        clusters = [cluster for members in groups.values() for cluster in self._clusters(members, MOST_SPLITS)]
        clusters.sort(key=lambda cluster: cluster[0][0])
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
        last, depth = len(self.events) - 1, MOST_SPLITS
        shape = self.events[last].shape
        members = [number for number, event in enumerate(self.events) if event.shape is shape]
        while True:
            marks, parts = self._best(members, depth)
            if parts is None:
                return marks
            members, depth = next(part for part in parts if last in part), depth - 1

    def _clusters(self, members: list[int], depth: int) -> Iterator[tuple[list[int], list[str]]]:
        """Events (by number) that go by one template each, and its marks."""
        marks, parts = self._best(members, depth)
        if parts is None:
            yield members, marks
        for part in parts or ():
            yield from self._clusters(part, depth - 1)

    def _best(self, members: list[int], depth: int) -> tuple[list[str], list[list[int]] | None]:
        """The marks of a template for all these events, and the parts that cost less with one each, if any do."""
        costs, marks = self._judged(members)
        least = sum(costs) + _bars(marks, members)
        best: list[list[int]] | None = None
        if len(members) > 2 and depth:
            dearest = sorted([place for place, mark in enumerate(marks) if mark], key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                parts = self._parted(members, place, min(MOST_KINDS, int(len(members) * 0.6)))
                if parts is not None and (total := self._apart(parts, least)) < least:
                    best, least = parts, total
        return marks, best

    def _parted(self, members: list[int], place: int, most: int) -> list[list[int]] | None:
        """Events by the value of a leaf, in the order of the first of each; None for one value, or for too many."""
        found: dict[Leaf, list[int]] = {}
        for number in members:
            found.setdefault(self.events[number].leaves[place], []).append(number)
            if len(found) > most:
                return None
        return list(found.values()) if len(found) > 1 else None

    def _apart(self, parts: list[list[int]], most: float) -> float:
        """The cost of parts with a template each, derived from that of the first; any number from ``most`` on where
        that is not less."""
        base_leaves = self.events[parts[0][0]].leaves
        costs, base = self._judged(parts[0])
        total = sum(costs) + _bars(base, parts[0])
        for part in parts[1:]:
            if total >= most:
                break
            costs, marks = self._judged(part)
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

    def _judged(self, members: list[int]) -> tuple[list[float], list[str]]:
        """The cost of each leaf in the rows of a template for these events, and its best mark."""
        key = tuple(members)
        if key not in self._known:
            rows = [self._cells[number] for number in members]
            tables = enumerate(self.events[members[0]].shape.tables)
            found = [best_mark([row[at] for row in rows], is_table, self._allowed) for at, is_table in tables]
            self._known[key] = [cost for cost, _ in found], [mark for _, mark in found]
        return self._known[key]


def _bars(marks: list[str], members: list[int]) -> float:
    """About what the bars between fields cost."""
    return BAR * (len(members) - 1) * sum(map(bool, marks))
