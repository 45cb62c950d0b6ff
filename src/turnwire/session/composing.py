"""Events as records: templates and rows, by a state that a reader has too."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import count, product
from string import ascii_letters

from turnwire.session import definitions
from turnwire.session.definitions import Told, drafted, told
from turnwire.session.fields import field, json_field, one_line
from turnwire.session.shapes import Shape
from turnwire.session.state import LATER, SAME, State, Template, expected, order_of
from turnwire.session.values import Leaf, quoted

BASES = 8
"""Templates that a new one may be derived from: the last ones."""
WIDEST = 256
"""Leaves of an event that may be derived."""


def names() -> Iterator[str]:
    """a to z, A to Z, then two letters, and so on."""
    for size in count(1):
        yield from map("".join, product(ascii_letters, repeat=size))


class Composer:
    """Makes the bodies of records. keys: paths that name the conversation. aliases: text -> its name. before: whether
    what is as in the last event of the template may be left out.

    Attributes:
        told: texts that stood in records, with how often: what aliases are chosen by. derived: whether a template was
        derived from another.
    """

    def __init__(self, keys: tuple[str, ...], aliases: Mapping[str, str] | None = None, before: bool = True) -> None:
        self.keys = keys
        self.before = before
        self.aliases = dict(aliases or {})
        self.told: Counter[str] = Counter()
        self.state = State()
        self.templates: dict[str, Template] = {}
        self.derived = False
        self._made: set[str] = set()
        self._numbers = count(1)
        self._orders: dict[int, tuple[int | None, list[int]]] = {}

    def anchor(self) -> None:
        """Nothing that was said counts any longer."""
        self.state = State()
        self.templates = {}
        self._made = set()

    def bare(self, line: str, shape: Shape, leaves: Sequence[Leaf]) -> str:
        """An event as its own JSON text."""
        self._begin(shape, leaves)
        for path, leaf in zip(shape.paths, leaves, strict=True):
            self.state.put(path, leaf, False)
            if type(leaf) is str:
                self.told[leaf] += 1
        return one_line(line)

    def _begin(self, shape: Shape, leaves: Sequence[Leaf]) -> list[int]:
        found = self._orders.get(id(shape))
        if found is None:
            found = self._orders[id(shape)] = order_of(shape.paths, self.keys)
        key, order = found
        self.state.enter(None if key is None else leaves[key])
        return order

    def define(self, name: str, shape: Shape, marks: list[str], leaves: list[Leaf]) -> str:
        """An event that defines a template; without a name, one that is told by another or repeats what was seen."""
        state = self.state
        template = Template(next(self._numbers), shape, marks, leaves, self.keys)
        bases = list(self.templates.items())[-BASES:] if shape.width <= WIDEST else []
        places = [{path: number for number, path in enumerate(base.shape.paths)} for _, base in bases]
        unsaid: list[set[tuple[int, int]]] = [set() for _ in bases]
        texts: dict[int, Told] = {}
        aliased: dict[int, str] = {}
        state.enter(None)
        for place in template.order:
            leaf, path, own = leaves[place], shape.paths[place], template.leaves[place]
            for at, (_, base) in enumerate(bases):
                there = places[at].get(path)
                if there is None or (base.leaves[there].mark == SAME and not self.before):
                    continue
                if state.expect(base.leaves[there], there, base.number) == leaf:
                    unsaid[at].add((there, place))
            texts[place] = Told(place, self._told(own.mark, marks[place], leaf, path, place, aliased))
            if place == template.key:
                state.enter(leaf)
            state.put(path, leaf, own.mark == LATER)
        state.close(template.number, leaves)
        target = drafted(shape.root, marks, texts.__getitem__)
        best, used, prefix = definitions.written(target), target, ""
        for at, (base_name, base) in enumerate(bases):
            draft = definitions.changes(base.draft, target, lambda one, other: (one, other.number) in unsaid[at])  # noqa: B023
            if draft is not None and len(text := definitions.written(draft)) + 2 < len(best):
                best, used, prefix = text, draft, base_name
        for each in definitions.Leaves(used).nodes:
            if isinstance(each, Told):
                self._count(each.number, leaves, aliased, each.text)
        self.derived |= bool(prefix)
        if name:
            self.templates.pop(name, None)
            self.templates[name] = template
        return f"{name}={prefix}{best}"

    def _told(self, char: str, mark: str, leaf: Leaf, path: str, place: int, aliased: dict[int, str]) -> str:
        """A leaf as a definition tells it: null where it is expected, a distance, an alias, or its JSON text."""
        state = self.state
        if char == LATER:
            later = state.later(path)
            if later is not None and (far := state.distance(later, leaf)) is not None:
                return f'"{far:+d}"'
        elif mark and leaf != b"null":
            own = expected(mark, path, None)
            if state.expect(own, place, 0) == leaf:
                return "null"
        if type(leaf) is str and (name := self.aliases.get(leaf)):
            aliased[place] = leaf
            return f'"&{name}"' if leaf in self._made else told(leaf, mark, f"&{name}=")
        return told(leaf, mark)

    def _count(self, place: int, leaves: Sequence[Leaf], aliased: Mapping[int, str], text: str) -> None:
        leaf = leaves[place]
        if place in aliased:
            self._made.add(aliased[place])
        if type(leaf) is str and text != "null":
            self.told[leaf] += 1

    def row(self, name: str, leaves: list[Leaf]) -> str:
        """An event by a template that was defined."""
        template, state = self.templates[name], self.state
        state.enter(None)
        fields: dict[int, str] = {}
        for place in template.order:
            own, leaf = template.leaves[place], leaves[place]
            kept = own.mark != SAME or self.before
            if own.mark and not (kept and state.expect(own, place, template.number) == leaf):
                far = state.distance(own, leaf) if own.mark == LATER else None
                if far is not None and (own.text or far >= 0):
                    fields[place] = f"{far:+d}"
                else:
                    fields[place] = self._field(leaf, own.text, own.mark == LATER)
            if place == template.key:
                state.enter(leaf)
            state.put(own.path, leaf, own.mark == LATER)
        state.close(template.number, leaves)
        last = max((at for at, place in enumerate(template.open) if place in fields), default=-1)
        if last < 0:
            return name
        return f"{name} " + "|".join([fields.get(place, "") for place in template.open[: last + 1]])

    def _field(self, leaf: Leaf, text: bool, later: bool) -> str:
        if type(leaf) is str:
            self.told[leaf] += 1
            name = self.aliases.get(leaf)
            if name is not None:
                if leaf in self._made:
                    return f"&{name}"
                self._made.add(leaf)
                return f"&{name}=" + field(leaf, True)
            if text and later and leaf[:1] in ("+", "-"):
                return "=" + json_field(quoted(leaf))
        return field(leaf, text)
