"""Events as records: templates and rows, by a state that a reader has too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, product
from string import ascii_letters

from turnwire._pure.session.fields import one_line
from turnwire._pure.session.values import Leaf
from turnwire.session import definitions, notation
from turnwire.session.definitions import Told, drafted, told
from turnwire.session.shapes import Shape
from turnwire.session.state import LATER, SAME, State, Template, expected, order_of, written

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
    of the template may be left out.

    Attributes:
        derived: whether a template was derived from another.
    """

    def __init__(self, keys: tuple[str, ...], before: bool = True) -> None:
        self.keys = keys
        self.before = before
        self.state = State()
        self.templates: dict[str, Template] = {}
        self.derived = False
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
        state = self.state
        template = Template(next(self._numbers), shape, marks, leaves, self.keys)
        bases = self._bases(template, leaves)
        unsaid: list[set[tuple[int, int]]] = [set() for _ in bases]
        texts: dict[int, Told] = {}
        state.enter(None)
        for place in template.order:
            leaf, path, own = leaves[place], shape.paths[place], template.leaves[place]
            for at, (_, base) in enumerate(bases):
                there = base.places.get(path)
                if there is None or (base.leaves[there].mark == SAME and not self.before):
                    continue
                if state.expect(base.leaves[there], there, base.number) == leaf:
                    unsaid[at].add((there, place))
            texts[place] = self._told(own.mark, marks[place], leaf, path, place)
            if place == template.key:
                state.enter(leaf)
            state.put(path, leaf, own.mark == LATER)
        state.close(template.number, leaves)
        target = drafted(shape.root, marks, texts.__getitem__)
        prefix, text = "", definitions.written(target)
        least = len(text)
        for at, (base_name, base) in enumerate(bases):
            draft = definitions.changes(base.draft, target, lambda one, other: (one, other.number) in unsaid[at])  # noqa: B023
            if draft is not None and (size := len(shorter := definitions.written(draft)) + 2) < least:
                least, prefix, text = size, base_name, shorter
        self.derived |= bool(prefix)
        if name:
            self.templates.pop(name, None)
            self.templates[name] = template
        whole = f"{name}={prefix}{text}"
        return whole if name or len(whole) < len(line) else one_line(line)

    def _bases(self, template: Template, leaves: Sequence[Leaf]) -> list[tuple[str, Template]]:
        """The templates that this one is most like, by the letters that need not be told."""
        if template.shape.width > WIDEST:
            return []
        found = []
        for name, base in list(self.templates.items())[-BASES:]:
            alike = 0
            for place, path in enumerate(template.shape.paths):
                there = base.places.get(path)
                if there is not None and base.marks[there] == template.marks[place]:
                    alike += len(path) + (8 if template.marks[place] else 0)
                    if base.leaves[there].first == leaves[place]:
                        alike += len(leaves[place])
            found.append((-alike + len(base.marks), name, base))
        return [(name, base) for _, name, base in sorted(found, key=lambda each: each[0])[:TRIED]]

    def _told(self, char: str, mark: str, leaf: Leaf, path: str, place: int) -> Told:
        """A leaf as a definition tells it: null where it is expected, a distance, or its JSON text."""
        state = self.state
        if char == LATER:
            later = state.later(path)
            if later is not None and (far := state.distance(later, leaf)) is not None:
                return Told(place, notation.value(f'"{far:+d}"'))
        elif mark and leaf != b"null":
            own = expected(mark, path, None)
            if state.expect(own, place, 0) == leaf:
                return Told(place, "null")
        return Told(place, notation.value(told(leaf, mark)))

    def row(self, name: str, leaves: list[Leaf]) -> str:
        """An event by a template that was defined."""
        fields = written(self.state, self.templates[name], leaves, self.before)
        return f"{name} {'|'.join(fields)}" if fields else name
