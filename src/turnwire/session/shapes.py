"""The shape of an event as a tree, and an event's JSON text from its leaves."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from turnwire.session.values import BEGIN, CLOSE, END, LEAF, OPEN, Leaf, minified, parsed, quoted, restyled


class Place(NamedTuple):
    """A leaf: its number among the leaves; the columns, where it is a table (an array of like objects)."""

    number: int
    columns: tuple[str, ...] | None = None


class Members(NamedTuple):
    """An object: its members in order. style: None, or how it is written in a JSON string."""

    items: tuple[tuple[str, Any], ...]
    style: int | None = None


class Items(NamedTuple):
    """An array of objects."""

    items: tuple[Members, ...]


Node = Place | Members | Items


class Shape:
    """What all events of one structure have in common.

    Attributes:
        root: the tree. paths: of each leaf, its keys and numbers with dots between them. columns: of each leaf that is
        a table. width: how many leaves there are. places: path -> number of its leaf. strings: whether JSON in strings was opened.
    """

    def __init__(self, root: Members) -> None:
        self.root = root
        self.paths: list[str] = []
        self.columns: list[tuple[str, ...] | None] = []
        self.strings = False
        self._pieces: list[Any] = []
        self._walk(root, "")
        self.width = len(self.paths)
        self.places = {path: number for number, path in enumerate(self.paths)}
        self._plain = _joined(self._pieces)

    def _walk(self, node: Node, path: str) -> None:
        if isinstance(node, Place):
            self.paths.append(path)
            self.columns.append(node.columns)
            self._pieces.append(node.number)
        elif isinstance(node, Items):
            for number, each in enumerate(node.items):
                self._pieces.append("," if number else "[")
                self._walk(each, f"{path}.{number}")
            self._pieces.append("]")
        elif node.style is not None:
            self.strings = True
            outer, self._pieces = self._pieces, []
            self._members(node, path)
            outer.append((node.style, _joined(self._pieces)))
            self._pieces = outer
        else:
            self._members(node, path)

    def _members(self, node: Members, path: str) -> None:
        for number, (key, each) in enumerate(node.items):
            self._pieces.append(("," if number else "{") + quoted(key) + ":")
            self._walk(each, f"{path}.{key}" if path else key)
        self._pieces.append("}" if node.items else "{}")

    def text(self, leaves: Sequence[Leaf]) -> str:
        """The minified JSON text of the event with these leaves."""
        return _text(self._plain, leaves, self.columns)


def _joined(pieces: list[Any]) -> list[Any]:
    """The pieces with neighbouring texts put together."""
    found: list[Any] = []
    for each in pieces:
        if isinstance(each, str) and found and isinstance(found[-1], str):
            found[-1] += each
        else:
            found.append(each)
    return found


def _text(pieces: list[Any], leaves: Sequence[Leaf], columns: list[tuple[str, ...] | None]) -> str:
    parts = []
    for each in pieces:
        if type(each) is str:
            parts.append(each)
        elif type(each) is int:
            leaf = leaves[each]
            if type(leaf) is str:
                parts.append(quoted(leaf))
            elif columns[each] is None:
                parts.append(leaf.decode())  # type: ignore[union-attr]
            else:
                parts.append(of_table(leaf.decode(), columns[each] or ()))  # type: ignore[union-attr]
        else:
            style, inner = each
            found = _text(inner, leaves, columns)
            parts.append(quoted(restyled(json.loads(found), style) if style else found))
    return "".join(parts)


def of_table(rows: str, columns: tuple[str, ...]) -> str:
    """Rows of a table as an array of objects; anything else as it is. Raises ValueError for rows of other widths."""
    if rows[:2] != "[[":
        return rows
    return minified([dict(zip(columns, row, strict=True)) for row in parsed(rows)])


def shape_of(structure: tuple[Any, ...]) -> Shape:
    """The shape of a structure."""
    root, _, _ = _node(structure, 0, 0)
    assert isinstance(root, Members)
    return Shape(root)


def _node(structure: tuple[Any, ...], at: int, leaf: int) -> tuple[Node, int, int]:
    mark = structure[at]
    if isinstance(mark, tuple):
        return Place(leaf, mark), at + 1, leaf + 1
    if mark == LEAF:
        return Place(leaf), at + 1, leaf + 1
    if mark == BEGIN:
        items = []
        at += 1
        while structure[at] != END:
            each, at, leaf = _node(structure, at, leaf)
            items.append(each)
        return Items(tuple(items)), at + 1, leaf  # type: ignore[arg-type]
    style = None
    if mark != OPEN:
        style = mark - 5
        at += 1
    members = []
    at += 1
    while structure[at] != CLOSE or type(structure[at]) is not int:
        key = structure[at]
        each, at, leaf = _node(structure, at + 1, leaf)
        members.append((key, each))
    return Members(tuple(members), style), at + 1, leaf
