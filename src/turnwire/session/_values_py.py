"""Events as shapes and leaves: which members there are, and their values, numbers as they were written.

A leaf is a ``str`` for a JSON string, and ``bytes`` (JSON text) for everything else, so that "1" and 1 differ and 1.0
stays 1.0. The structure around the leaves is a tuple of marks, the same for all events of one shape.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from json import encoder
from typing import Any

from turnwire.json import text as json_text

Leaf = str | bytes
OPEN, CLOSE, BEGIN, END, LEAF, STRING = 0, 1, 2, 3, 4, 5
"""Marks of a structure: an object, an array, a leaf; STRING + n: an object in a JSON string, written in style n. A key
stands as itself, the columns of a table as a tuple."""

quoted: Callable[[str], str] = getattr(encoder, "c_encode_basestring", None) or encoder.encode_basestring
"""A text as a JSON string, characters beyond ASCII as they are."""

STYLES: tuple[dict[str, Any], ...] = (
    {"ensure_ascii": False, "separators": (",", ":")},
    {"ensure_ascii": False},
    {"separators": (",", ":")},
    {},
    {"ensure_ascii": False, "indent": 2},
)
"""How JSON in strings may be written: as ``json.dumps`` does with these arguments."""
INDENTED = 4
"""The style that begins another line behind the first bracket."""
_STAND_IN = 7 * 10**16
_STAND_INS = re.compile(r"(70{8}[0-9]{8})", re.ASCII).split
_ENCODERS = [json.JSONEncoder(**style).encode for style in STYLES]
_COLUMN = re.compile(r"\w[\w .:/-]*").fullmatch
MOST_OBJECTS = 8
"""Objects of an array that are looked into one by one; a longer array is one leaf or a table."""


class Pairs(dict[str, Any]):
    """A JSON object; keys that appear twice are refused."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        if len(self) != len(pairs):
            raise ValueError("a key appears twice")


def _constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


_LEXEMES = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_constant, object_pairs_hook=Pairs
)


def parsed(text: str) -> Any:
    """JSON text as values, each number as the bytes that it was written with. Raises ValueError, RecursionError."""
    return _LEXEMES.decode(text)


def minified(value: Any) -> str:
    """A value of ``parsed`` as JSON text without spaces."""
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, dict):
        return "{" + ",".join([f"{quoted(key)}:{minified(each)}" for key, each in value.items()]) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join([minified(each) for each in value]) + "]"
    return scalar(value).decode()


def scalar(value: Any) -> bytes:
    """A number, true, false or null as JSON text."""
    if value is None:
        return b"null"
    if value is True:
        return b"true"
    if value is False:
        return b"false"
    return (float.__repr__(value) if isinstance(value, float) else int.__repr__(value)).encode()


def flatten(event: dict[str, Any]) -> tuple[tuple[Any, ...], list[Leaf]]:
    """The structure of an event and its leaves in order."""
    structure: list[Any] = []
    leaves: list[Leaf] = []
    _object(event, structure, leaves)
    return tuple(structure), leaves


def _object(value: dict[str, Any], structure: list[Any], leaves: list[Leaf]) -> None:
    structure.append(OPEN)
    for key, each in value.items():
        structure.append(key)
        if type(each) is str:
            if each[:1] == "{" and (found := opened(each)) is not None:
                structure.append(STRING + found[0])
                _object(found[1], structure, leaves)
                continue
            structure.append(LEAF)
            leaves.append(each)
        elif isinstance(each, dict):
            if each:
                _object(each, structure, leaves)
            else:
                structure.append(LEAF)
                leaves.append(b"{}")
        elif isinstance(each, (list, tuple)):
            _array(each, structure, leaves)
        else:
            structure.append(LEAF)
            leaves.append(each if type(each) is bytes else _other(each))
    structure.append(CLOSE)


def _other(value: Any) -> Leaf:
    return str.__str__(value) if isinstance(value, str) else scalar(value)


def _array(value: Any, structure: list[Any], leaves: list[Leaf]) -> None:
    alike = columns(value)
    if alike is not None:
        structure.append(alike)
        leaves.append(minified([list(each.values()) for each in value]).encode())
    elif len(value) <= MOST_OBJECTS and value and all(isinstance(each, dict) and each for each in value):
        structure.append(BEGIN)
        for each in value:
            _object(each, structure, leaves)
        structure.append(END)
    else:
        structure.append(LEAF)
        leaves.append(minified(value).encode())


def columns(value: Any) -> tuple[str, ...] | None:
    """The keys of two or more objects that all have the same ones in the same order, and scalars in them; or None."""
    if len(value) < 2 or not isinstance(value[0], dict) or not value[0]:
        return None
    keys = tuple(value[0])
    if not all(map(_COLUMN, keys)):
        return None
    for each in value:
        if not isinstance(each, dict) or tuple(each) != keys:
            return None
        if any(isinstance(inner, (dict, list, tuple)) for inner in each.values()):
            return None
    return keys


