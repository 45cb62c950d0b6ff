"""Judges what templates would cost: what each leaf has before it in a block, and the best mark for it.

A guess at cost decides: about a token a word, or three digits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from turnwire.session import _times_py as times
from turnwire.session._state_py import LATER, MORE, SAME, SEEN, TURN, one_more
from turnwire.session._values_py import Leaf

if TYPE_CHECKING:
    from turnwire.session.planning import Event

IS_SAME, IS_MORE, IS_FRESH = 1, 2, 4
"""What was seen before a leaf at its path: the same; one less; nothing in its conversation."""
MOST_SOURCES, MOST_HOLDERS = 6, 24
"""Paths with the same value that a leaf may be told by; those that are looked at."""
MEMBER = 4.0
"""What a member costs in a definition, beside its value."""
_IMPOSSIBLE = 1e9
_PENALTY = {SAME: 0.0, MORE: 0.3, SEEN: 0.2, TURN: 0.4}


def must_open(leaf: Leaf) -> bool:
    """Whether a definition can tell a leaf only as an open one: objects, and arrays of nothing but objects."""
    return type(leaf) is bytes and leaf[:2] == b"[{"


class Judge:
    """Judges the events of one block.

    orders: of each event, the number of the leaf that names its conversation (or None) and the order in which its
    leaves are told. allowed: the marks that may be used. tellable: whether a mark can name a path.
    """

    def __init__(
        self,
        events: Sequence[Event],
        orders: Sequence[tuple[int | None, list[int]]],
        allowed: frozenset[str],
        tellable: Callable[[str], bool],
    ) -> None:
        self.events = events
        self.allowed = allowed
        self.tellable = tellable
        self._weights: dict[Leaf, float] = {}
        self._conversations: list[Leaf | None] = []
        self._flags: list[list[int]] = []
        self._others: list[list[tuple[str, ...]]] = []
        self._more: dict[Leaf, Leaf | None] = {}
        self._times: dict[Leaf, tuple[times.Form, int] | None] = {}
        self._look(orders)

    def _look(self, orders: Sequence[tuple[int | None, list[int]]]) -> None:
        """What each leaf has before it."""
        everywhere: dict[str, Leaf] = {}
        scopes: dict[Leaf | None, dict[str, Leaf]] = {None: everywhere}
        holders: dict[Leaf, dict[str, None]] = {}
        for event, (key, order) in zip(self.events, orders, strict=True):
            paths, leaves = event.shape.paths, event.leaves
            conversation = None if key is None else leaves[key]
            scope = scopes.setdefault(conversation, {})
            self._conversations.append(conversation)
            flags = [0] * len(paths)
            sources: list[tuple[str, ...]] = [()] * len(paths)
            for place in order:
                path, leaf = paths[place], leaves[place]
                here = everywhere if place == key else scope
                own = here.get(path)
                last = everywhere.get(path) if own is None else own
                flag = IS_FRESH if own is None else 0
                if last == leaf:
                    flag |= IS_SAME
                if own is not None and self._next(own) == leaf:
                    flag |= IS_MORE
                flags[place] = flag
                held = holders.get(leaf)
                if held:
                    sources[place] = self._sources(held, path, leaf, here, everywhere)
                if here is not everywhere:
                    here[path] = leaf
                elif place == key:
                    scope[path] = leaf
                old = everywhere.get(path)
                if old is not None and old in holders:
                    holders[old].pop(path, None)
                everywhere[path] = leaf
                holders.setdefault(leaf, {})[path] = None
            self._flags.append(flags)
            self._others.append(sources)

    @staticmethod
    def _sources(
        held: dict[str, None], path: str, leaf: Leaf, here: dict[str, Leaf], everywhere: dict[str, Leaf]
    ) -> tuple[str, ...]:
        """The other paths at which a leaf was seen last."""
        found = []
        for other in islice(reversed(held), MOST_HOLDERS):
            if other != path and here.get(other, everywhere.get(other)) == leaf:
                found.append(other)
                if len(found) == MOST_SOURCES:
                    break
        return tuple(found)

    def weigh(self, leaf: Leaf) -> float:
        """About how many tokens a leaf is."""
        found = self._weights.get(leaf)
        if found is None:
            size = len(leaf)
            if type(leaf) is bytes:
                found = 1 + size / 3
            else:
                digits = sum([letter in "0123456789" for letter in leaf[:64]])  # type: ignore[operator]
                found = 1 + size / (1.6 if digits > 0.3 * min(size, 64) else 4.5)
            self._weights[leaf] = found
        return found

    def judged(self, members: list[int]) -> tuple[list[float], list[str]]:
        """What each leaf costs in the rows of a template for these events, and its best mark."""
        first = self.events[members[0]]
        found = [self._mark(place, members, first) for place in range(len(first.leaves))]
        return [cost for _, cost in found], [mark for mark, _ in found]

    def derived(
        self, total: float, one: int, other: int, costs: list[float], marks: list[str], base: list[str]
    ) -> float:
        """``total`` and what a template of an event costs that is told by that of another, beside its name: its rows,
        and the members that are not as there. base: the marks of the other one."""
        rows = 0.0
        for cost in costs:
            rows += max(cost, 0.0)
        total += rows
        leaves, first = self.events[one].leaves, self.events[other].leaves
        for place, mark in enumerate(marks):
            if mark != base[place] or (leaves[place] != first[place] if not mark else costs[place] > 0):
                total += MEMBER + self.weigh(leaves[place])
        return total

    def parted(self, members: list[int], place: int, most: int) -> list[list[int]] | None:
        """Events by the value of a leaf, in the order of the first of each; None for more values than ``most``."""
        found: dict[Leaf, list[int]] = {}
        for number in members:
            found.setdefault(self.events[number].leaves[place], []).append(number)
            if len(found) > most:
                return None
        return list(found.values())

    def _next(self, leaf: Leaf) -> Leaf | None:
        if leaf not in self._more:
            self._more[leaf] = one_more(leaf)
        return self._more[leaf]

    def _mark(self, place: int, members: list[int], first: Event) -> tuple[str, float]:
        """The best mark of one leaf, and what it costs in rows."""
        events, leaf = self.events, first.leaves[place]
        table = first.shape.columns[place] is not None
        for number in members:
            if events[number].leaves[place] != leaf:
                break
        else:
            if table or must_open(leaf):
                return SAME, 0.0
            return self._of_constant(place, members[0], leaf), 0.0
        whole, missed = self._missed(place, members, leaf)
        missed = {mark: cost for mark, cost in missed.items() if mark[:1] in self.allowed}
        if leaf == b"null":
            missed = {mark: cost for mark, cost in missed.items() if mark in (SAME, MORE)}
        if table:
            return SAME, missed.get(SAME, whole)
        best = min(missed, key=lambda mark: missed[mark] + _PENALTY.get(mark, 1.0), default="")
        if not best:
            return SAME, whole  # open, though nothing is expected: rows always tell it
        return best, missed[best]

    def _missed(self, place: int, members: list[int], leaf: Leaf) -> tuple[float, dict[str, float]]:
        """What rows cost that always tell a leaf, and what they cost with each mark."""
        rows: dict[Leaf | None, Leaf] = {self._conversations[members[0]]: leaf}
        sources: Counter[str] = Counter()
        whole = same = more = seen = turn = 0.0
        last = leaf
        for number in members[1:]:
            value = self.events[number].leaves[place]
            cost = self.weigh(value) + 0.5
            whole += cost
            flag = self._flags[number][place]
            row = rows.get(self._conversations[number], last)
            if row != value:
                same += cost
            if self._next(row) != value:
                more += cost
            if not flag & IS_SAME:
                seen += cost
            if not (value == leaf if flag & IS_FRESH else flag & IS_MORE):
                turn += cost
            for path in self._others[number][place]:
                sources[path] += 1
            rows[self._conversations[number]] = last = value
        if self._flags[members[0]][place] & IS_SAME:
            seen -= self.weigh(leaf)
        missed = {SAME: same, MORE: more, SEEN: seen, TURN: turn}
        for path, count in sources.most_common(3):
            if count * 4 >= len(members) - 1 and self.tellable(path):
                missed[SEEN + path] = self._elsewhere(place, members, leaf, path)
        missed[LATER] = self._later(place, members, leaf)
        return whole, missed

    def _elsewhere(self, place: int, members: list[int], leaf: Leaf, path: str) -> float:
        """What a leaf costs that is expected as it was seen last at another path."""
        cost = 0.0
        for number in members[1:]:
            if path not in self._others[number][place]:
                cost += self.weigh(self.events[number].leaves[place]) + 0.5
        return cost - (self.weigh(leaf) if path in self._others[members[0]][place] else 0.0)

    def _of_constant(self, place: int, number: int, leaf: Leaf) -> str:
        """The mark of a leaf that never changes: fixed, or seen elsewhere where its first value need not be told."""
        if SEEN in self.allowed and leaf != b"null" and self.weigh(leaf) > 6:
            if self._flags[number][place] & IS_SAME:
                return SEEN
            for path in self._others[number][place]:
                if self.tellable(path) and len(path) < len(leaf) * 1.5:
                    return SEEN + path
        return ""

    def _time(self, leaf: Leaf) -> tuple[times.Form, int] | None:
        if leaf not in self._times:
            self._times[leaf] = times.read(leaf) if type(leaf) is str else None
        return self._times[leaf]

    def _later(self, place: int, members: list[int], leaf: Leaf) -> float:
        """What a leaf costs as a time."""
        cost = 0.0
        if type(leaf) is str:
            form = self._time(leaf)
            if form is None:
                return _IMPOSSIBLE
            for number in members[1:]:
                value = self.events[number].leaves[place]
                read = self._time(value)
                cost += 2.5 if read is not None and read[0] == form[0] else self.weigh(value)
            return cost
        if not leaf.isdigit() or len(leaf) < 4:
            return _IMPOSSIBLE
        last = int(leaf)
        for number in members[1:]:
            value = self.events[number].leaves[place]
            if type(value) is not bytes or not value.isdigit() or int(value) < last:
                return _IMPOSSIBLE
            cost += 1.5 + len(str(int(value) - last)) / 3
            last = int(value)
        return cost
