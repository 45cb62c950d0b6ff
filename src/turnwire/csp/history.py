"""The history of names: a mapping of which each version stays readable, states by name and value, and ids seen."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from operator import itemgetter
from types import EllipsisType
from typing import Any, NamedTuple

_Change = tuple[int, str | EllipsisType | None]
_DIGITS = 4000
"""Of longer numbers Python makes no int."""


class _Versions:
    """Versions that follow one another, of which only the newest is kept as it is.

    values: the newest version. before: of each name, what it was in front of each version that changed it. changed:
    version -> its names. A line that branches off has values of its own alone, None for what it removed; ``base`` is
    where it began. ``...`` stands for what a line itself says nothing of.

    A change says first what was (``before``), then that there is a new version, then what is: an interruption between
    two steps, or another thread, leaves every version as it was.
    """

    __slots__ = ("base", "before", "changed", "depth", "values", "version")

    def __init__(self, values: dict[str, str | None], base: VersionedMap | None = None, depth: int = 0) -> None:
        self.values = values
        self.base = base
        self.depth = depth
        self.version = 0
        self.before: dict[str, list[_Change]] = {}
        self.changed: dict[int, tuple[str, ...]] = {}

    def at(self, version: int, name: str) -> str | EllipsisType | None:
        """The value of a name in a version."""
        found = self.values.get(name, ...)
        if version != self.version:
            changes = self.before.get(name, ())
            place = bisect_right(changes, version, key=itemgetter(0))
            if place < len(changes):
                return changes[place][1]
        return found


class VersionedMap(Mapping[str, str]):
    """A frozen mapping of names to values; iterates in the order of the names.

    A change makes a new mapping and costs what it changes, in time and memory. A name of the newest is looked up as in
    a dict, one of an older version by bisection of its changes.
    """

    __slots__ = ("_line", "_size", "_version")

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._line = _Versions({**items} if items else {})
        self._version = 0
        self._size = len(self._line.values)

    def changed_by(self, changes: Mapping[str, str | None]) -> VersionedMap:
        """A mapping with several changes: a value sets its name, None removes it where it is there."""
        if not changes:
            return self
        line = self._line if self._version == self._line.version else self._branch()
        now = line.version + 1
        result = VersionedMap()
        result._line, result._version, result._size = line, now, self._size
        for name, value in changes.items():
            result._size += (value is not None) - (name in self)
            line.before.setdefault(name, []).append((now, line.values.get(name, ...)))
        line.changed[now] = tuple(changes)
        line.version = now
        for name, value in changes.items():
            if value is None and line.base is None:
                line.values.pop(name, None)
            else:
                line.values[name] = value
        return result

    def _branch(self) -> _Versions:
        """A line that begins here. One that would be far from its root is made a root, with all values."""
        depth = self._line.depth + 1
        if depth * depth > self._size:
            return _Versions({**self.plain()})
        return _Versions({}, self, depth)

    def _steps(self) -> Iterator[tuple[_Versions, int]]:
        """Its line and version, and those from which it branched off."""
        step: VersionedMap | None = self
        while step is not None:
            yield step._line, step._version
            step = step._line.base

    def get(self, key: str, /, default: Any = None) -> Any:
        """The value of ``key``, or ``default``."""
        line, version = self._line, self._version
        while (found := line.at(version, key)) is ... and (base := line.base) is not None:
            line, version = base._line, base._version
        return default if found is None or found is ... else found

    def __getitem__(self, key: str) -> str:
        value: str | None = self.get(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.get(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.plain()))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"VersionedMap({dict(self)!r})"

    def plain(self) -> dict[str, str]:
        """The same as a dict, in no order."""
        line = self._line
        if line.base is None and self._version == line.version:
            return dict(line.values)  # type: ignore[arg-type]
        names = {name for step, _ in self._steps() for name in (*step.values, *step.before)}
        return {name: value for name in names if (value := self.get(name)) is not None}

    def isdisjoint(self, names: Iterable[str]) -> bool:
        """True if none of these names is there."""
        line = self._line
        if line.base is None and self._version == line.version:
            return line.values.keys().isdisjoint(names)
        return not any(name in self for name in names)

    def changed(self, other: VersionedMap) -> list[str]:
        """The names that differ in presence or value, in order. It costs what was changed between the two."""
        versions = dict(other._steps())
        names: set[str] = set()
        for line, version in self._steps():
            if line in versions:
                first, last = sorted((version, versions[line]))
                names.update(*(line.changed[one] for one in range(first + 1, last + 1)))
                for later, until in other._steps():
                    if later is line:
                        break
                    names.update(*(later.changed[one] for one in range(1, until + 1)))
                break
            names.update(*(line.changed[one] for one in range(1, version + 1)))
        else:
            names = {*self.plain(), *other.plain()}
        return sorted(name for name in names if self.get(name) != other.get(name))


def forgetful(maps: Iterable[VersionedMap]) -> list[VersionedMap]:
    """The same mappings, without the memory of those between them."""
    several = list(maps)
    kept = [VersionedMap(one.plain()) for one in several[:1]]
    for one, following in pairwise(several):
        kept.append(kept[-1].changed_by({name: following.get(name) for name in one.changed(following)}))
    return kept


class Definitions(NamedTuple):
    """The definitions at a checkpoint: name -> value, value -> its first name, bytes of all names and values."""

    defs: VersionedMap
    names: VersionedMap
    size: int

    def value_of(self, name: str) -> str | None:
        """The value of a name."""
        found: str | None = self.defs.get(name)
        return found

    def name_of(self, value: str) -> str | None:
        """The first name of a value."""
        found: str | None = self.names.get(value)
        return found


class NextState:
    """The state that follows another, change by change."""

    def __init__(self, before: Definitions) -> None:
        self._before = before
        self._values: dict[str, str | None] = {}
        self._names: dict[str, str | None] = {}

    def name_of(self, value: str) -> str | None:
        """The first name of a value."""
        return self._names[value] if value in self._names else self._before.name_of(value)

    def value_of(self, name: str) -> str | None:
        """The value of a name."""
        return self._values[name] if name in self._values else self._before.value_of(name)

    def set(self, name: str, value: str) -> None:
        """Defines a name, or gives it another value."""
        self.remove(name)
        if self.name_of(value) is None:
            self._names[value] = name
        self._values[name] = value

    def remove(self, name: str) -> None:
        """Removes a name. Another one of the same value is not the name of that value."""
        value = self.value_of(name)
        if value is not None:
            if self.name_of(value) == name:
                self._names[value] = None
            self._values[name] = None

    def state(self) -> Definitions:
        """The state after the changes."""
        if not self._values:
            return self._before
        defs, names, size = self._before
        for name, value in self._values.items():
            before = defs.get(name)
            size += (0 if value is None else size_of(name, value)) - (0 if before is None else size_of(name, before))
        return Definitions(defs.changed_by(self._values), names.changed_by(self._names), size)


def size_of(name: str, value: str) -> int:
    """The bytes of a name and its value."""
    if name.isascii() and value.isascii():
        return len(name) + len(value)
    return len(name.encode("utf-8", "surrogatepass")) + len(value.encode("utf-8", "surrogatepass"))


def state_of(defs: Mapping[str, str]) -> Definitions:
    """The state of names and values."""
    names: dict[str, str] = {}
    for name, value in defs.items():
        names.setdefault(value, name)
    return Definitions(VersionedMap(defs), VersionedMap(names), sum(size_of(*item) for item in defs.items()))


def forgetful_states(states: Iterable[Definitions]) -> list[Definitions]:
    """The same states, without the memory of those between them."""
    several = list(states)
    maps = zip(forgetful(one.defs for one in several), forgetful(one.names for one in several), several, strict=True)
    return [Definitions(defs, names, state.size) for defs, names, state in maps]


class SeenIds:
    """A set of ids that only grows: a letter and a number each, which mostly follow one another.

    Runs of numbers are kept as their ends. Where there are more runs than ``room``, the lowest two become one; so all
    ids that were added are in it, and perhaps some that stand between low ones. Other ids are kept as they are, and of
    more than ``room`` of them each is taken for one that was given out.
    """

    __slots__ = ("_firsts", "_lasts", "_letter", "_others", "_room")

    def __init__(self, letter: str, room: int, ids: Iterable[str] = ()) -> None:
        self._letter = letter
        self._room = room
        self._firsts: list[int] = []
        self._lasts: list[int] = []
        self._others: set[str] = set()
        for name in ids:
            self.add(name)

    def _number(self, name: str) -> int | None:
        digits = name[1:]
        plain = (
            name[:1] == self._letter and digits.isascii() and digits.isdigit() and (digits[0] != "0" or digits == "0")
        )
        return int(digits) if plain and len(digits) < _DIGITS else None

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        number = self._number(name)
        if number is None:
            return name in self._others or len(self._others) > self._room
        place = bisect_right(self._firsts, number) - 1
        return place >= 0 and number <= self._lasts[place]

    def add(self, name: str) -> None:
        """Adds an id."""
        number = self._number(name)
        if number is None:
            if len(self._others) <= self._room:
                self._others.add(name)
            return
        firsts, lasts = self._firsts, self._lasts
        place = bisect_right(firsts, number)
        if place and number <= lasts[place - 1]:
            return
        after = place < len(firsts) and firsts[place] == number + 1
        if place and lasts[place - 1] == number - 1:
            lasts[place - 1] = lasts[place] if after else number
            if after:
                del firsts[place], lasts[place]
        elif after:
            firsts[place] = number
        else:
            firsts.insert(place, number)
            lasts.insert(place, number)
        if len(firsts) > self._room:
            del firsts[1], lasts[0]