def opened(text: str) -> tuple[int, dict[str, Any]] | None:
    """The object that a string holds and the style in which it is written, where that gives back the very string."""
    try:
        value = json.loads(text)
        colon = text.find('":') + 2
        spaced = text[colon : colon + 1] == " "  # the likely styles first; no text is of both kinds
        styles = (INDENTED,) if text[1:2] == "\n" else (1, 3, 0, 2) if spaced else (0, 2, 1, 3)
        found = next((style for style in styles if restyled(value, style) == text), None)
        if found is None or not value:
            return None
        json_text.write(value)
        return found, parsed(text)  # its lexemes are those that json.dumps writes
    except (ValueError, RecursionError):
        return None


def restyled(value: Any, style: int) -> str:
    """A value as ``json.dumps`` writes it in a style."""
    return _ENCODERS[style](value)


class Doubtful(Exception):
    """What cannot be built straight from leaves: its JSON text must be read."""


MOST_LETTERS = 1 << 20
"""Letters of an event's leaves that are taken without a look at limits."""
MOST_BRACKETS = 32
_CONSTANTS: dict[bytes, Any] = {b"null": None, b"true": True, b"false": False, b"{}": {}, b"[]": []}
_QUICK = re.compile(rb"0|-?[1-9][0-9]{0,17}").fullmatch


def built(node: Any, leaves: Sequence[Leaf], strict: Callable[[str], Any]) -> Any:
    """The value of an event's tree: of a dict or a list of nodes, a leaf, or a string that holds JSON.

    node: the number of a leaf; (keys, nodes); ("[", nodes); ("#", number, columns); or ("$", pieces, columns, style).
    strict: reads JSON text. Raises Doubtful (too many letters, too), and what ``strict`` raises.
    """
    if sum(map(len, leaves)) > MOST_LETTERS:
        raise Doubtful
    return _built(node, leaves, strict)


def _built(node: Any, leaves: Sequence[Leaf], strict: Callable[[str], Any]) -> Any:
    if type(node) is int:
        leaf = leaves[node]
        return leaf if type(leaf) is str else _other_value(leaf, strict)  # type: ignore[arg-type]
    kind = node[0]
    if type(kind) is tuple:
        return {key: _built(each, leaves, strict) for key, each in zip(kind, node[1], strict=True)}
    if kind == "[":
        return [_built(each, leaves, strict) for each in node[1]]
    if kind == "$":
        return string_of(node[1], node[3], leaves, node[2])
    leaf = leaves[node[1]]
    if type(leaf) is str:
        return leaf
    return strict(of_table(leaf.decode(), node[2]))


def _other_value(leaf: bytes, strict: Callable[[str], Any]) -> Any:
    if _QUICK(leaf):
        return int(leaf)
    if leaf in _CONSTANTS:
        found = _CONSTANTS[leaf]
        return found if type(found) is bool or found is None else found.copy()
    if leaf.count(b"[") + leaf.count(b"{") > MOST_BRACKETS:
        raise Doubtful
    return strict(leaf.decode())


def text_of(pieces: Sequence[Any], leaves: Sequence[Leaf], columns: Sequence[tuple[str, ...] | None]) -> str:
    """JSON text of pieces: text, numbers of leaves, and (pieces, style) for an object in a string."""
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
            parts.append(quoted(string_of(each[0], each[1], leaves, columns)))
    return "".join(parts)


def string_of(
    pieces: tuple[Any, ...], style: int, leaves: Sequence[Leaf], columns: Sequence[tuple[str, ...] | None]
) -> str:
    """The text of an object in a string, in its style."""
    if not style:
        return text_of(pieces, leaves, columns)
    styled = _styled(pieces, style)
    if styled is None:
        return restyled(json.loads(text_of(pieces, leaves, columns)), style)
    text = encoder.encode_basestring_ascii if STYLES[style].get("ensure_ascii", True) else quoted
    parts = []
    for each in styled:
        if type(each) is str:
            parts.append(each)
            continue
        leaf = leaves[each]
        if type(leaf) is str:
            parts.append(text(leaf))
        elif columns[each] is None and (_QUICK(leaf) or leaf in _CONSTANTS):
            parts.append(leaf.decode())
        else:
            return restyled(json.loads(text_of(pieces, leaves, columns)), style)
    return "".join(parts)


@lru_cache(1024)
def _styled(pieces: tuple[Any, ...], style: int) -> list[Any] | None:
    """Pieces as a style writes them, found by writing it with numbers that stand for the leaves; None where a string in
    it holds JSON, or a key such a number."""
    if any(type(each) is tuple for each in pieces):
        return None
    text = "".join([each if type(each) is str else str(_STAND_IN + each) for each in pieces])
    parts: list[Any] = _STAND_INS(restyled(json.loads(text), style))
    parts[1::2] = [int(each) - _STAND_IN for each in parts[1::2]]
    return parts if parts[1::2] == [each for each in pieces if type(each) is int] else None


def of_table(rows: str, columns: tuple[str, ...]) -> str:
    """Rows of a table as an array of objects; anything else as it is. Raises ValueError for rows of other widths."""
    if rows[:2] != "[[":
        return rows
    found = parsed(rows)
    for row in found:
        if type(row) is not list:
            raise ValueError("a row of a table is an array")
        if len(row) != len(columns):
            raise ValueError(f"a row of a table has {len(row)} values where there are {len(columns)} columns")
    return minified([dict(zip(columns, row, strict=True)) for row in found])
