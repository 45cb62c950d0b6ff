"""Events as leaves and the structure around them, and what all events of one structure have in common."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from turnwire.json import text as json_text
from turnwire.session.values import Leaf, leaf_of, line_of, minified, parsed

Structure = tuple[tuple[str, str, Any], ...]
"""An object without its leaves: of each member its name, its mark, and LEAF, a Structure or an ObjectArray. The mark is
``#a,b`` for a leaf that is a table with these columns, ``$n`` for an object in a JSON string of style n (0: none)."""
LEAF = None
STYLES: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": False},
    {"separators": (",", ":")},
    {},
    {"ensure_ascii": False, "indent": 2},
)
"""The styles in which JSON in strings may be written: as ``json.dumps`` does with these arguments."""
MOST_OBJECTS = 8
"""Objects of an array that are looked into one by one; a longer array is one leaf or a table."""
MOST_PATH = 512
"""Characters of a path that are in front of each of the paths below it; a digest stands for more of them."""
is_digested = re.compile("\n[0-9a-f]{32}[.]").match
"""Matches a path that begins with such a digest: no mark and no header names it."""
_is_column = re.compile(r"\w[\w .:/-]*").fullmatch


class ObjectArray(NamedTuple):
    """An array of objects that are looked into."""

    items: tuple[Any, ...]


def flatten(value: dict[str, Any], leaves: list[Leaf]) -> Structure:
    """The structure of an object of ``parsed``. Its leaves are added in order."""
    found: list[tuple[str, str, Any]] = []
    for key, each in value.items():
        mark, node = "", LEAF
        if type(each) is str:
            if each[:1] == "{" and (opened := _opened(each)) is not None:
                mark, node = opened[0], flatten(opened[1], leaves)
        elif type(each) is dict:
            if each:
                node = flatten(each, leaves)
        elif type(each) is list and each and all(type(one) is dict and one for one in each):
            if columns := _columns(each):
                mark, each = "#" + ",".join(columns), [list(row.values()) for row in each]
            elif len(each) <= MOST_OBJECTS:
                node = ObjectArray(tuple([flatten(one, leaves) for one in each]))
        if node is LEAF:
            leaves.append(leaf_of(each))
        found.append((key, mark, node))
    return tuple(found)


def _columns(rows: list[dict[str, Any]]) -> list[str] | None:
    """The keys that two or more objects have in the same order, where their values are scalars; else None."""
    keys = list(rows[0])
    if len(rows) < 2 or not all(map(_is_column, keys)) or any(list(row) != keys for row in rows):
        return None
    return None if any(type(each) in (dict, list) for row in rows for each in row.values()) else keys


def _opened(text: str) -> tuple[str, dict[str, Any]] | None:
    """The object in a string, and the mark of the style in which it gives back the very string; None: there is none."""
    try:
        value = json.loads(text)
        styles = (4,) if text[1:2] == "\n" else (0, 1, 2, 3)
        style = next((style for style in styles if json.dumps(value, **STYLES[style]) == text), None)
        if style is None or not value:
            return None
        json_text.write(value)
        return f"${style or ''}", parsed(text)  # its numbers are written as json.dumps writes them
    except (ValueError, RecursionError):
        return None


def unflatten(structure: Structure, leaves: Iterator[Leaf]) -> dict[str, Any]:
    """The object of a structure with these leaves, as a value of ``parsed``. Raises ValueError for a leaf that cannot
    stand where it does."""
    found: dict[str, Any] = {}
    for name, mark, node in structure:
        if node is LEAF:
            leaf = next(leaves)
            found[name] = _table(leaf, mark) if mark and type(leaf) is bytes and leaf[:2] == b"[[" else leaf
        elif type(node) is ObjectArray:
            found[name] = [unflatten(each, leaves) for each in node.items]
        else:
            found[name] = unflatten(node, leaves)
            if mark:
                text = minified(found[name])
                style = STYLES[int(mark[1:] or 0)]
                found[name] = text if mark == "$" else json.dumps(json.loads(text), **style)
    return found


def _table(rows: bytes, mark: str) -> list[dict[str, Any]]:
    columns, found = mark[1:].split(","), []
    for row in parsed(rows.decode()):
        if type(row) is not list:
            raise ValueError("a row of a table is an array")
        if len(row) != len(columns):
            raise ValueError(f"a row of a table has {len(row)} values where there are {len(columns)} columns")
        found.append(dict(zip(columns, row, strict=True)))
    return found


class Event(NamedTuple):
    """An event: its JSON line; its shape, one object for all events of one structure; its leaves, of which text that is
    not a JSON object has none."""

    line: str
    shape: Shape
    leaves: list[Leaf]


class Shapes(dict[Structure, "Shape"]):
    """The shapes of structures: one for each, made where it is first asked for."""

    def __missing__(self, structure: Structure) -> Shape:
        shape = self[structure] = Shape(structure)
        return shape

    def event(self, given: Any) -> Event:
        """An event as ``encode`` takes it. Raises EncodeError."""
        value, line = line_of(given)
        leaves: list[Leaf] = []
        return Event(line, self[flatten(value, leaves)], leaves)


class Shape:
    """A structure that events have in common, and the paths of its leaves.

    Attributes:
        structure: it. paths: of each leaf, its keys and numbers with dots between them. tables: whether each leaf is
        one. numbers: path -> number of its leaf. parts: what any template of it needs explained.
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.paths: list[str] = []
        self.tables: list[bool] = []
        self.parts: set[str] = set()
        self._add(structure, "")
        self.numbers = {path: number for number, path in enumerate(self.paths)}
        self._orders: dict[tuple[str, ...], tuple[int | None, list[int]]] = {}

    def _add(self, structure: Structure, before: str) -> None:
        for name, mark, node in structure:
            path = before + name
            self.parts.update(mark[:1])
            if node is LEAF:
                self.paths.append(path)
                self.tables.append(mark != "")
            elif type(node) is ObjectArray:
                for number, each in enumerate(node.items):
                    self._add(each, _below(f"{_below(path)}{number}"))
            else:
                self._add(node, _below(path))

    def order(self, keys: tuple[str, ...]) -> tuple[int | None, list[int]]:
        """The leaf that names the conversation, if there is one, and the order in which leaves are told: it is first.

        keys: the paths that may name it; that of the first of them counts.
        """
        if keys not in self._orders:
            key = next((self.paths.index(key) for key in keys if key in self.numbers), None)
            others = [number for number in range(len(self.paths)) if number != key]
            self._orders[keys] = key, others if key is None else [key, *others]
        return self._orders[keys]

    def text(self, leaves: Sequence[Leaf]) -> str:
        """The minified JSON text of the event with these leaves."""
        return minified(unflatten(self.structure, iter(leaves)))


def _below(path: str) -> str:
    """The beginning of the paths below a path, each of which would be as long as all keys above it together."""
    if len(path) <= MOST_PATH:
        return path + "."
    return f"\n{blake2b(path.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}."
