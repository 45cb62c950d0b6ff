"""States of defined names: frozen snapshots, which share what did not change between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

_ROW = 32
"""Dicts of a row, and rows."""
Part = dict[str, str]
_NOTHING: Part = {}


class Snapshot(Mapping[str, str]):
    """A frozen mapping of names to values; iterates in the order of the names.

    The names stand in small dicts, by their hash. A change copies the dicts of its names and the rows of dicts that
    these are in; all others are shared, so it costs what it changes, in time and memory.
    """

    __slots__ = ("_rows", "_size")

    def __init__(self, items: Mapping[str, str] | None = None) -> None:
        self._rows: tuple[tuple[Part, ...], ...] = ((_NOTHING,) * _ROW,) * _ROW
        self._size = 0
        if items:
            made = self.changed_by(items)
            self._rows, self._size = made._rows, made._size

    def changed_by(self, changes: Mapping[str, str | None] | Mapping[str, str]) -> Snapshot:
        """A mapping with several changes: a value sets its name, None removes it where it is there."""
        by_place: dict[tuple[int, int], dict[str, str | None]] = {}
        for name, value in changes.items():
            by_place.setdefault(_place(name), {})[name] = value
        rows, size = list(self._rows), self._size
        for (row, column), several in by_place.items():
            before = rows[row]
            whole: dict[str, str | None] = {**before[column], **several}
            made = {name: value for name, value in whole.items() if value is not None}
            size += len(made) - len(before[column])
            rows[row] = (*before[:column], made, *before[column + 1 :])
        result = Snapshot()
        result._rows, result._size = tuple(rows), size
        return result

    def __getitem__(self, key: str) -> str:
        row, column = _place(key)
        return self._rows[row][column][key]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self.plain()))

    def __len__(self) -> int:
        return self._size

    def __repr__(self) -> str:
        return f"Snapshot({dict(self)!r})"

    def plain(self) -> dict[str, str]:
        """The same as a dict, in no order."""
        found: dict[str, str] = {}
        for row in self._rows:
            for part in row:
                found.update(part)
        return found

    def changed(self, other: Snapshot) -> list[str]:
        """The names that differ in presence or value, in order."""
        return sorted(
            name
            for ours, theirs in zip(self._rows, other._rows, strict=True)
            if ours is not theirs
            for mine, its in zip(ours, theirs, strict=True)
            if mine is not its
            for name in mine.keys() | its.keys()
            if mine.get(name) != its.get(name)
        )


def _place(name: str) -> tuple[int, int]:
    """The row and the place in it of the dict that a name is in."""
    return divmod(hash(name) % (_ROW * _ROW), _ROW)


class Definitions(NamedTuple):
    """The definitions at a checkpoint: name -> value, value -> its first name, bytes of all names and values."""

    defs: Snapshot
    names: Snapshot
    size: int

    def having(self, name: str, value: str | None) -> Definitions:
        """The definitions in which a name has another value; None removes it.

        Another name of the value that it had does not become the name of that value.
        """
        before = self.defs.get(name)
        names: dict[str, str | None] = {}
        if before is not None and self.names.get(before) == name:
            names[before] = None
        if value is not None and (value in names or value not in self.names):
            names[value] = name
        size = self.size + (0 if value is None else size_of(name, value))
        size -= 0 if before is None else size_of(name, before)
        return Definitions(self.defs.changed_by({name: value}), self.names.changed_by(names), size)


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
    return Definitions(Snapshot(defs), Snapshot(names), sum(size_of(*item) for item in defs.items()))
