"""What is defined at a checkpoint, as the token rules ask for it: by name, and by value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from turnwire.csp.persistent_map import PersistentMap


class State(NamedTuple):
    """What is defined at a checkpoint: name -> value, value -> its first name, bytes of all names and values."""

    defs: PersistentMap
    names: PersistentMap
    size: int

    def set(self, name: str, value: str) -> State:
        """With one name more, or another value of it."""
        if self.defs.get(name) == value and self.names.get(value) is not None:
            return self
        before = self.remove(name)
        known = before.names.get(value)
        names = before.names.set(value, name) if known is None else before.names
        return State(before.defs.set(name, value), names, before.size + size_of(name, value))

    def value_of(self, name: str) -> str | None:
        """The value of a name."""
        return self.defs.get(name)

    def name_of(self, value: str) -> str | None:
        """The first name of a value."""
        return self.names.get(value)

    def remove(self, name: str) -> State:
        """Without a name."""
        value = self.defs.get(name)
        if value is None:
            return self
        names = self.names.remove(value) if self.names.get(value) == name else self.names
        return State(self.defs.remove(name), names, self.size - size_of(name, value))


class Later:
    """What a state becomes, in two plain maps of what is new: a path of nodes for each change costs more."""

    def __init__(self, before: State | Later) -> None:
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
        """As :meth:`State.set`."""
        self.remove(name)
        if self.name_of(value) is None:
            self._names[value] = name
        self._values[name] = value

    def remove(self, name: str) -> None:
        """As :meth:`State.remove`."""
        value = self.value_of(name)
        if value is not None:
            if self.name_of(value) == name:
                self._names[value] = None
            self._values[name] = None

    def added_to(self, state: State) -> State:
        """What this makes of the state that it began with."""
        if not self._values:
            return state
        defs, names, size = state
        for name in self._values:
            before = defs.get(name)
            size -= 0 if before is None else size_of(name, before)
        for old in [value for value, name in self._names.items() if name is None]:
            names = names.remove(old) if old in names else names
        for old in [name for name, value in self._values.items() if value is None]:
            defs = defs.remove(old) if old in defs else defs
        new = {name: value for name, value in self._values.items() if value is not None}
        size += sum(size_of(name, value) for name, value in new.items())
        found = {value: name for value, name in self._names.items() if name is not None}
        return State(defs.update(new), names.update(found), size)


def size_of(name: str, value: str) -> int:
    """How many bytes a name and its value have."""
    return len(name.encode("utf-8", "surrogatepass")) + len(value.encode("utf-8", "surrogatepass"))


EMPTY = State(PersistentMap(), PersistentMap(), 0)


def state_of(defs: Mapping[str, str]) -> State:
    """The state of names and values."""
    later = Later(EMPTY)
    for name, value in defs.items():
        later.set(name, value)
    return later.added_to(EMPTY)
