"""Chooses templates for a block of events: which events go by one template, and what each says of its members.

A guess at cost decides (about a token a word, or three digits); what a plan is worth is counted by whoever made it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire import _backend
from turnwire.session._judging_py import must_open
from turnwire.session.definitions import cut, marked
from turnwire.session.shapes import Shape, is_digested
from turnwire.session.state import FIXED, SAME, SEEN, order_of

if TYPE_CHECKING:
    from turnwire.session._judging_py import Judge
else:
    Judge = _backend.load("session.judging").Judge
from turnwire.session._values_py import Leaf

MOST_KINDS = 12
"""Values of a leaf that may tell kinds of event apart."""
TEMPLATE = 12.0
"""What a definition costs beside its members."""
BAR = 0.5
"""What a field costs in a row though it is empty."""
MOST_CANDIDATES = 12
"""Leaves that are tried to tell kinds of event apart: the dearest."""
MOST_SPLITS = 4
"""How often events of one structure are parted."""
MOST_MISSED = 20
"""One of so many events may fit no template before all are planned anew."""


class Event(NamedTuple):
    """An event in a block: its minified JSON; its shape, one object for all events of one structure; its leaves."""

    line: str
    shape: Shape
    leaves: list[Leaf]


class Cluster(NamedTuple):
    """Events (by number) that go by one template, and its marks."""

    members: list[int]
    marks: list[str]


class Plan(NamedTuple):
    """Which template each event of a block goes by, and the marks of each template.

    known: shape -> (what takes the leaves that never change from an event of a template, these, the template's
    number).
    """

    kinds: list[int]
    marks: list[list[str]]
    known: dict[Shape, list[tuple[Callable[[list[Leaf]], Any], Any, int]]]

    def again(self, events: Sequence[Event]) -> Plan | None:
        """The same templates for other events, or None where too few of them fit."""
        kinds, missed = [], 0
        marks = list(self.marks)
        for event in events:
            leaves = event.leaves
            for fixed_of, fixed, at in self.known.get(event.shape, ()):
                if fixed_of(leaves) == fixed:
                    kinds.append(at)
                    break
            else:
                missed += 1
                kinds.append(len(marks))
                tables = event.shape.columns
                marks.append([SAME if must_open(leaf) or tables[at] else FIXED for at, leaf in enumerate(leaves)])
        return None if missed * MOST_MISSED > len(events) else Plan(kinds, marks, self.known)


class Planner:
    """Plans one block. keys: paths that name the conversation."""

    def __init__(self, events: Sequence[Event], keys: tuple[str, ...], expectations: frozenset[str]) -> None:
        self.events = events
        known: dict[int, tuple[int | None, list[int]]] = {}
        orders = []
        for event in events:
            order = known.get(id(event.shape))
            if order is None:
                order = known[id(event.shape)] = order_of(event.shape.paths, keys)
            orders.append(order)
        self._judge = Judge(events, orders, expectations, _tellable)
        self._known: dict[tuple[int, ...], tuple[list[float], list[str]]] = {}

    def plan(self) -> Plan:
        """The clusters as a plan that later events may go by, too."""
        found = self.clusters()
        kinds = [0] * len(self.events)
        plan = Plan(kinds, [cluster.marks for cluster in found], {})
        for at, cluster in enumerate(found):
            first = self.events[cluster.members[0]]
            for number in cluster.members:
                kinds[number] = at
            if len(cluster.members) > 1:
                fixed = [place for place, mark in enumerate(cluster.marks) if not mark]
                fixed_of = itemgetter(*fixed) if fixed else _nothing
                plan.known.setdefault(first.shape, []).append((fixed_of, fixed_of(first.leaves), at))
        return plan

    def clusters(self) -> list[Cluster]:
        """The clusters in the order of their first events."""
        groups: dict[Shape, list[int]] = {}
        for number, event in enumerate(self.events):
            groups.setdefault(event.shape, []).append(number)
        found = [cluster for members in groups.values() for cluster in self._split(members, MOST_SPLITS)]
        return sorted(found, key=lambda cluster: cluster.members[0])

    def cluster_of(self, number: int) -> Cluster:
        """The cluster of one event: that of ``clusters``, without the others."""
        shape = self.events[number].shape
        members, depth = [at for at, event in enumerate(self.events) if event.shape is shape], MOST_SPLITS
        while True:
            marks, parts = self._best(members, depth)
            if parts is None:
                return Cluster(members, marks)
            part = next((part for part in parts if number in part), None)
            if part is None:
                raise RuntimeError("another thread changed the session: a Writer is for one thread at a time")
            members, depth = part, depth - 1

    def _split(self, members: list[int], depth: int) -> Iterator[Cluster]:
        marks, parts = self._best(members, depth)
        if parts is None:
            yield Cluster(members, marks)
        else:
            for part in parts:
                yield from self._split(part, depth - 1)

    def _best(self, members: list[int], depth: int) -> tuple[list[str], list[list[int]] | None]:
        """The marks of a template for all these events, and the parts that cost less with one each, if any do."""
        costs, marks = self._judged(members)
        least = sum(costs) + _bars(marks, members)
        best: list[list[int]] | None = None
        if len(members) > 2 and depth:
            dearest = sorted(filter(marks.__getitem__, range(len(marks))), key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                parts = self._judge.parted(members, place, min(MOST_KINDS, int(len(members) * 0.6)))
                if parts is None or len(parts) < 2:
                    continue
                total = self._apart(parts, least)
                if total < least:
                    best, least = parts, total
        return marks, best

    def _apart(self, parts: list[list[int]], most: float) -> float:
        """What parts cost with a template each, derived from that of the first; any number from ``most`` on where that
        is not less."""
        total = 0.0
        base: list[str] = []
        for number, part in enumerate(parts):
            costs, marks = self._judged(part)
            if not number:
                total += sum(costs) + _bars(marks, part)
                base = marks
                continue
            if total >= most:
                break
            total += TEMPLATE + _bars(marks, part)
            total = self._judge.derived(total, part[0], parts[0][0], costs, marks, base)
        return total

    def _judged(self, members: list[int]) -> tuple[list[float], list[str]]:
        """What each leaf costs in the rows of a template for these events, and its best mark."""
        key = tuple(members)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._judge.judged(members)
        return known


def _nothing(leaves: list[Leaf]) -> None:
    """The leaves that never change, of a template that has none of them."""


def _bars(marks: list[str], members: list[int]) -> float:
    """About what the bars between fields cost."""
    return BAR * (len(members) - 1) * sum(map(bool, marks))


@lru_cache(4096)
def _tellable(path: str) -> bool:
    """Whether a mark can name a path. Without a path it would name the leaf's own."""
    return path != "" and not is_digested(path) and cut(marked("x", SEEN + path)) == ("x", SEEN + path)
