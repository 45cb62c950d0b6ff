"""Templates, and what was seen so far that lets a reader expect the leaves of the next event: rows by these.

Times are whole numbers, so that a later one can be told by its distance: only where that gives back the very text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cached_property, lru_cache

from turnwire.session.notation import ODD, one_line
from turnwire.session.shapes import Leaf, Shape, leaf_of, parsed, quoted

FIXED, SAME, MORE, SEEN, TURN, LATER = "", "?", "+", "=", "^", "~"
"""The expectations of a member. FIXED: what the template says. SAME, MORE: as in the last event of the template, or one
more. SEEN: as was seen last at the same path or at another. TURN: one more than at the same path in the conversation.
LATER: a time, told by its distance to the last one."""
FARTHEST = 10**18 - 1  # the longest distance that is told as one
_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)([T ])((?:[01]\d|2[0-3]):\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d|)", re.ASCII
).fullmatch
_SECOND = timedelta(seconds=1)
_NUMBER = re.compile(rb"0|[1-9][0-9]{0,17}").fullmatch
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]*)", re.ASCII).fullmatch
_FAR = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch
_TAIL = re.compile(r"(?<![0-9])[0-9]{1,18}\Z", re.ASCII).search
_ESCAPED = re.compile(r"(?<!\\)(\\*)(\||\Z)")
_BAR = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_INNER_BAR = re.compile(r"(\\+)\|")


Form = tuple[str, int, str]
"""The form in which a time is written: the letter between day and hour, digits of a fraction, the zone."""


@lru_cache(1024)
def time_of(text: str) -> tuple[Form, int] | None:
    """The form of a time, and the time in units of its last digit; None for any other text."""
    found = _TIME(text)
    if found is None:
        return None
    day, between, clock, fraction, zone = found.groups(default="")
    try:
        seconds = (datetime.fromisoformat(f"{day}T{clock}") - datetime.min) // _SECOND
    except ValueError:
        return None
    return (between, len(fraction), zone), seconds * 10 ** len(fraction) + int(fraction or 0)


def time_text(form: Form, units: int) -> str | None:
    """The text of a time; None before year 1 or after 9999."""
    between, digits, zone = form
    seconds, fraction = divmod(units, 10**digits)
    try:
        moment: datetime = datetime.min + seconds * _SECOND
    except OverflowError:
        return None
    return moment.isoformat(between) + (f".{fraction:0{digits}}" if digits else "") + zone


def measured(leaf: Leaf | None) -> tuple[Form | None, int] | None:
    """A time, or a whole number, whose form is None; None for any other leaf."""
    if type(leaf) is str:
        return time_of(leaf)
    return (None, int(leaf)) if type(leaf) is bytes and _NUMBER(leaf) else None


def one_more(value: Leaf | None) -> Leaf | None:
    """A number, or the number at the end of a text, and one; None if there is none."""
    if type(value) is bytes:
        return b"%d" % (int(value) + 1) if _NUMBER(value) else None
    if type(value) is not str or not value[-1:].isdigit() or (found := _TAIL(value)) is None:
        return None
    digits = found[0]
    return value[: found.start()] + str(int(digits) + 1).zfill(len(digits))


class Expected:
    """The expectation of one leaf of a template.

    mark: one of the above. source: the path that SEEN looks at. path: of the leaf. first: the value in the event that
    defined the template, None if it is not known. text: whether that is a string or null. form: of a time, None
    if numbers are told by distance.
    """

    def __init__(self, mark: str, path: str, first: Leaf | None) -> None:
        self.mark, self.source, self.path, self.first = mark[:1], mark[1:] or path, path, first
        self.text = type(first) is str or first == b"null"
        time = time_of(first) if mark == LATER and type(first) is str else None
        self.form = time[0] if time else None


class Template:
    """A shape and what is expected of its leaves.

    marks: of each leaf, as definitions write them. first: the leaves of the event that defines it; last: those of its
    last event, in each conversation and (None) in all.
    """

    def __init__(self, shape: Shape, marks: Sequence[str], first: Sequence[Leaf]) -> None:
        self.shape, self.marks, self.first = shape, marks, first
        self.last: dict[Leaf | None, Sequence[Leaf]] = {}

    @cached_property
    def leaves(self) -> list[Expected]:
        """The expectation of each leaf."""
        return list(map(Expected, self.marks, self.shape.paths, self.first))

    @cached_property
    def fields(self) -> dict[int, int]:
        """The numbers of the leaves that rows have fields for, and of these."""
        return {leaf: field for field, leaf in enumerate([at for at, mark in enumerate(self.marks) if mark])}

    def fits(self, leaves: Sequence[Leaf]) -> bool:
        """True for the leaves of an event that may be a row: those without marks are as in the first event."""
        return all(mark or one == two for mark, one, two in zip(self.marks, leaves, self.first, strict=True))


class State:
    """Everything that was seen since the last anchor: in all conversations, and in the present one.

    keys: the paths that name the conversation.
    """

    def __init__(self, keys: tuple[str, ...] = ()) -> None:
        self.keys = keys
        self.templates: dict[str, Template] = {}
        self.all: dict[str, Leaf] = {}  # path -> value; here: in the present conversation
        self.here = self.all
        self._conversation: Leaf | None = None
        self._conversations: dict[Leaf, dict[str, Leaf]] = {}
        self._times: dict[Form, int] = {}
        self._form: Form | None = None

    def take(self, shape: Shape, leaf_at: Callable[[int], Leaf], marks: Sequence[str] = ()) -> list[Leaf]:
        """Takes the leaves of an event in the order in which they are written: ``leaf_at`` gives each by its number.

        marks: those of its template, if it goes by one.
        """
        key, order = shape.order(self.keys)
        has_times = LATER in marks
        leaves: list[Leaf] = [b""] * len(order)
        self.enter(None)
        for place in order:
            leaf = leaves[place] = leaf_at(place)
            if place == key:
                self.enter(leaf)
            path = shape.paths[place]
            self.all[path] = self.here[path] = leaf
            if has_times and marks[place] == LATER and type(leaf) is str and (time := time_of(leaf)) is not None:
                self._form = time[0]
                self._times[time[0]] = time[1]
        return leaves

    def define(self, name: str, shape: Shape, marks: Sequence[str], leaf_at: Callable[[int], Leaf]) -> list[Leaf]:
        """The leaves of an event that defines a template, which is known from now on where it has a name."""
        leaves = self.take(shape, leaf_at, marks)
        if name:
            self.templates[name] = template = Template(shape, marks, leaves)
            self.close(template, leaves)
        return leaves

    def enter(self, conversation: Leaf | None) -> None:
        """Continues in a conversation, or in none."""
        self._conversation = conversation
        self.here = self.all if conversation is None else self._conversations.setdefault(conversation, {})

    def close(self, template: Template, leaves: Sequence[Leaf]) -> None:
        """The present event, which went by this template, is the last one of it."""
        template.last[None] = template.last[self._conversation] = leaves

    def expect(self, expected: Expected, number: int = 0, template: Template | None = None) -> Leaf | None:
        """The value that an empty field stands for; None if nothing was seen that says it. number: of the leaf.
        template: whose last event counts."""
        mark = expected.mark
        if mark == FIXED:
            return expected.first
        if mark in (SAME, MORE):
            if template is None:
                return None
            row = template.last.get(self._conversation) or template.last[None]
            return row[number] if mark == SAME else one_more(row[number])
        if mark == SEEN:
            found = self.here.get(expected.source)
            return self.all.get(expected.source) if found is None else found
        if mark == TURN:
            found = self.here.get(expected.path)
            return expected.first if found is None else one_more(found)
        return self.moved(expected.form, expected.path, 0)

    def _last(self, form: Form | None, path: str) -> int | None:
        """The origin of a distance: the last time of a form, or the whole number that was seen last at a path."""
        if form is not None:
            return self._times.get(form)
        last = self.all.get(path)
        return int(last) if type(last) is bytes and _NUMBER(last) else None

    def form_at(self, path: str) -> Form | None:
        """The form of what a distance in a definition counts from."""
        return None if self._last(None, path) is not None else self._form

    def moved(self, form: Form | None, path: str, distance: int) -> Leaf | None:
        """A time or number that far after the last one; None if there is none."""
        last = self._last(form, path)
        if last is None:
            return None
        return b"%d" % (last + distance) if form is None else time_text(form, last + distance)

    def distance(self, form: Form | None, path: str, value: Leaf) -> int | None:
        """The distance of a value from the last one, or None if that does not say it."""
        last, found = self._last(form, path), measured(value)
        if last is None or found is None or found[0] != form:
            return None
        return far if -FARTHEST * (form is not None) <= (far := found[1] - last) <= FARTHEST else None


def field_of(leaf: Leaf, own: Expected) -> str:
    """A leaf as a field that no reader takes for a distance: text bare where it can be, all else JSON, after ``=``
    where a text is expected."""
    begins = own.text
    if type(leaf) is bytes:
        text = leaf.decode()
        begins = begins or (own.mark == LATER and _WHOLE(text) is not None)
    else:
        assert type(leaf) is str
        bare = own.text and leaf and leaf[0] not in "=&" and not ODD.search(leaf)
        if bare and not (own.mark == LATER and _WHOLE(leaf)):
            return _ESCAPED.sub(lambda found: found[1] * 2 + "\\|" * bool(found[2]), leaf)
        text = quoted(leaf)
    return "=" * begins + one_line(text.replace("|", "\\u007c"))


def leaves_of(state: State, template: Template, fields: Sequence[str]) -> list[Leaf]:
    """The leaves of the event in a row. Raises ValueError for a field that no writer makes, and for an empty one where
    nothing was seen that it stands for."""

    def read(place: int) -> Leaf:
        own, at = template.leaves[place], template.fields.get(place, len(fields))
        given = fields[at] if at < len(fields) else ""
        if not given:
            return what_is(state.expect(own, place, template), "a field is empty")
        if given[0] == "&":
            raise ValueError("a field must not begin with &")
        if own.mark == LATER and _FAR(given):
            if given[0] == "-" and own.form is None:
                raise ValueError("the distance of a number must not be negative")
            return what_is(state.moved(own.form, own.path, int(given)), "there is no time to count from")
        is_equal = given[0] == "="
        if own.text and not is_equal:
            return given
        return leaf_of(parsed(given[1:] if is_equal and (own.text or own.mark == LATER) else given))

    leaves = state.take(template.shape, read, template.marks)
    state.close(template, leaves)
    return leaves


def what_is(expected: Leaf | None, unless: str) -> Leaf:
    """The leaf that is expected. Raises ValueError if no earlier value says it."""
    if expected is None:
        raise ValueError(f"{unless}, and no earlier value can fill it")
    return expected


def split(fields: str) -> list[str]:
    """The fields of a row. Raises ValueError for an odd number of backslashes at the end."""
    if "\\" not in fields:
        return fields.split("|")
    *parts, rest = _BAR.split(fields + "|")
    if rest:
        raise ValueError("a row ends in a lone backslash")
    found = zip(parts[::2], parts[1::2], strict=True)
    return [_INNER_BAR.sub(lambda bar: bar[1][::2][1:] + "|", text) + slashes[::2] for text, slashes in found]
