"""Events as records: templates and rows, by a state that a reader has too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_letters

from turnwire.session import definitions
from turnwire.session._fields_py import one_line
from turnwire.session._values_py import Leaf
from turnwire.session.shapes import Shape
from turnwire.session.state import State, Template, likeness, order_of, tell, written

BASES = 8
"""Templates that a new one may be derived from: the last ones."""
TRIED = 3
"""Of these, those that are tried: the most alike."""
WIDEST = 256
"""Leaves of an event that may be derived."""


def names() -> Iterator[str]:
    """a to z, A to Z, then two letters, and so on."""
    for size in count(1):
        yield from map("".join, product(ascii_letters, repeat=size))


class Composer:
    """Makes the records of events. keys: paths that name the conversation. before: whether what is as in the last event
    of the template may be left out. derive: whether a template may be told by another.

    Attributes:
        used: what the definitions need explained, as ``howto`` takes it.
    """

    def __init__(self, keys: tuple[str, ...], before: bool = True, derive: bool = True) -> None:
        self.keys = keys
        self.before = before
        self.derive = derive
        self.state = State()
        self.templates: dict[str, Template] = {}
        self.used: set[str] = set()
        self._numbers = count(1)
        self._orders: dict[int, tuple[int | None, list[int]]] = {}

    def bare(self, line: str, shape: Shape, leaves: Sequence[Leaf]) -> str:
        """An event as its own JSON text."""
        self._begin(shape, leaves)
        for path, leaf in zip(shape.paths, leaves, strict=True):
            self.state.put(path, leaf, False)
        return one_line(line)

    def _begin(self, shape: Shape, leaves: Sequence[Leaf]) -> list[int]:
        found = self._orders.get(id(shape))
        if found is None:
            found = self._orders[id(shape)] = order_of(shape.paths, self.keys)
        key, order = found
        self.state.enter(None if key is None else leaves[key])
        return order

    def define(self, name: str, shape: Shape, marks: list[str], leaves: list[Leaf], line: str = "") -> str:
        """An event that defines a template; without a name, one that is told by another or repeats what was seen.

        line: its JSON text, which may be written instead where there is no name.
        """
        template = Template(next(self._numbers), shape, marks, leaves, self.keys)
        bases = self._bases(template, leaves) if self.derive else []
        others = [base for _, base in bases]
        texts, known = tell(self.state, template, others, leaves, self.before, definitions.told)
        prefix, text = "", definitions.written(template.draft, texts, definitions.key_of)
        least = len(text)
        for (base_name, base), same in zip(bases, known, strict=True):
            draft = definitions.changes(base.draft, template.draft, same)
            if draft is not None:
                shorter = definitions.written(draft, texts, definitions.key_of)
                if len(shorter) + 2 < least:
                    least, prefix, text = len(shorter) + 2, base_name, shorter
        whole = f"{name}={prefix}{text}"
        if not name and len(whole) >= len(line):
            return one_line(line)
        self.used |= template.parts()
        if prefix:
            self.used.add("b=a")
        if name:
            self.templates[name] = template
        return whole

    def _bases(self, template: Template, leaves: list[Leaf]) -> list[tuple[str, Template]]:
        """The templates that this one is most like, by the letters that need not be told."""
        if template.shape.width > WIDEST:
            return []
        last = list(self.templates.items())[-BASES:]
        found = [(-likeness(template, base, leaves), name, base) for name, base in last]
        return [(name, base) for _, name, base in sorted(found, key=lambda each: each[0])[:TRIED]]

    def row(self, name: str, leaves: list[Leaf]) -> str:
        """An event by a template that was defined."""
        fields = written(self.state, self.templates[name], leaves, self.before)
        return f"{name} {fields}" if fields else name
