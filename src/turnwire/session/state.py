"""What a template is, and the core that knows what its leaves are expected to be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire import _backend
from turnwire.session._state_py import FIXED, LATER, MORE, SAME, SEEN, TURN
from turnwire.session._values_py import Leaf
from turnwire.session.definitions import drafted
from turnwire.session.shapes import Shape

if TYPE_CHECKING:
    from turnwire.session._rows_py import rows
    from turnwire.session._state_py import Expected, State, expected, likeness, one_more, read, tell, written
else:
    _core = _backend.load("session.state")
    Expected, State, expected, one_more = _core.Expected, _core.State, _core.expected, _core.one_more
    likeness, read, tell, written = _core.likeness, _core.read, _core.tell, _core.written
    rows = _backend.load("session.rows").rows

__all__ = [
    "FIXED",
    "LATER",
    "MORE",
    "SAME",
    "SEEN",
    "TURN",
    "Expected",
    "State",
    "Template",
    "expected",
    "likeness",
    "one_more",
    "order_of",
    "read",
    "rows",
    "tell",
    "written",
]


def order_of(paths: list[str], keys: tuple[str, ...]) -> tuple[int | None, list[int]]:
    """The leaf that names the conversation, if there is one, and the order in which leaves are told: it comes first."""
    key = next((paths.index(key) for key in keys if key in paths), None)
    numbers = list(range(len(paths)))
    return key, numbers if key is None else [key, *(each for each in numbers if each != key)]


class _Common:
    """What templates of one shape with the same marks have in common; attributes as those of ``Template``."""

    __slots__ = ("draft", "key", "open", "order", "parts", "spots")

    def __init__(self, shape: Shape, marks: Sequence[str], keys: tuple[str, ...]) -> None:
        self.key, self.order = order_of(shape.paths, keys)
        self.open = [place for place, mark in enumerate(marks) if mark]
        self.spots = {place: number for number, place in enumerate(self.open)}
        self.parts = {mark[0] for mark, table in zip(marks, shape.columns, strict=True) if mark and table is None}
        if any(shape.columns):
            self.parts.add("#")
        if shape.strings:
            self.parts.add("$")
        self.draft: Any = None


class Template:
    """A shape and what is expected of its leaves.

    number: its id, since names may be given again. marks: as definitions write them. key: the number of the leaf that
    names the conversation. open: the numbers of the leaves that rows have fields for. spots: those -> number of the
    field.
    """

    __slots__ = ("_common", "key", "leaves", "marks", "number", "open", "order", "places", "shape", "spots")

    def __init__(self, number: int, shape: Shape, marks: list[str], leaves: list[Leaf], keys: tuple[str, ...]) -> None:
        self.number = number
        self.shape = shape
        self.marks = marks
        self.leaves = [expected(mark, path, leaf) for mark, path, leaf in zip(marks, shape.paths, leaves, strict=True)]
        known = (tuple(marks), keys)
        common: _Common | None = shape.forms.get(known)
        if common is None:
            common = shape.forms[known] = _Common(shape, marks, keys)
        self.key, self.order, self.open, self.spots = common.key, common.order, common.open, common.spots
        self.places = shape.places
        self._common = common

    def parts(self) -> set[str]:
        """What its definition needs explained: its marks, tables, JSON in strings."""
        return self._common.parts

    @property
    def draft(self) -> Any:
        """The definition as later ones may change it."""
        if self._common.draft is None:
            marks = tuple(self.marks)
            if marks not in self.shape.drafts:
                self.shape.drafts[marks] = drafted(self.shape.root, self.marks, int)
            self._common.draft = self.shape.drafts[marks]
        return self._common.draft
