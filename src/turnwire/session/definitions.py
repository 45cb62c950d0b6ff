"""Templates as text: JSON objects in which the names of open members end in a mark.

``a={act:ASK turn+:1 tag?:x}`` is an event and the template that later rows go by. ``b=a{act:INFORM}`` says what
differs from it. A draft is such an object as a list of members; a leaf in it is ``Given`` (a value) or the number of a
leaf of the template that it is derived from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from turnwire._pure.session.fields import one_line
from turnwire._pure.session.values import BEGIN, CLOSE, END, LEAF, OPEN, STRING, STYLES, Leaf, minified, quoted
from turnwire.session import notation
from turnwire.session.shapes import Items, Members, Node, Place

_MARK = r"[?+~^-]|\$[0-9]?|=[^=!]*|#[^#!]*"
_MARKED = re.compile(rf"(.*?)({_MARK})", re.DOTALL).fullmatch
_ESCAPED = re.compile(rf"(.*)!({_MARK}|)", re.DOTALL).fullmatch
REMOVED = "-"


class Given(NamedTuple):
    """A value in a definition; None: what is expected there."""

    value: Any


class Member(NamedTuple):
    """A member of a draft. node: a list of members, ``Array``, ``Given``, or the number of a leaf of the base."""

    name: str
    mark: str
    node: Any


class Array(NamedTuple):
    """An array of objects in a draft."""

    items: list[list[Member]]


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


def cut(key: str) -> tuple[str, str]:
    """The name and the mark of a key in a definition."""
    found = (_ESCAPED if "!" in key else _MARKED)(key)
    if found is None:
        return key, ""
    return found[1], found[2]


def marked(name: str, mark: str) -> str:
    """The key of a name and a mark."""
    key = name + mark
    return key if "!" not in key and cut(key) == (name, mark) else f"{name}!{mark}"


def read(text: str) -> list[Member]:
    """The draft of a definition. Raises ValueError, RecursionError."""
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


def merged(base: list[Member], changes: list[Member]) -> list[Member]:
    """The draft that changes make of a base: members replaced, removed, added.

    A new member goes where the one before it was removed or added, else at the end. Raises ValueError where a member
    that is removed is not there.
    """
    found: list[Member | None] = list(base)
    places = {member.name: number for number, member in enumerate(base)}
    after: dict[int, list[Member]] = {}
    spot: int | None = None
    for change in changes:
        at = places.get(change.name)
        if at is None:
            if change.mark == REMOVED:
                raise ValueError("a member is removed that is not there")
            if spot is None:
                spot = len(base)
            after.setdefault(spot, []).append(change)
            continue
        spot = None
        held = base[at]
        if change.mark == REMOVED:
            found[at], spot = None, at
        elif isinstance(held.node, list) and isinstance(change.node, list):
            found[at] = Member(held.name, change.mark or held.mark, merged(held.node, change.node))
        else:
            found[at] = change
    whole = []
    for number, member in enumerate([*found, None]):
        if member is not None:
            whole.append(member)
        whole.extend(after.get(number, ()))
    return whole


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
            self.structure.append(member.name)
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
            table = member.mark[:1] == "#"
            self.structure.append(tuple(member.mark[1:].split(",")) if table else LEAF)
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


def changes(base: list[Member], target: list[Member], same: Callable[[int, Any], bool]) -> list[Member] | None:
    """What makes a target draft of a base, or None where that cannot be said so.

    same: (a leaf of the base, a leaf of the target) -> whether the latter need not be told.
    """
    names = [member.name for member in base]
    if names == [member.name for member in target]:
        try:
            found = [_change(held, member, same) for held, member in zip(base, target, strict=True)]
        except _NotSo:
            return None
        return [change for change in found if change is not None]
    return _moved(base, target, same, names)


def _moved(
    base: list[Member], target: list[Member], same: Callable[[int, Any], bool], names: list[str]
) -> list[Member] | None:
    """What makes a target of a base where members came, went or moved."""
    places = {name: number for number, name in enumerate(names)}
    kept = {member.name for member in target}
    found: list[Member] = []
    removed = [member.name for member in base if member.name not in kept]
    fresh = False
    for member in target:
        at = places.get(member.name)
        if at is None:
            if not fresh:  # the place of one that goes is where it is
                spot = next((name for name in removed if _before(name, member, target, places)), None)
                if spot is not None:
                    removed.remove(spot)
                    found.append(Member(spot, REMOVED, Given(b"0")))
            found.append(member)
            fresh = True
            continue
        try:
            change = _change(base[at], member, same)
        except _NotSo:
            return None
        fresh = False
        if change is not None:
            found.append(change)
    found = [*(Member(name, REMOVED, Given(b"0")) for name in removed), *found]
    try:
        ends = [(member.name, member.mark) for member in merged(base, found)]
    except ValueError:
        return None
    return found if ends == [(member.name, member.mark) for member in target] else None


def _before(name: str, member: Member, target: list[Member], places: dict[str, int]) -> bool:
    """Whether a removed member was between the neighbours of a new one."""
    at = next(number for number, each in enumerate(target) if each is member)
    earlier = [places[each.name] for each in target[:at] if each.name in places]
    later = [places[each.name] for each in target[at:] if each.name in places]
    return (not earlier or places[name] > max(earlier)) and (not later or places[name] < min(later))


class _NotSo(Exception):
    """A member cannot be told by its differences."""


def _change(held: Member, member: Member, same: Callable[[int, Any], bool]) -> Member | None:
    """What is to be told of a member that the base has, too; None: nothing."""
    before, after = held.node, member.node
    if held.mark == member.mark and type(before) is int and type(after) is Told:
        return None if same(before, after) else member
    if isinstance(before, list) and isinstance(after, list):
        inner = changes(before, after, same) if held.mark == member.mark else None
        if inner is None:
            raise _NotSo
        return Member(member.name, "", inner) if inner else None
    if held.mark == member.mark and isinstance(before, Array) and isinstance(after, Array):
        pairs = list(zip(before.items, after.items, strict=False))
        if len(pairs) == len(before.items) == len(after.items):
            inners = [changes(one, other, same) for one, other in pairs]
            if all(inner == [] for inner in inners):
                return None
    return member


class Told(NamedTuple):
    """A leaf of a target: its number, and its text in a definition."""

    number: int
    text: str


def written(draft: list[Member]) -> str:
    """The text of a draft whose leaves are ``Told`` (or ``Given`` where they are removed)."""
    parts = []
    for name, mark, node in draft:
        kind = type(node)
        if kind is Told:
            text = node.text
        elif kind is list:
            text = written(node)
        elif kind is Array:
            text = "[" + ",".join([written(each) for each in node.items]) + "]"
        else:
            text = "null"
        if mark and text == "null":
            parts.append(key_of(name, mark))
        else:
            parts.append(f"{key_of(name, mark)}:{text}")
    return "{" + " ".join(parts) + "}"


def key_of(name: str, mark: str) -> str:
    """A name and its mark as they are written."""
    return _short_key(name, mark) if len(name) + len(mark) < 80 else notation.key(marked(name, mark))


@lru_cache(4096)
def _short_key(name: str, mark: str) -> str:
    return notation.key(marked(name, mark))


def told(leaf: Leaf, mark: str) -> str:
    """A leaf as JSON text in a definition, line feeds as they are."""
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
