"""Definitions told by another one: the changes between two, and the definition that changes make."""

from __future__ import annotations

from collections.abc import Sequence

from turnwire.session.notation import REMOVED, Member
from turnwire.session.shapes import ObjectArray


class _CannotTell(Exception):
    """A member cannot be told by its differences."""


def merged(base: Sequence[Member], changes: Sequence[Member], within: bool = True) -> list[Member]:
    """The draft that changes make of a base: members replaced, removed, added; ``within`` members, too.

    A new member goes where the one before it was removed or added, else at the end. Raises ValueError where a member
    that is removed is not there.
    """
    places = {member.name: number for number, member in enumerate(base)}
    found: list[list[Member]] = [*([member] for member in base), []]
    spot = len(base)
    for change in changes:
        at = places.get(change.name)
        if at is None:
            if change.mark == REMOVED:
                raise ValueError("a member is removed that is not there")
            found[spot].append(change)
            continue
        spot = len(base)
        held = base[at]
        if change.mark == REMOVED:
            found[at], spot = found[at][1:], at
        elif type(held.node) is list and type(change.node) is list:
            node = merged(held.node, change.node) if within else held.node
            found[at][0] = Member(held.name, change.mark or held.mark, node)
        else:
            found[at][0] = change
    return [member for members in found for member in members]


def changes(base: Sequence[Member], target: Sequence[Member], same: Sequence[int]) -> list[Member] | None:
    """The changes that make a target of a base, or None where changes cannot say it.

    same: of each leaf of the target, the leaf of the base by which it need not be told; -1: it must be.
    """
    try:
        return _changes(base, target, same)
    except _CannotTell:
        return None


def _changes(base: Sequence[Member], target: Sequence[Member], same: Sequence[int]) -> list[Member]:
    places = {member.name: number for number, member in enumerate(base)}
    kept = {member.name for member in target}
    removed = [member.name for member in base if member.name not in kept]
    found: list[Member] = []
    fresh = False
    for number, member in enumerate(target):
        at = places.get(member.name)
        if at is None:
            if not fresh:  # the place of one that goes is where it is
                spot = next((name for name in removed if _is_between(places[name], number, target, places)), None)
                if spot is not None:
                    removed.remove(spot)
                    found.append(Member(spot, REMOVED, None))
            found.append(member)
            fresh = True
            continue
        fresh = False
        change = _change(base[at], member, same)
        if change is not None:
            found.append(change)
    found = [*(Member(name, REMOVED, None) for name in removed), *found]
    if [member[:2] for member in merged(base, found, False)] != [member[:2] for member in target]:
        raise _CannotTell
    return found


def _is_between(place: int, number: int, target: Sequence[Member], places: dict[str, int]) -> bool:
    """A removed member of the base was between the neighbours of a new one of the target."""
    for at, each in enumerate(target):
        other = places.get(each.name)
        if other is not None and (place <= other if at < number else place >= other):
            return False
    return True


def _change(held: Member, member: Member, same: Sequence[int]) -> Member | None:
    """The change of a member that the base has, too; None: nothing."""
    before, after = held.node, member.node
    alike = held.mark == member.mark
    if type(before) is list and type(after) is list:
        if not alike:
            raise _CannotTell
        inner = _changes(before, after, same)
        return Member(member.name, "", inner) if inner else None
    if alike and type(before) is int and type(after) is int and same[after] == before:
        return None
    if alike and type(before) is ObjectArray and type(after) is ObjectArray and len(before.items) == len(after.items):
        pairs = zip(before.items, after.items, strict=True)
        if all(changes(one, other, same) == [] for one, other in pairs):
            return None
    return member
