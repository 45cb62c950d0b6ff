"""Templates as text: JSON objects in which the names of open members end in a mark.

``a={act:ASK turn+:1 tag?:x}`` is an event and the template that later rows go by. ``b=a{act:INFORM}`` says what
differs from it. A draft is such an object as a list of members; a leaf in it is ``Given`` (a value) or the number of a
leaf of the template that it is derived from.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.session import notation
from turnwire.session._drafts_py import REMOVED, Array, Given, Member, merged
from turnwire.session._fields_py import one_line
from turnwire.session._values_py import BEGIN, CLOSE, END, LEAF, OPEN, STRING, STYLES, Leaf, minified, quoted
from turnwire.session.notation import cut, marked
from turnwire.session.shapes import Items, Members, Node, Place

if TYPE_CHECKING:
    from turnwire.session._drafts_py import changes, written
    from turnwire.session._drafts_py import read as _read
else:
    _core = _backend.load("session.drafts")
    changes, written, _read = _core.changes, _core.written, _core.read

__all__ = [
    "Array",
    "Given",
    "Leaves",
    "Member",
    "changes",
    "cut",
    "drafted",
    "key_of",
    "marked",
    "merged",
    "read",
    "told",
    "written",
]


class _Object(list[tuple[str, Any]]):
    pass


def _pairs(pairs: list[tuple[str, Any]]) -> _Object:
    if len({name for name, _ in pairs}) != len(pairs):
        raise ValueError("a key appears twice")
    return _Object(pairs)


def _constant(name: str) -> Any:
    raise ValueError(f"JSON has no {name}")


_DECODER = json.JSONDecoder(
    parse_int=str.encode, parse_float=str.encode, parse_constant=_constant, object_pairs_hook=_pairs
)


def read(text: str) -> list[Member]:
    """The draft of a definition. Raises ValueError, RecursionError."""
    try:
        return _read(text, cut)
    except ValueError:
        pass  # not simple, or no definition: the other reader tells
    return _any(text)


def _any(text: str) -> list[Member]:
    value = _DECODER.decode(notation.to_json(text).replace("\n", "\\n"))
    if not isinstance(value, _Object):
        raise ValueError("a definition is an object")
    return _draft(value)


def _draft(pairs: _Object) -> list[Member]:
    found = []
    names = set()
    for key, value in pairs:
        name, mark = cut(key)
        if name in names:
            raise ValueError("a member appears twice")
        names.add(name)
        found.append(Member(name, mark, _node(value, mark)))
    return found


def _node(value: Any, mark: str) -> Any:
    if isinstance(value, _Object) and value and mark[:1] in ("", "$"):
        return _draft(value)
    if mark[:1] == "$":
        raise ValueError("what is marked as JSON in a string is an object")
    if mark == "" and isinstance(value, list) and value and all(isinstance(each, _Object) and each for each in value):
        return Array([_draft(each) for each in value])
    if value is None:
        return Given(None if mark else b"null")
    return Given(value if isinstance(value, (str, bytes)) else _text(value).encode())


def _text(value: Any) -> str:
    if isinstance(value, _Object):
        return "{" + ",".join(f"{quoted(name)}:{_text(each)}" for name, each in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_text, value)) + "]"
    return minified(value)


_RARE = ("#", REMOVED)
"""How marks begin that say more of a leaf than what is expected of it."""


class Leaves:
    """The leaves of a draft in order: where each comes from, its mark, and the structure around them."""

    def __init__(self, draft: list[Member]) -> None:
        self.structure: list[Any] = []
        self.nodes: list[Any] = []
        self.marks: list[str] = []
        self._members(draft)

    def _members(self, draft: list[Member]) -> None:
        self.structure.append(OPEN)
        for member in draft:
            name, mark, node = member
            self.structure.append(name)
            if type(node) is Given and mark[:1] not in _RARE:
                self.structure.append(LEAF)
                self.nodes.append(node)
                self.marks.append(mark)
            else:
                self._one(member)
        self.structure.append(CLOSE)

    def _one(self, member: Member) -> None:
        if isinstance(member.node, list):
            if member.mark:
                style = int(member.mark[1:] or 0)
                if style >= len(STYLES):
                    raise ValueError(f"there is no style {style} of JSON in a string")
                self.structure.append(STRING + style)
            self._members(member.node)
        elif isinstance(member.node, Array):
            self.structure.append(BEGIN)
            for each in member.node.items:
                self._members(each)
            self.structure.append(END)
        else:
            if member.mark == REMOVED:
                raise ValueError("a member is removed that is not there")
            columns = tuple(member.mark[1:].split(",")) if member.mark[:1] == "#" else None
            if columns is not None and len(set(columns)) < len(columns):
                raise ValueError("a key appears twice")
            self.structure.append(LEAF if columns is None else columns)
            self.nodes.append(member.node)
            self.marks.append(member.mark)


def drafted(node: Node, marks: list[str], leaf: Callable[[int], Any]) -> Any:
    """A tree as a draft: its leaves marked so, and made by ``leaf`` from their numbers."""
    if isinstance(node, Place):
        return leaf(node.number)
    if isinstance(node, Items):
        return Array([drafted(each, marks, leaf) for each in node.items])
    found = []
    for name, each in node.items:
        if type(each) is Place:
            mark = marks[each.number] if each.columns is None else "#" + ",".join(each.columns)
            found.append(Member(name, mark, leaf(each.number)))
            continue
        mark = f"${each.style or ''}" if isinstance(each, Members) and each.style is not None else ""
        found.append(Member(name, mark, drafted(each, marks, leaf)))
    return found


def key_of(name: str, mark: str) -> str:
    """A name and its mark as they are written."""
    return _short_key(name, mark) if len(name) + len(mark) < 80 else notation.key(marked(name, mark))


@lru_cache(4096)
def _short_key(name: str, mark: str) -> str:
    return notation.key(marked(name, mark))


def told(leaf: Leaf, mark: str) -> str:
    """A leaf in a definition, line feeds as they are."""
    return notation.value(_told(leaf, mark))


def _told(leaf: Leaf, mark: str) -> str:
    """A leaf as JSON text in a definition."""
    if type(leaf) is bytes:
        text = leaf.decode()
        return '"&!null"' if mark and text == "null" else one_line(text)
    assert isinstance(leaf, str)
    value, begin = leaf, ""
    if mark == "~" and value[:1] in ("+", "-"):
        value, begin = quoted(value), "&!"
    elif value[:1] == "&":
        begin = "&"
    return '"' + begin + "\n".join([one_line(quoted(line))[1:-1] for line in value.split("\n")]) + '"'
