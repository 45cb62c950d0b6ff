"""Guesses the cost of templates: of each leaf the best mark, and about how many tokens rows have with it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import NamedTuple

from turnwire.session import times
from turnwire.session.notation import cut
from turnwire.session.shapes import Event, Shape, is_digested
from turnwire.session.templates import FIXED, LATER, MORE, SAME, SEEN, TURN, State, one_more
from turnwire.session.values import Leaf

MOST_SOURCES, MOST_HOLDERS = 6, 24
"""Paths with the same value that a leaf may be told by; those that are looked at."""
MEMBER = 4.0
"""The cost of a member in a definition, beside its value."""
FIELD = 0.5
"""The cost of a field that holds a value, beside it."""
DISTANCE = 2.5
"""The cost of the distance of a time."""
WORTH_A_MARK = 6.0
"""A leaf that never changes gets a mark that says where it was seen if it costs more."""
_IMPOSSIBLE = 1e9
_DIGITS = re.compile("[0-9]").findall
_PENALTY = {SAME: 0.0, MORE: 0.3, SEEN: 0.2, TURN: 0.4}


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


def look(events: Iterable[Event], keys: tuple[str, ...], only: Shape | None) -> list[dict[int, Cell]]:
    """The leaves of the events of a block by their numbers, with what was seen before each.

    keys: paths that name the conversation. only: the shape of the events that are looked at; None: all are.
    """
    state = State()
    holders: dict[Leaf, dict[str, None]] = {}  # the paths at which each value is the last one

    def looked(event: Event) -> dict[int, Cell]:
        key, _ = event.shape.order(keys)
        conversation = None if key is None else event.leaves[key]
        cells: dict[int, Cell] = {}

        def see(place: int) -> Leaf:
            path, leaf = event.shape.paths[place], event.leaves[place]
            here, everywhere = state.here.values, state.all.values
            last, held = everywhere.get(path), holders.setdefault(leaf, {})
            if only in (None, event.shape):
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

        state.take(event.shape, [""] * len(event.leaves), keys, see)
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
    if SEEN in allowed and cell.leaf != b"null" and weigh(cell.leaf) > WORTH_A_MARK:
        if cell.same:
            return SEEN
        for path in cell.sources:
            if _can_name(path) and len(path) < len(cell.leaf) * 1.5:
                return SEEN + path
    return FIXED


def _missed(cells: Sequence[Cell]) -> dict[str, float]:
    """The cost of a leaf with each mark that it may have: in rows in which it is not as the mark says."""
    first = cells[0]
    rows = {first.conversation: first.leaf}
    sources: dict[str, int] = {}
    same = more = seen = turn = 0.0
    last = first.leaf
    for leaf, cost, conversation, is_fresh, is_same, is_more, paths in islice(cells, 1, None):
        row = rows.get(conversation, last)
        if row != leaf:
            same += cost
        if one_more(row) != leaf:
            more += cost
        if not is_same:
            seen += cost
        if not (leaf == first.leaf if is_fresh else is_more):
            turn += cost
        for path in paths:
            sources[path] = sources.get(path, 0) + 1
        rows[conversation] = last = leaf
    missed = {SAME: same, MORE: more, SEEN: seen - (weigh(first.leaf) if first.same else 0.0), TURN: turn}
    for path in sorted(sources, key=lambda path: -sources[path])[:3]:
        if sources[path] * 4 >= len(cells) - 1 and _can_name(path):
            elsewhere = 0.0
            for cell in islice(cells, 1, None):
                if path not in cell.sources:
                    elsewhere += cell.cost
            missed[SEEN + path] = elsewhere - (weigh(first.leaf) if path in first.sources else 0.0)
    missed[LATER] = _later([cell.leaf for cell in cells])
    return missed


def _later(leaves: Sequence[Leaf]) -> float:
    """The cost of a leaf in rows that tell it as a time or a number by its distance."""
    cost, first = 0.0, leaves[0]
    if type(first) is str:
        time = times.read(first)
        if time is None:
            return _IMPOSSIBLE
        for leaf in leaves[1:]:
            other = times.read(leaf) if type(leaf) is str else None
            cost += DISTANCE if other is not None and other[0] == time[0] else weigh(leaf)
        return cost
    if not first.isdigit() or len(first) < 4:
        return _IMPOSSIBLE
    last = int(first)
    for leaf in leaves[1:]:
        if type(leaf) is not bytes or not leaf.isdigit() or int(leaf) < last:
            return _IMPOSSIBLE
        cost += 1.5 + len(str(int(leaf) - last)) / 3
        last = int(leaf)
    return cost
