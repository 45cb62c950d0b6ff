"""The shape of an event as a tree, and an event's JSON text from its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from re import compile as pattern
from typing import Any, NamedTuple

from turnwire.session._values_py import BEGIN, CLOSE, END, LEAF, OPEN, Leaf, quoted
from turnwire.session.values import text_of

MOST_DEPTH, LONGEST_KEY = 64, 1024
"""Below these no event is refused for its depth or its keys."""
MOST_PATH = 512
"""Characters of a path that are in front of each of the paths below it; a digest stands for more of them."""
is_digested = pattern("\n[0-9a-f]{32}[.]").match
"""Whether a path begins with such a digest: no mark and no header names it."""


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
        root: the tree. paths: of each leaf, its keys and numbers with dots between them, where what is in front of the
        last of them is not long. places: path -> number of its leaf. columns: of each leaf that is a table. width: how
        many leaves there are. strings: whether JSON in strings was opened. plain: whether its keys and its depth are
        far from the limits of strict JSON. node: the tree as ``built`` takes it. forms: what templates of this shape
        with the same marks have in common, by these and the paths of conversations; drafts: by the marks alone.
    """

    def __init__(self, root: Members) -> None:
        self.root = root
        self.paths: list[str] = []
        self.columns: list[tuple[str, ...] | None] = []
        self.strings = False
        self.plain = True
        self.forms: dict[tuple[tuple[str, ...], tuple[str, ...]], Any] = {}
        self.drafts: dict[tuple[str, ...], Any] = {}
        self._pieces: list[Any] = []
        self.node = self._members(root, "", 0)
        self.width = len(self.paths)
        self.places = {path: number for number, path in enumerate(self.paths)}
        self._text = tuple(_joined(self._pieces))

    def _walk(self, node: Node, path: str, depth: int) -> Any:
        """Adds the pieces of a node, and returns what ``built`` takes for it."""
        if isinstance(node, Place):
            self.paths.append(path)
            self.columns.append(node.columns)
            self._pieces.append(node.number)
            self.plain &= max(map(len, node.columns or ()), default=0) < LONGEST_KEY
            return node.number if node.columns is None else ("#", node.number, node.columns)
        before = _before(path)
        if isinstance(node, Items):
            found = []
            for number, each in enumerate(node.items):
                self._pieces.append("," if number else "[")
                found.append(self._walk(each, f"{before}{number}", depth + 1))
            self._pieces.append("]")
            return ("[", tuple(found))
        if node.style is None:
            return self._members(node, before, depth)
        self.strings = True
        outer, self._pieces = self._pieces, []
        self._members(node, before, depth)
        inner = tuple(_joined(self._pieces))
        self._pieces = [*outer, (inner, node.style)]
        return ("$", inner, self.columns, node.style)

    def _members(self, node: Members, before: str, depth: int) -> Any:
        found = []
        for number, (key, each) in enumerate(node.items):
            self._pieces.append(("," if number else "{") + quoted(key) + ":")
            found.append(self._walk(each, before + key, depth + 1))
        self._pieces.append("}" if node.items else "{}")
        keys = tuple([key for key, _ in node.items])
        self.plain &= depth < MOST_DEPTH and max(map(len, keys), default=0) < LONGEST_KEY
        return (keys, tuple(found))

    def text(self, leaves: Sequence[Leaf]) -> str:
        """The minified JSON text of the event with these leaves."""
        return text_of(self._text, leaves, self.columns)


def _before(path: str) -> str:
    """What is in front of the paths below a path, each of which would be as long as all keys above it together."""
    if len(path) <= MOST_PATH:
        return path + "."
    return f"\n{blake2b(path.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}."


def _joined(pieces: list[Any]) -> list[Any]:
    """The pieces with neighbouring texts put together."""
    found: list[Any] = []
    for each in pieces:
        if isinstance(each, str) and found and isinstance(found[-1], str):
            found[-1] += each
        else:
            found.append(each)
    return found


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
