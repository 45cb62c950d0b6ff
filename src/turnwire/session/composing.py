"""Events as bodies of records: definitions, rows and JSON, by a state that a reader has too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from string import ascii_letters

from turnwire.session.fields import one_line
from turnwire.session.notation import told, written
from turnwire.session.shapes import Event
from turnwire.session.template_diff import changes
from turnwire.session.templates import LATER, SAME, State, Template, expected, row_of
from turnwire.session.values import Leaf

BASES = 8
"""Templates that a new one may be derived from: the last ones."""
TRIED = 3
"""Of these, those that are tried: the most alike."""
WIDEST = 256
"""Leaves of an event that may be derived."""


def _name(number: int) -> str:
    """The name of a template by its number: all of one letter, then all of two, in order."""
    size, first = 1, 0
    while number >= first + len(ascii_letters) ** size:
        first += len(ascii_letters) ** size
        size += 1
    name = ""
    number -= first
    for _ in range(size):
        number, letter = divmod(number, len(ascii_letters))
        name = ascii_letters[letter] + name
    return name


class Composer:
    """Makes the bodies of records. keys: paths that name the conversation. before: whether what is as in the last event
    of the template may be left out. derive: whether a template may be told by another.

    Attributes:
        names: those that templates may have, one after the other. used: what the definitions need explained, as
        ``explanation`` takes it.
    """

    def __init__(self, keys: tuple[str, ...], before: bool = True, derive: bool = True) -> None:
        self.keys = keys
        self.before = before
        self.derive = derive
        self.state = State()
        self.templates: dict[str, Template] = {}
        self.names = map(_name, count())
        self.used: set[str] = set()
        self._numbers = count(1)

    def bare(self, event: Event) -> str:
        """An event as its own JSON text, behind a mark where it is not an object."""
        self.state.take(event.shape, [""] * len(event.leaves), self.keys, event.leaves.__getitem__)
        return "!" * (event.line[0] == '"') + one_line(event.line)

    def row(self, name: str, event: Event) -> str:
        """An event by a template that was defined."""
        fields = row_of(self.state, self.templates[name], event.leaves, self.before)
        return f"{name} {fields}" if fields else name

    def define(self, name: str, event: Event, marks: Sequence[str]) -> str:
        """An event that defines a template; without a name, one that is told by another or repeats what was seen, or
        its own JSON text, whichever is shorter."""
        line, shape, leaves = event
        template = Template(next(self._numbers), shape, marks, leaves, self.keys)
        bases = self._bases(template, leaves) if self.derive and len(marks) <= WIDEST else {}
        texts, known = self._tell(template, list(bases.values()), leaves)
        prefix, text = "", written(template.draft, texts)
        least = len(text)
        for (base_name, base), same in zip(bases.items(), known, strict=True):
            draft = changes(base.draft, template.draft, same)
            if draft is not None and len(shorter := written(draft, texts)) + 2 < least:
                least, prefix, text = len(shorter) + 2, base_name, shorter
        whole = f"{name}={prefix}{text}"
        if not name and len(whole) >= len(line):
            return one_line(line)
        self.used |= template.parts
        if prefix:
            self.used.add("b=a")
        if name:
            self.templates[name] = template
        return whole

    def _bases(self, template: Template, leaves: Sequence[Leaf]) -> dict[str, Template]:
        """The templates that this one is most like: by the letters that need not be told, of paths, marks, values."""
        alike = {}
        for name, base in list(self.templates.items())[-BASES:]:
            alike[name] = -len(base.marks)
            for path, mark, leaf in zip(template.shape.paths, template.marks, leaves, strict=True):
                there = base.shape.numbers.get(path)
                if there is not None and base.marks[there] == mark:
                    alike[name] += len(path) + (8 if mark else 0)
                    if base.leaves[there].first == leaf:
                        alike[name] += len(leaf)
        most = sorted(alike, key=lambda name: -alike[name])[:TRIED]
        return {name: self.templates[name] for name in most}

    def _tell(
        self, template: Template, bases: Sequence[Template], leaves: Sequence[Leaf]
    ) -> tuple[list[str], list[list[int]]]:
        """Each leaf as the definition of a template tells it, and what each base knows of them.

        A leaf is ``null`` where it is expected, or its distance from the last time or number. Of each base, by leaves:
        the one of the base by which it need not be told, or -1.
        """
        state = self.state
        texts = [""] * len(leaves)
        known = [[-1] * len(leaves) for _ in bases]

        def tell(place: int) -> Leaf:
            leaf, own, mark = leaves[place], template.leaves[place], template.marks[place]
            for base, same in zip(bases, known, strict=True):
                there = base.shape.numbers.get(own.path)
                if there is None or (base.leaves[there].mark == SAME and not self.before):
                    continue
                if state.expect(base.leaves[there], there, base.number) == leaf:
                    same[place] = there
            texts[place] = told(leaf, mark)
            if own.mark == LATER:
                later = state.later(own.path)
                far = None if later is None else state.distance(later, leaf)
                if far is not None:
                    texts[place] = f"+{far}" if far >= 0 else f'"{far}"'
            elif mark and leaf != b"null" and state.expect(expected(mark, own.path, None), 0, 0) == leaf:
                texts[place] = "null"
            return leaf

        state.take(template.shape, template.marks, self.keys, tell)
        state.close(template.number, leaves)
        return texts, known
