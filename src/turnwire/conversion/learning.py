"""Names of a whole conversation: what has no id of the target's kind is given one, the same one each time."""

from __future__ import annotations

from typing import Any

from turnwire.conversion.context import Context, Names
from turnwire.conversion.paths import ABSENT
from turnwire.conversion.shapes import shape_of

_NUMBERED = ("agents", "conversations", "ids")


class LearnedNames(Names):
    """The names of a context, and those that were given an id since.

    A name is given one only where the context has ``new_id``: a UUID from that, or the next free number.
    ``counts``: how many ids were counted of each kind of message that numbers its own (``Shape.numbered``).

    Args:
        context: what the caller said.
        room: how many names of each mapping are remembered; a further one is given nothing.
    """

    def __init__(self, context: Context, room: int) -> None:
        super().__init__(context)
        self.room = room
        self.learned: dict[str, dict[str, Any]] = {name: {} for name in (*_NUMBERED, "uuids")}
        self.counts: dict[str, int] = {}
        self._next = dict.fromkeys(_NUMBERED, 1)

    def surviving(self) -> Names:
        made = object.__new__(LearnedNames)
        made.__dict__ |= self.__dict__ | {"supply": False}
        return made

    def forth(self, mapping: str, name: str) -> Any:
        found = super().forth(mapping, name)
        return self.learned.get(mapping, {}).get(name, ABSENT) if found is ABSENT else found

    def learn(self, mapping: str, name: str) -> Any:
        """A new id for a name, or ABSENT where none may be given."""
        make = self.context.new_id
        known = self.learned[mapping]
        if make is None or not self.supply or len(known) >= self.room:
            return ABSENT
        if mapping == "uuids":
            value: Any = make()
        else:
            value = self._next[mapping]
            while self.back(mapping, value) is not ABSENT:
                value += 1
            self._next[mapping] = value + 1
        known[name] = value
        self.remember(mapping, value, name)
        return value

    def default(self, wire: str, kind: str, path: str) -> Any:
        found = super().default(wire, kind, path)
        letter = shape_of(wire).numbered.get(f"{kind}:{path}")
        if found is not ABSENT or letter is None or not self.supply:
            return found
        self.counts[letter] = number = self.counts.get(letter, 0) + 1
        return f"{letter}{number}"

    def as_context(self) -> Context:
        """The context with what was learned: what a conversion of single messages needs to say the same."""
        return self.context.replace(
            **{name: {**getattr(self.context, name), **values} for name, values in self.learned.items()}
        )
