"""What was said so far, and what it lets a reader expect; rows written and read by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from turnwire.session import _times_py as times
from turnwire.session._fields_py import field, json_field
from turnwire.session._times_py import Form
from turnwire.session._values_py import Leaf, quoted

if TYPE_CHECKING:
    from turnwire.session.state import Template

FIXED, SAME, MORE, SEEN, TURN, LATER = "", "?", "+", "=", "^", "~"
"""What is expected of a member. FIXED: what the template says. SAME, MORE: as in the last event of the template, or one
more. SEEN: as was seen last at the same path or at another. TURN: one more than at the same path in the conversation.
LATER: a time, told by its distance to the last one."""
_NUMBER = re.compile(rb"0|[1-9][0-9]{0,17}").fullmatch
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII).fullmatch
_PLAIN_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?", re.ASCII).fullmatch
FARTHEST = 10**18 - 1
"""The longest distance that is told as one."""
_TAIL = re.compile(r"(?<![0-9])[0-9]{1,18}\Z", re.ASCII).search


class Expected(NamedTuple):
    """What a template says of one leaf.

    mark: one of the above. source: the path that SEEN looks at. path: of the leaf. first: the value in the event that
    defined the template. text: whether that is a string or null. form: of a time, None where numbers are
    told by distance.
    """

    mark: str
    source: str
    path: str
    first: Leaf | None
    text: bool
    form: Form | None


def expected(mark: str, path: str, leaf: Leaf | None) -> Expected:
    """What a mark says of a leaf whose first value is known (None: it is not)."""
    text = type(leaf) is str or leaf == b"null"
    read = times.read(leaf) if mark == LATER and isinstance(leaf, str) else None
    char = SAME if mark[:1] == "#" else mark[:1]
    return Expected(char, mark[1:] if char == SEEN else "", path, leaf, text, read[0] if read else None)


def one_more(value: Leaf | None) -> Leaf | None:
    """A number, or the number at the end of a text, and one; None where there is none."""
    if type(value) is bytes:
        return b"%d" % (int(value) + 1) if _NUMBER(value) else None
    if type(value) is not str or (found := _TAIL(value)) is None:
        return None
    digits = found[0]
    return value[: found.start()] + str(int(digits) + 1).zfill(len(digits))


class Scope:
    """What was seen in one conversation: path -> value, template -> leaves of its last event."""

    __slots__ = ("rows", "seen")

    def __init__(self) -> None:
        self.seen: dict[str, Leaf] = {}
        self.rows: dict[int, list[Leaf]] = {}


class State:
    """Everything that was seen since the last anchor."""

    __slots__ = ("all", "conversations", "current", "form", "times")

    def __init__(self) -> None:
        self.all = Scope()
        self.conversations: dict[Leaf, Scope] = {}
        self.current = self.all
        self.times: dict[Form, int] = {}
        self.form: Form | None = None

    def enter(self, key: Leaf | None) -> None:
        """Begins an event of a conversation."""
        if key is None:
            self.current = self.all
        else:
            found = self.conversations.get(key)
            self.current = self.conversations[key] = Scope() if found is None else found

    def expect(self, expected: Expected, number: int, template: int) -> Leaf | None:
        """The value that an empty field stands for; None where nothing was seen that says it.

        template: the id of the template whose last event counts.
        """
        mark, path = expected.mark, expected.path
        here, everywhere = self.current, self.all
        if mark == "":
            return expected.first
        if mark == "?" or mark == "+":
            row = here.rows.get(template) or everywhere.rows.get(template)
            if row is None:
                return None
            return row[number] if mark == "?" else one_more(row[number])
        if mark == "=":
            source = expected.source or path
            found = here.seen.get(source)
            return everywhere.seen.get(source) if found is None else found
        if mark == "^":
            found = here.seen.get(path)
            return expected.first if found is None else one_more(found)
        return self.moved(expected, 0)

    def moved(self, expected: Expected, distance: int) -> Leaf | None:
        """A time or number that far after the last one; None where there is none."""
        if expected.form is None:
            last = self.all.seen.get(expected.path)
            return b"%d" % (int(last) + distance) if type(last) is bytes and _NUMBER(last) else None
        since = self.times.get(expected.form)
        if since is None:
            return None
        try:
            return times.written(expected.form, since + distance)
        except ValueError:
            return None

    def later(self, path: str) -> Expected | None:
        """What a distance in a definition counts from: the last number at its path, else the last time, or None."""
        last = self.all.seen.get(path)
        if type(last) is bytes and _NUMBER(last):
            return Expected(LATER, "", path, None, False, None)
        return None if self.form is None else Expected(LATER, "", path, None, True, self.form)

    def distance(self, expected: Expected, value: Leaf) -> int | None:
        """How far a value is from the last one, or None where that does not say it."""
        if expected.form is None:
            last = self.all.seen.get(expected.path)
            if type(value) is not bytes or type(last) is not bytes or not _NUMBER(value) or not _NUMBER(last):
                return None
            found = int(value) - int(last)
            return found if found >= 0 else None
        read = times.read(value) if type(value) is str else None
        since = self.times.get(expected.form)
        if read is None or read[0] != expected.form or since is None:
            return None
        return moved if -FARTHEST <= (moved := read[1] - since) <= FARTHEST else None

    def put(self, path: str, value: Leaf, later: bool) -> None:
        """A leaf of the present event; later: whether it is a time that the next ones are told by."""
        self.all.seen[path] = value
        if self.current is not self.all:
            self.current.seen[path] = value
        if later and type(value) is str and (read := times.read(value)) is not None:
            self.form = read[0]
            self.times[read[0]] = read[1]

    def close(self, template: int, leaves: list[Leaf]) -> None:
        """The present event is complete."""
        self.all.rows[template] = leaves
        if self.current is not self.all:
            self.current.rows[template] = leaves


def written(state: State, template: Template, leaves: list[Leaf], before: bool) -> str:
    """An event as the fields of a row with bars between them, without those that are empty at its end.

    before: whether what is as in the last event of the template may be left out.
    """
    state.enter(None)
    places = template.open
    fields = [""] * len(places)
    last = -1
    for place in template.order:
        own, leaf = template.leaves[place], leaves[place]
        at = template.spots.get(place)
        if at is not None:
            expected = state.expect(own, place, template.number) if before or own.mark != SAME else None
            if expected != leaf:
                last = max(last, at)
                far = state.distance(own, leaf) if own.mark == LATER else None
                if far is not None:
                    fields[at] = str(far)
                else:
                    fields[at] = told(leaf, own.text, own.mark == LATER)
        if place == template.key:
            state.enter(leaf)
        state.put(own.path, leaf, own.mark == LATER)
    state.close(template.number, leaves)
    return "|".join(fields[: last + 1])


def told(leaf: Leaf, text: bool, later: bool) -> str:
    """A leaf as a field. text: whether a text is expected; later: whether a distance may be there."""
    if later:
        if type(leaf) is str and text and _WHOLE(leaf):
            return "=" + json_field(quoted(leaf))
        if type(leaf) is bytes and not text and _WHOLE(leaf.decode()):
            return "=" + leaf.decode()
    return field(leaf, text)


def read(state: State, template: Template, fields: list[str], rare: Callable[[str, Expected], Leaf]) -> list[Leaf]:
    """The leaves of the event in a row. rare: reads a field that is not simply a text, a number or nothing.

    Raises ValueError for an empty field where nothing was seen that it stands for, and what ``rare`` raises.
    """
    leaves: list[Leaf] = [""] * len(template.leaves)
    state.enter(None)
    for place in template.order:
        own = template.leaves[place]
        at = template.spots.get(place, len(fields))
        field = fields[at] if at < len(fields) else ""
        if not field:
            found = state.expect(own, place, template.number)
            if found is None:
                raise ValueError("a field is empty, and no earlier value can fill it")
            leaf = found
        elif own.mark == LATER:
            leaf = rare(field, own)
        elif own.text and field[0] not in "=&":
            leaf = field
        elif not own.text and _PLAIN_NUMBER(field):
            leaf = field.encode()
        else:
            leaf = rare(field, own)
        leaves[place] = leaf
        if place == template.key:
            state.enter(leaf)
        state.put(own.path, leaf, own.mark == LATER)
    state.close(template.number, leaves)
    return leaves


def likeness(template: Template, base: Template, leaves: list[Leaf]) -> int:
    """How many letters of a definition another template spares, about: paths and marks that it has, too, and values
    that it began with."""
    alike = -len(base.marks)
    for place, path in enumerate(template.shape.paths):
        there = base.places.get(path)
        if there is not None and base.marks[there] == template.marks[place]:
            alike += len(path) + (8 if template.marks[place] else 0)
            if base.leaves[there].first == leaves[place]:
                alike += len(leaves[place])
    return alike


def tell(
    state: State,
    template: Template,
    bases: Sequence[Template],
    leaves: list[Leaf],
    before: bool,
    told: Callable[[Leaf, str], str],
) -> tuple[list[str], list[list[int]]]:
    """The event that defines a template: each leaf as the definition tells it, and what each base knows of them.

    A leaf is ``null`` where it is expected, the distance from the last time or number, or what ``told`` makes of it and
    its mark. Of each base, by leaves: the one of the base by which it need not be told, or -1. before: as ``written``.
    """
    texts = [""] * len(leaves)
    known = [[-1] * len(leaves) for _ in bases]
    state.enter(None)
    for place in template.order:
        leaf, own = leaves[place], template.leaves[place]
        for base, same in zip(bases, known, strict=True):
            there = base.places.get(own.path)
            if there is None or (base.leaves[there].mark == SAME and not before):
                continue
            if state.expect(base.leaves[there], there, base.number) == leaf:
                same[place] = there
        texts[place] = _as_defined(state, own.mark, template.marks[place], leaf, own.path, told)
        if place == template.key:
            state.enter(leaf)
        state.put(own.path, leaf, own.mark == LATER)
    state.close(template.number, leaves)
    return texts, known


def _as_defined(state: State, char: str, mark: str, leaf: Leaf, path: str, told: Callable[[Leaf, str], str]) -> str:
    """A leaf as a definition tells it."""
    if char == LATER:
        later = state.later(path)
        if later is not None and (far := state.distance(later, leaf)) is not None:
            return f"+{far}" if far >= 0 else f'"{far}"'
    elif mark and leaf != b"null" and state.expect(expected(mark, path, None), 0, 0) == leaf:
        return "null"
    return told(leaf, mark)
