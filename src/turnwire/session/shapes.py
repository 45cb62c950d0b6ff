"""Events as leaves of JSON, whose numbers keep the letters they were written with, and the structure around them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from hashlib import blake2b
from json import encoder
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

from turnwire import registry
from turnwire.contract import LIMITS, MOST_LIMIT
from turnwire.errors import DecodeError, EncodeError, Reason
from turnwire.json import text as json_text

Leaf = str | bytes
"""A JSON string as text, or any other value as JSON text in bytes: so "1" and 1 differ, and 1.0 stays 1.0."""


class Member(NamedTuple):
    """A member of an object without its leaves. node: the number of its leaf, or the members of what it holds.

    mark: ``#a,b`` for a leaf that is a table with these columns, ``$n`` for an object in a JSON string of style n (0:
    none), ARRAY for an array of objects, whose names are their numbers.
    """

    name: str
    mark: str
    node: Any


Structure = tuple[Member, ...]
ARRAY = "["
STYLES: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": False},
    {"separators": (",", ":")},
    {},
    {"ensure_ascii": False, "indent": 2},
)
"""The styles in which JSON in strings may be written: as ``json.dumps`` does with these arguments."""
MOST_OBJECTS = 8  # objects of an array that are looked into one by one; a longer array is one leaf or a table
MOST_PATH = 512
"""Characters of a path that are in front of each of the paths below it; a digest stands for more of them."""
is_digested = re.compile("\n[0-9a-f]{32}[.]").match
"""Matches a path that begins with such a digest: no mark and no header names it."""
_LIMITS = LIMITS._replace(message=MOST_LIMIT, nesting=LIMITS.nesting + 1)
"""Those of an event in an object: what could be written is read, however long it is."""
_is_column = re.compile(r"\w[\w .:/-]*").fullmatch

quoted = encoder.c_encode_basestring or encoder.py_encode_basestring  # type: ignore[attr-defined]
"""A text as a JSON string, characters beyond ASCII as they are."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key appears twice")
    return found


def _constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


parsed = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_constant, object_pairs_hook=_object
).decode
"""JSON text as values, each number as the bytes it was written with. Raises ValueError, RecursionError."""


def minified(value: Any) -> str:
    """A value of ``parsed`` as JSON text without spaces."""
    if type(value) is str:
        return quoted(value)
    if type(value) is bytes:
        return value.decode()
    if type(value) is dict:
        return "{" + ",".join([f"{quoted(key)}:{minified(each)}" for key, each in value.items()]) + "}"
    if type(value) is list:
        return "[" + ",".join(map(minified, value)) + "]"
    return "null" if value is None else "true" if value else "false"


def leaf_of(value: Any) -> Leaf:
    """A value of ``parsed`` as a leaf."""
    return value if type(value) in (str, bytes) else minified(value).encode()


def value_of(line: str) -> Any:
    """The event of a minified JSON line: a dict, or text. Raises DecodeError for what strict JSON refuses."""
    return json_text.read_object('{"":' + line + "}", "session", limits=_LIMITS)[""]


def line_of(event: Any) -> tuple[dict[str, Any], str]:
    """An event as an object of ``parsed`` and its JSON line; text that is not a JSON object is none of members.

    event: a message of any wire, a dict, or text. Raises EncodeError for what JSON cannot carry, and for anything else.
    """
    if isinstance(event, str):
        if event.lstrip(" \t\n\r")[:1] == "{":
            try:
                value = parsed(event)
                value_of(line := minified(value))
                return value, line
            except (ValueError, RecursionError):
                pass  # text that is not an object is kept as text
        json_text.write({"": event})  # raises for what cannot be sent
        return {}, quoted(event)
    if not isinstance(event, dict):
        if (wire := registry.wire_of(event)) is None:
            raise EncodeError(Reason.WRONG_TYPE, f"an event must be an object or text, not {type(event).__name__}")
        event = registry.wire(wire).plain_values(event)
    line = json_text.write(event)
    if len(line) > LIMITS.key:  # else no key is too long
        try:
            value_of(line)
        except DecodeError as error:
            raise EncodeError(error.reason, error.text) from None
    return parsed(line), line


def is_objects(value: Any) -> bool:
    """True for an array of objects that are not empty."""
    return type(value) is list and bool(value) and all(type(each) is dict and each for each in value)


