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


class Asked:
    """A state that several rules ask for the same names and values: each is looked for once."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._values: dict[str, str | None] = {}
        self._names: dict[str, str | None] = {}

    def value_of(self, name: str) -> str | None:
        """The value of a name."""
        if name not in self._values:
            self._values[name] = self.state.value_of(name)
        return self._values[name]

    def name_of(self, value: str) -> str | None:
        """The first name of a value."""
        if value not in self._names:
            self._names[value] = self.state.name_of(value)
        return self._names[value]


class Later:
    """What a state becomes, in two plain maps of what is new: a path of nodes for each change costs more."""

    def __init__(self, before: State | Asked | Later) -> None:
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
            before = self._before.value_of(name)
            size -= 0 if before is None else size_of(name, before)
        size += sum(size_of(name, value) for name, value in self._values.items() if value is not None)
        return State(defs.changed_by(self._values), names.changed_by(self._names), size)


def size_of(name: str, value: str) -> int:
    """How many bytes a name and its value have."""
    if name.isascii() and value.isascii():
        return len(name) + len(value)
    return len(name.encode("utf-8", "surrogatepass")) + len(value.encode("utf-8", "surrogatepass"))


EMPTY = State(PersistentMap(), PersistentMap(), 0)


def state_of(defs: Mapping[str, str]) -> State:
    """The state of names and values."""
    later = Later(EMPTY)
    for name, value in defs.items():
        later.set(name, value)
    return later.added_to(EMPTY)
