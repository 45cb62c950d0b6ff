"""Chooses templates for a block of events: which events go by one template, and what each says of its members.

A guess at cost decides (about a token a word, or three digits); what a plan is worth is counted by whoever made it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from turnwire.session import times
from turnwire.session.definitions import cut, marked
from turnwire.session.shapes import Shape
from turnwire.session.state import FIXED, LATER, MORE, SAME, SEEN, TURN, one_more, order_of
from turnwire.session.values import Leaf

MOST_KINDS = 12
"""Values of a leaf that may tell kinds of event apart."""
MEMBER = 4.5
"""What a member costs in a definition, beside its value."""
TEMPLATE = 8.0
"""What a definition costs beside its members, and what it takes from a reader's memory."""
MOST_SOURCES, MOST_HOLDERS = 6, 24
"""Paths with the same value that a leaf may be told by; those that are looked at."""
MOST_CANDIDATES = 12
"""Leaves that are tried to tell kinds of event apart: the dearest."""
MOST_MISSED = 20
"""One of so many events may fit no template before all are planned anew."""


class Event(NamedTuple):
    """An event in a block: its structure, its shape, its leaves."""

    structure: tuple[object, ...]
    shape: Shape
    leaves: list[Leaf]


class Cluster(NamedTuple):
    """Events (by number) that go by one template, and its marks."""

    members: list[int]
    marks: list[str]


class Plan(NamedTuple):
    """Which template each event of a block goes by, and the marks of each template.

    known: structure -> (places and values that events of a template must have, the template's number).
    """

    kinds: list[int]
    marks: list[list[str]]
    known: dict[tuple[object, ...], list[tuple[list[tuple[int, Leaf]], int]]]

    def again(self, events: Sequence[Event]) -> Plan | None:
        """The same templates for other events, or None where too few of them fit."""
        kinds, missed = [], 0
        marks = list(self.marks)
        for event in events:
            leaves = event.leaves
            for fixed, at in self.known.get(event.structure, ()):
                if all(leaves[place] == leaf for place, leaf in fixed):
                    kinds.append(at)
                    break
            else:
                missed += 1
                kinds.append(len(marks))
                tables = event.shape.columns
                marks.append([SAME if _must_open(leaf) or tables[at] else FIXED for at, leaf in enumerate(leaves)])
        return None if missed * MOST_MISSED > len(events) else Plan(kinds, marks, self.known)


class Hint(NamedTuple):
    """What was seen before a leaf: whether the same at its path, whether one less, at which other paths the same; and
    the conversation. ``fresh``: whether its conversation had not had that path before."""

    same: bool
    more: bool
    fresh: bool
    others: tuple[str, ...]


def weight(leaf: Leaf, known: dict[Leaf, float]) -> float:
    """About how many tokens a leaf is."""
    found = known.get(leaf)
    if found is None:
        size = len(leaf)
        if type(leaf) is bytes:
            found = 1 + size / 3
        else:
            digits = sum(map(str.isdigit, leaf[:64])) / min(size or 1, 64)  # type: ignore[arg-type]
            found = 1 + size / (1.6 if digits > 0.3 else 4.5)
        known[leaf] = found
    return found


