"""Records as events: what ``composing`` makes, read again with the same state."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from turnwire.errors import DecodeError
from turnwire.json import text as json_text
from turnwire.session import definitions
from turnwire.session._fields_py import leaf_of
from turnwire.session._rows_py import fields_of, row, surrogate
from turnwire.session._values_py import Doubtful, Leaf, parsed
from turnwire.session.checks import Chain
from turnwire.session.definitions import Given, Leaves, Member
from turnwire.session.repeats import Expander
from turnwire.session.shapes import Shape, shape_of
from turnwire.session.state import LATER, Expected, State, Template, expected, order_of, read, rows
from turnwire.session.values import built, flatten, minified

_DEFINITION = re.compile(r"([A-Za-z]*)=([A-Za-z]*)(\{.*\})", re.DOTALL).fullmatch
_FAR = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch
_DISTANCE = re.compile(r"[+-](?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch


def value_of(line: str) -> Any:
    """The event of a line of JSON: a dict, or text. Raises DecodeError for what strict JSON refuses."""
    if line[:1] == '"':
        return inner_value(line)
    return json_text.read_object(line, "session")


def inner_value(line: str) -> Any:
    """Any JSON value, read strictly."""
    return json_text.read_object('{"":' + line + "}", "session")[""]


class Interpreter:
    """Reads the bodies of records. Raises ValueError for what no writer makes.

    aliases: the first character of their alphabet, if there are any. values: whether events are given as values, read
    strictly (which raises DecodeError), or as JSON text.

    Attributes:
        used: where it is a set, what definitions need explained is added to it.
    """

    def __init__(self, keys: tuple[str, ...], aliases: str = "", values: bool = False) -> None:
        self.keys = keys
        self.aliases = aliases
        self.used: set[str] | None = None
        self._expander = Expander(aliases)
        self.values = values
        self._doubtful = False
        self.shapes: dict[tuple[object, ...], Shape] = {}
        self.state = State()
        self.templates: dict[str, Template] = {}
        self._numbers = count(1)

    def event(self, body: str) -> Any:
        """An event: its minified JSON text or its value; text that is not an object as a JSON string or as text."""
        return self._event(self._expander.expand(body))

    def _event(self, body: str) -> Any:
        """An event of a body without aliases."""
        if not self._doubtful and ("\\u" in body or not body.isascii()) and surrogate(body):
            self._doubtful = True  # a lone surrogate may be among the texts from here on
        found = row(body)
        if found is not None:
            return self._row(found[1], found[2])
        return self._other(body)

    def rows(self, text: str, at: list[int], chain: Chain | None, found: list[Any]) -> None:
        """Reads the records of events from a place on: see ``session/_rows_py.py``."""
        expand = self._expander.expand if self._expander.first else None
        rows(text, at, chain, self.templates, self.state, expand, self._rare, self._given_back, self._event, found)

    def _given_back(self, shape: Shape, leaves: list[Leaf]) -> Any:
        if not self.values:
            return shape.text(leaves)
        if shape.plain and not self._doubtful:
            try:
                return built(shape.node, leaves, inner_value)
            except (Doubtful, DecodeError):
                pass  # the whole text says where the fault is
        return value_of(shape.text(leaves))

    def _other(self, body: str) -> Any:
        """An event that is not a row."""
        if body[:1] == "{":
            return self._bare(body)
        if body[:1] == "!":
            value = parsed(body[1:])
            if type(value) is not str:
                raise ValueError("a string follows !")
            return value_of(minified(value)) if self.values else minified(value)
        found = _DEFINITION(body)
        if found is None:
            raise ValueError("this is not a record")
        return self._definition(found[1], found[2], found[3])

    def _shape(self, structure: tuple[object, ...]) -> Shape:
        shape = self.shapes.get(structure)
        if shape is None:
            shape = self.shapes[structure] = shape_of(structure)
        return shape

    def _bare(self, body: str) -> Any:
        value = parsed(body)
        if not value:
            return {} if self.values else "{}"
        structure, leaves = flatten(value)
        shape = self._shape(structure)
        key, _ = order_of(shape.paths, self.keys)
        self.state.enter(None if key is None else leaves[key])
        for path, leaf in zip(shape.paths, leaves, strict=True):
            self.state.put(path, leaf, False)
        return self._given_back(shape, leaves) if self.values else minified(value)

    def _row(self, name: str, rest: str | None) -> Any:
        template = self.templates.get(name)
        if template is None:
            raise ValueError(f"there is no template {name}")
        fields = fields_of(rest, name, len(template.open))
        return self._given_back(template.shape, read(self.state, template, fields, self._rare))

    def _rare(self, given: str, own: Expected) -> Leaf:
        """The leaf of a field that may be more than a text or a number."""
        first, later = given[0], own.mark == LATER
        if first == "&":
            raise ValueError("a field does not begin with &")
        if later and _FAR(given):
            if first == "-" and own.form is None:
                raise ValueError("the distance of a number is not negative")
            moved = self.state.moved(own, int(given))
            if moved is None:
                raise ValueError("there is no time to count from")
            return moved
        return leaf_of(given, own.text or (later and first == "="), minified)

    def _definition(self, name: str, base_name: str, text: str) -> Any:
        draft = definitions.read(text)
        base = None
        if base_name:
            base = self.templates.get(base_name)
            if base is None:
                raise ValueError(f"there is no template {base_name}")
            draft = definitions.merged(base.draft, draft)
        return self._defined(name, base, draft)

    def _defined(self, name: str, base: Template | None, draft: list[Member]) -> Any:
        found = Leaves(draft)
        shape = self._shape(tuple(found.structure))
        key, order = order_of(shape.paths, self.keys)
        state = self.state
        state.enter(None)
        leaves: list[Leaf] = [""] * shape.width
        for place in order:
            node, mark, path = found.nodes[place], found.marks[place], shape.paths[place]
            if isinstance(node, Given):
                leaf = self._given(node.value, mark, path, place)
            elif base is None:
                raise ValueError("a member without a value")
            else:
                leaf = state.expect(base.leaves[node], node, base.number)
            if leaf is None:
                raise ValueError("a member is left out, and no earlier value can fill it")
            leaves[place] = leaf
            if place == key:
                state.enter(leaf)
            state.put(path, leaf, mark == LATER)
        template = Template(next(self._numbers), shape, found.marks, leaves, self.keys)
        state.close(template.number, leaves)
        if self.used is not None:
            self.used |= template.parts() | ({"b=a"} if base is not None else set())
        if name:
            self.templates[name] = template
        return self._given_back(shape, leaves)

    def _given(self, value: Leaf | None, mark: str, path: str, place: int) -> Leaf | None:
        """A leaf of a definition: a value, a distance, or what is expected (None)."""
        state = self.state
        if value is None:
            return state.expect(expected(mark, path, None), place, 0)
        if type(value) is not str or not value:
            return value
        if value[0] == "&":
            if value[1:2] == "&":
                return value[1:]
            if value[1:2] == "!":
                return leaf_of("=" + value[2:], True, minified)
            raise ValueError("a value that begins with & goes on with & or !")
        if mark == LATER and value[0] in "+-":
            later = state.later(path)
            if _DISTANCE(value) is None or later is None:
                raise ValueError("a distance is a sign and a number, after a time")
            return state.moved(later, int(value))
        return value