def flatten(value: dict[str, Any], leaves: list[Leaf], depth: int = 1) -> Structure:
    """The structure of an object of ``parsed``. Its leaves are added in order. depth: names on the path of each."""
    found: list[Member] = []
    for key, each in value.items():
        mark, held = "", None
        if type(each) is str:
            if each[:1] == "{" and depth <= LIMITS.nesting and (opened := _opened(each)) is not None:
                mark, held = opened
        elif type(each) is dict:
            held = each
        elif is_objects(each):
            if columns := _columns(each):
                mark, each = "#" + ",".join(columns), [list(row.values()) for row in each]
            elif len(each) <= MOST_OBJECTS:
                mark, held = ARRAY, {str(number): one for number, one in enumerate(each)}
        if held:
            found.append(Member(key, mark, flatten(held, leaves, depth + 1)))
        else:
            found.append(Member(key, mark, len(leaves)))
            leaves.append(leaf_of(each))
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
        value = json.loads(text) if len(text) <= LIMITS.message else None
        styles = (4,) if text[1:2] == "\n" else (0, 1, 2, 3)
        style = next((style for style in styles if json.dumps(value, **STYLES[style]) == text), None)
        if style is None or not value:
            return None
        json_text.write(value)
        return f"${style or ''}", parsed(text)  # its numbers are written as json.dumps writes them
    except (ValueError, RecursionError):
        return None


def unflatten(structure: Structure, leaves: Sequence[Leaf]) -> dict[str, Any]:
    """The object of a structure with these leaves, as of ``parsed``. Raises ValueError for a leaf in a wrong place."""
    found: dict[str, Any] = {}
    for name, mark, node in structure:
        if type(node) is int:
            leaf = leaves[node]
            found[name] = _table(leaf, mark) if mark and type(leaf) is bytes and leaf[:2] == b"[[" else leaf
            continue
        inner = unflatten(node, leaves)
        if mark[:1] == "$":
            text = minified(inner)
            if len(text) > LIMITS.message:  # each string in a string doubles the backslashes
                raise ValueError(f"an object in a string has more than {LIMITS.message} letters")
            found[name] = text if mark == "$" else json.dumps(json.loads(text), **STYLES[int(mark[1:])])
        else:
            found[name] = list(inner.values()) if mark else inner
    return found


def _table(rows: bytes, mark: str) -> list[dict[str, Any]]:
    columns, found = mark[1:].split(","), []
    for row in parsed(rows.decode()):
        if type(row) is not list:
            raise ValueError("a row of a table must be an array")
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


class Shapes(WeakValueDictionary[Structure, "Shape"]):
    """The shapes of structures: one for each as long as something has it, made where it is first asked for."""

    def __getitem__(self, structure: Structure) -> Shape:
        shape = self.get(structure)
        if shape is None:
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
        one.
    """

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.paths: list[str] = []
        self.tables: list[bool] = []
        self._add(structure, "")
        self._orders: dict[tuple[str, ...], tuple[int | None, list[int]]] = {}

    def _add(self, structure: Structure, before: str) -> None:
        for name, mark, node in structure:
            if type(node) is int:
                self.paths.append(before + name)
                self.tables.append(mark != "")
            else:
                self._add(node, _below(before + name))

    def order(self, keys: tuple[str, ...]) -> tuple[int | None, list[int]]:
        """The leaf that names the conversation, if there is one, and the order in which leaves are told: it is first.

        keys: the paths that may name it; that of the first of them counts.
        """
        if keys not in self._orders:
            key = next((self.paths.index(key) for key in keys if key in self.paths), None)
            others = [number for number in range(len(self.paths)) if number != key]
            self._orders[keys] = key, others if key is None else [key, *others]
        return self._orders[keys]

    def text(self, leaves: Sequence[Leaf]) -> str:
        """The minified JSON text of the event with these leaves."""
        return minified(unflatten(self.structure, leaves))


def _below(path: str) -> str:
    """The beginning of the paths below a path, each of which would be as long as all keys above it together."""
    if len(path) <= MOST_PATH:
        return path + "."
    return f"\n{blake2b(path.encode('utf-8', 'surrogatepass'), digest_size=16).hexdigest()}."