class Planner:
    """Plans one block. keys: paths that name the conversation."""

    def __init__(self, events: Sequence[Event], keys: tuple[str, ...], expectations: frozenset[str]) -> None:
        self.events = events
        self.allowed = expectations
        self.weights: dict[Leaf, float] = {}
        self.conversations: list[Leaf | None] = []
        self.hints: list[list[Hint]] = []
        self._orders: dict[int, tuple[int | None, list[int]]] = {}
        self._known: dict[tuple[int, ...], tuple[list[float], list[str]]] = {}
        self._more: dict[Leaf, Leaf | None] = {}
        self._look(keys)

    def _look(self, keys: tuple[str, ...]) -> None:
        """What each leaf has before it."""
        everywhere: dict[str, Leaf] = {}
        scopes: dict[Leaf | None, dict[str, Leaf]] = {None: everywhere}
        holders: dict[Leaf, dict[str, None]] = {}
        for event in self.events:
            paths = event.shape.paths
            known = self._orders.get(id(event.shape))
            if known is None:
                known = self._orders[id(event.shape)] = order_of(paths, keys)
            key, order = known
            conversation = None if key is None else event.leaves[key]
            scope = scopes.setdefault(conversation, {}) if conversation is not None else everywhere
            self.conversations.append(conversation)
            hints: list[Hint] = [Hint(False, False, False, ())] * len(paths)
            for place in order:
                path, leaf = paths[place], event.leaves[place]
                here = everywhere if place == key else scope
                own = here.get(path)
                fresh = own is None
                last = everywhere.get(path) if own is None else own
                others: list[str] = []
                for other in islice(reversed(holders.get(leaf, {})), MOST_HOLDERS):
                    if other == path:
                        continue
                    if here.get(other, everywhere.get(other)) == leaf:
                        others.append(other)
                        if len(others) == MOST_SOURCES:
                            break
                hints[place] = Hint(last == leaf, own is not None and one_more(own) == leaf, fresh, tuple(others))
                if here is not everywhere:
                    here[path] = leaf
                elif place == key:
                    scope[path] = leaf
                old = everywhere.get(path)
                if old is not None and old in holders:
                    holders[old].pop(path, None)
                everywhere[path] = leaf
                holders.setdefault(leaf, {})[path] = None
            self.hints.append(hints)

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
                fixed = [(place, first.leaves[place]) for place, mark in enumerate(cluster.marks) if not mark]
                plan.known.setdefault(first.structure, []).append((fixed, at))
        return plan

    def clusters(self) -> list[Cluster]:
        """The clusters in the order of their first events."""
        groups: dict[tuple[object, ...], list[int]] = {}
        for number, event in enumerate(self.events):
            groups.setdefault(event.structure, []).append(number)
        found = [cluster for members in groups.values() for cluster in self._split(members, 4)]
        return sorted(found, key=lambda cluster: cluster.members[0])

    def _split(self, members: list[int], depth: int) -> Iterator[Cluster]:
        costs, marks = self._judged(members)
        least = sum(costs)
        best: list[list[int]] | None = None
        if len(members) > 2 and depth:
            dearest = sorted(filter(marks.__getitem__, range(len(marks))), key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                kinds: dict[Leaf, list[int]] = {}
                for number in members:
                    kinds.setdefault(self.events[number].leaves[place], []).append(number)
                    if len(kinds) > MOST_KINDS:
                        break
                if not 1 < len(kinds) <= MOST_KINDS or len(kinds) > len(members) * 0.6:
                    continue
                parts = list(kinds.values())
                total = self._apart(parts)
                if total < least:
                    best, least = parts, total
        if best is None:
            yield Cluster(members, marks)
        else:
            for part in best:
                yield from self._split(part, depth - 1)

    def _apart(self, parts: list[list[int]]) -> float:
        """What parts cost with a template each, derived from that of the first."""
        total = 0.0
        base: list[str] = []
        first = self.events[parts[0][0]].leaves
        for number, part in enumerate(parts):
            costs, marks = self._judged(part)
            total += sum(costs)
            if not number:
                base = marks
                continue
            total += TEMPLATE
            leaves = self.events[part[0]].leaves
            for place, mark in enumerate(marks):
                if mark != base[place] or (leaves[place] != first[place] if not mark else costs[place] > 0):
                    total += MEMBER + self._weigh(leaves[place])
        return total

    def _weigh(self, leaf: Leaf) -> float:
        return weight(leaf, self.weights)

    def _judged(self, members: list[int]) -> tuple[list[float], list[str]]:
        """The best marks of a template for these events, and what each leaf costs in its rows."""
        key = tuple(members)
        known = self._known.get(key)
        if known is None:
            first = self.events[members[0]]
            later = members[1:]
            found = [self._mark(place, members, later, first) for place in range(len(first.leaves))]
            known = self._known[key] = [cost for _, cost in found], [mark for mark, _ in found]
        return known

    def _mark(self, place: int, members: list[int], later: list[int], first: Event) -> tuple[str, float]:
        """The mark of one leaf, and what it costs in rows."""
        events, leaf, more = self.events, first.leaves[place], self._more
        if all(events[number].leaves[place] == leaf for number in later):
            if _must_open(leaf) or first.shape.columns[place] is not None:
                return SAME, 0.0
            return self._of_constant(place, members[0], leaf), 0.0
        missed = dict.fromkeys(self.allowed, 0.0)
        counting = MORE in missed
        sources: Counter[str] = Counter()
        rows: dict[Leaf | None, Leaf] = {}
        whole, last = 0.0, leaf
        rows[self.conversations[members[0]]] = leaf
        for number in later:
            value = events[number].leaves[place]
            cost = self._weigh(value) + 0.5
            whole += cost
            hint = self.hints[number][place]
            row = rows.get(self.conversations[number], last)
            if SAME in missed and row != value:
                missed[SAME] += cost
            if counting:
                if row not in more:
                    more[row] = one_more(row)
                if more[row] != value:
                    missed[MORE] += cost
            if SEEN in missed and not hint.same:
                missed[SEEN] += cost
            if TURN in missed and not (value == leaf if hint.fresh else hint.more):
                missed[TURN] += cost
            for path in hint.others:
                sources[path] += 1
            rows[self.conversations[number]] = last = value
        if SEEN in missed:
            if self.hints[members[0]][place].same:
                missed[SEEN] -= self._weigh(leaf)
            for path, count in sources.most_common(3):
                if count * 4 >= len(later) and _tellable(path):
                    missed[SEEN + path] = sum(
                        self._weigh(events[number].leaves[place]) + 0.5
                        for number in later
                        if path not in self.hints[number][place].others
                    )
                    if path in self.hints[members[0]][place].others:
                        missed[SEEN + path] -= self._weigh(leaf)
        if LATER in missed:
            missed[LATER] = self._of_times(place, later, leaf)
        if leaf == b"null":
            missed = {mark: cost for mark, cost in missed.items() if mark in (SAME, MORE)}
        if first.shape.columns[place] is not None:
            return SAME, missed.get(SAME, whole)
        penalty = {SAME: 0.0, MORE: 0.3, SEEN: 0.2, TURN: 0.4}
        best = min(missed, key=lambda mark: missed[mark] + penalty.get(mark, 1.0), default="")
        if not best:
            return SAME, whole  # open, though nothing is expected: rows always tell it
        return best, missed[best]

    def _of_constant(self, place: int, number: int, leaf: Leaf) -> str:
        """The mark of a leaf that never changes: fixed, or seen elsewhere where its first value need not be told."""
        hint = self.hints[number][place]
        if SEEN in self.allowed and leaf != b"null" and self._weigh(leaf) > 6:
            if hint.same:
                return SEEN
            source = next((path for path in hint.others if _tellable(path) and len(path) < len(leaf) * 1.5), None)
            if source is not None:
                return SEEN + source
        return FIXED

    def _of_times(self, place: int, later: list[int], leaf: Leaf) -> float:
        """What a leaf costs as a time."""
        impossible = 1e9
        if type(leaf) is str:
            form = times.read(leaf)
            if form is None:
                return impossible
            cost = 0.0
            for number in later:
                value = self.events[number].leaves[place]
                read = times.read(value) if type(value) is str else None
                cost += 2.5 if read is not None and read[0] == form[0] else self._weigh(value)
            return cost
        if not leaf.isdigit() or len(leaf) < 4:
            return impossible
        last, cost = int(leaf), 0.0
        for number in later:
            value = self.events[number].leaves[place]
            if type(value) is not bytes or not value.isdigit() or int(value) < last:
                return impossible
            cost += 1.5 + len(str(int(value) - last)) / 3
            last = int(value)
        return cost


def _must_open(leaf: Leaf) -> bool:
    """Whether a definition can tell a leaf only as an open one: objects, and arrays of nothing but objects."""
    return type(leaf) is bytes and leaf[:2] == b"[{"


def _tellable(path: str) -> bool:
    """Whether a mark can name a path."""
    return cut(marked("x", SEEN + path)) == ("x", SEEN + path)
