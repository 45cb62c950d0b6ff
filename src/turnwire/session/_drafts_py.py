"""Definitions as lists of members: what one changes of another, and their text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

REMOVED = "-"
_LITERALS = ("true", "false", "null")


class Given(NamedTuple):
    """A value in a definition; None: what is expected there."""

    value: Any


class Member(NamedTuple):
    """A member of a draft. node: a list of members, ``Array``, ``Given``, or the number of a leaf of its template."""

    name: str
    mark: str
    node: Any


class Array(NamedTuple):
    """An array of objects in a draft."""

    items: list[list[Member]]


def read(text: str, cut: Callable[[str], tuple[str, str]]) -> list[Member]:
    """The draft of a definition. cut: the name and the mark of a key.

    A core may read what is simple by itself, and raises ValueError for all else; this one reads nothing.
    """
    raise ValueError


def merged(base: list[Member], changes: list[Member], within: bool = True) -> list[Member]:
    """The draft that changes make of a base: members replaced, removed, added; ``within`` members, too.

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
            node = merged(held.node, change.node) if within else held.node
            found[at] = Member(held.name, change.mark or held.mark, node)
        else:
            found[at] = change
    whole = []
    for number, member in enumerate([*found, None]):
        if member is not None:
            whole.append(member)
        whole.extend(after.get(number, ()))
    return whole


def changes(base: list[Member], target: list[Member], same: Sequence[int]) -> list[Member] | None:
    """What makes a target draft of a base, or None where that cannot be said so.

    same: of each leaf of the target, the leaf of the base by which it need not be told; -1: it must be.
    """
    names = [member.name for member in base]
    if names == [member.name for member in target]:
        try:
            found = [_change(held, member, same) for held, member in zip(base, target, strict=True)]
        except _NotSo:
            return None
        return [change for change in found if change is not None]
    return _moved(base, target, same, names)


def _moved(base: list[Member], target: list[Member], same: Sequence[int], names: list[str]) -> list[Member] | None:
    """What makes a target of a base where members came, went or moved."""
    places = {name: number for number, name in enumerate(names)}
    kept = {member.name for member in target}
    found: list[Member] = []
    removed = [member.name for member in base if member.name not in kept]
    fresh = False
    for number, member in enumerate(target):
        at = places.get(member.name)
        if at is None:
            if not fresh:  # the place of one that goes is where it is
                spot = next((name for name in removed if _between(places[name], number, target, places)), None)
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
    ends = [(member.name, member.mark) for member in merged(base, found, False)]
    return found if ends == [(member.name, member.mark) for member in target] else None


def _between(place: int, number: int, target: list[Member], places: dict[str, int]) -> bool:
    """Whether a removed member of the base was between the neighbours of a new one of the target."""
    for at, each in enumerate(target):
        other = places.get(each.name)
        if other is not None and (place <= other if at < number else place >= other):
            return False
    return True


class _NotSo(Exception):
    """A member cannot be told by its differences."""


def _change(held: Member, member: Member, same: Sequence[int]) -> Member | None:
    """What is to be told of a member that the base has, too; None: nothing."""
    before, after = held.node, member.node
    if held.mark == member.mark and type(before) is int and type(after) is int:
        return None if same[after] == before else member
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


def written(draft: list[Member], texts: Sequence[str], key_of: Callable[[str, str], str]) -> str:
    """The text of a draft. texts: of each leaf, its value as a definition tells it; ``null`` for what is left out.

    key_of: a name and its mark as they are written, always the same function. ``Given`` is a member that is removed.
    """
    parts = []
    for name, mark, node in draft:
        if type(node) is int:
            text = texts[node]
        elif type(node) is list:
            text = written(node, texts, key_of)
        elif type(node) is Array:
            text = "[" + ",".join([written(each, texts, key_of) for each in node.items]) + "]"
        else:
            text = "null"
        key = key_of(name, mark)
        parts.append(key if mark and text == "null" else f"{key}{_between_them(key, mark, text)}{text}")
    return "{" + " ".join(parts) + "}"


def _between_them(key: str, mark: str, text: str) -> str:
    """What is between a key and its value: a space between two words, of which the first has no mark."""
    first = text[0]
    word = "a" <= first <= "z" or "A" <= first <= "Z" or first > "\u00a0"
    return " " if not mark and word and key[0] != '"' and ":" not in text and text not in _LITERALS else ":"
