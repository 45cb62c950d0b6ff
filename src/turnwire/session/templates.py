"""Templates: which of them the events of a block go by, and what was seen so far that lets a reader expect the leaves
of the next event, so that a row says only what differs.

Times are whole numbers, so that a later one can be told by its distance: only where that gives back the very text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache, cached_property
from itertools import chain, islice
from typing import NamedTuple

from turnwire.contract import cached_if_short
from turnwire.session.notation import ODD, cut, one_line
from turnwire.session.shapes import Event, Leaf, Shape, is_digested, leaf_of, parsed, quoted

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


@cached_if_short(1024)
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


class LeafExpectation:
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
    def leaves(self) -> list[LeafExpectation]:
        """The expectation of each leaf."""
        return list(map(LeafExpectation, self.marks, self.shape.paths, self.first))

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

    def expect(self, expected: LeafExpectation, number: int = 0, template: Template | None = None) -> Leaf | None:
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


def field_of(leaf: Leaf, own: LeafExpectation) -> str:
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


# --- the templates of a block -----------------------------------------------------------------------------------------
#
# A guess at cost decides: of each leaf the best mark, and about how many tokens rows have with it. Costs are hundredths
# of a token in whole numbers: their sums are the same with every Python. The caller counts what a plan saves.

MOST_KINDS = 12  # values of a leaf that may tell kinds of event apart
MOST_MISSED = 20  # if more than one event in 20 fits no template, all are planned again
MOST_CANDIDATES = 12  # leaves that are tried to tell kinds of event apart: those that cost most
MOST_SOURCES, MOST_HOLDERS = 6, 24  # paths with the same value that a leaf may be told by; those that are looked at
TEMPLATE, MEMBER = 1200, 400  # the cost of a definition, beside its members; of a member there, beside its value
BAR, FIELD, DISTANCE, DIGIT = 50, 50, 150, 33
"""The cost of a field in a row though it is empty; of one that holds a value, beside it; of a distance, beside its
digits; of one of these."""
_DIGITS = re.compile("[0-9]").findall
_PENALTY = {SAME: 0, MORE: 30, SEEN: 20, TURN: 40}


def again(plan: Sequence[Template], events: Sequence[Event]) -> list[Template] | None:
    """The templates of earlier events for other ones, or None if too few of these fit."""
    known: dict[Shape, list[Template]] = {}
    for template in dict.fromkeys(plan):
        known.setdefault(template.shape, []).append(template)
    missed = 0
    found: list[Template] = []
    for event in events:
        one = next((each for each in known.get(event.shape, ()) if each.fits(event.leaves)), None)
        missed += one is None
        found.append(one or Template(event.shape, marks_alone(event), event.leaves))
    return None if missed * MOST_MISSED > len(events) else found


class Planner:
    """Plans one block. keys: paths that name the conversation. allowed: the marks that may be used."""

    def __init__(self, events: Sequence[Event], keys: tuple[str, ...], allowed: frozenset[str]) -> None:
        self.events = events
        self._allowed = allowed
        self._cells = look(events, keys)
        self._scores = cache(self._score)

    def plan(self, shape: Shape | None = None) -> list[Template]:
        """The template of each event, or of each that has a shape."""
        groups = self._grouped(range(len(self.events)), lambda event: event.shape)
        wanted = [members for members in groups if shape in (None, self.events[members[0]].shape)]
        found: dict[int, Template] = {}
        for members, marks in chain.from_iterable(map(self._clusters, wanted)):
            first = self.events[members[0]]
            found |= dict.fromkeys(members, Template(first.shape, marks, first.leaves))
        return [found[number] for number in sorted(found)]

    def _grouped(self, members: Iterable[int], key: Callable[[Event], Hashable]) -> list[tuple[int, ...]]:
        """Events (by number) with the same key, in the order of the first of each."""
        found: dict[Hashable, list[int]] = {}
        for number in members:
            found.setdefault(key(self.events[number]), []).append(number)
        return list(map(tuple, found.values()))

    def _clusters(self, members: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], list[str]]]:
        """Events (by number) that go by one template each, and its marks."""
        costs, marks, least = self._scores(members)
        best = [members]
        if len(members) > 2:
            dearest = sorted([place for place, mark in enumerate(marks) if mark], key=lambda place: -costs[place])
            for place in dearest[:MOST_CANDIDATES]:
                parts = self._grouped(members, lambda event, place=place: event.leaves[place])  # type: ignore[misc]
                few = 1 < len(parts) <= min(MOST_KINDS, int(len(members) * 0.6))
                if few and (total := self._apart(parts, least)) < least:
                    best, least = parts, total
        if len(best) == 1:
            yield members, marks
            return
        for part in best:
            yield from self._clusters(part)

    def _apart(self, parts: list[tuple[int, ...]], most: int) -> int:
        """The cost of parts with a template each, of which only what is not in that of the first counts: the rest is an
        alias. Any number from ``most`` on where that is not less."""
        _, marks, total = self._scores(parts[0])
        first, first_leaves = marks, self.events[parts[0][0]].leaves
        for part in parts[1:]:
            if total >= most:
                break
            costs, marks, rows = self._scores(part)
            total += TEMPLATE + rows
            for place, leaf in enumerate(self.events[part[0]].leaves):
                mark = marks[place]
                if mark != first[place] or (costs[place] > 0 if mark else leaf != first_leaves[place]):
                    total += MEMBER + weigh(leaf)
        return total

    def _score(self, members: tuple[int, ...]) -> tuple[list[int], list[str], int]:
        """The cost of each leaf in the rows of a template for these events, its best mark, and the cost of all rows."""
        rows = [self._cells[number] for number in members]
        tables = enumerate(self.events[members[0]].shape.tables)
        found = [best_mark([row[at] for row in rows], is_table, self._allowed) for at, is_table in tables]
        costs, marks = [cost for cost, _ in found], [mark for _, mark in found]
        return costs, marks, sum([max(cost, 0) for cost in costs]) + BAR * (len(members) - 1) * sum(map(bool, marks))


class LeafCost(NamedTuple):
    """A leaf of an event: what it costs in a row, and what was seen before it.

    fresh: nothing at its path in its conversation. more: one less there in its conversation. sources: the paths at
    which it was seen last, "" for its own.
    """

    leaf: Leaf
    cost: int
    conversation: Leaf | None
    fresh: bool
    more: bool
    sources: list[str]


def weigh(leaf: Leaf) -> int:
    """About the cost of a leaf: a token a word, or three digits."""
    size = len(leaf)
    if type(leaf) is str:
        return 100 + size * (62 if len(_DIGITS(leaf[:64])) > 0.3 * min(size, 64) else 22)
    return 100 + size * 33


def _can_name(path: str) -> bool:
    """A mark can name the path."""
    return not is_digested(path) and cut("x" + SEEN + path) == ("x", SEEN + path)


def look(events: Iterable[Event], keys: tuple[str, ...]) -> list[dict[int, LeafCost]]:
    """The leaves of a block's events by number, each with what came before. keys: paths that name the conversation."""
    state = State(keys)
    holders: dict[Leaf, dict[str, None]] = {}  # the paths at which each value is the last one

    def looked(event: Event) -> dict[int, LeafCost]:
        key, _ = event.shape.order(keys)
        conversation = None if key is None else event.leaves[key]
        cells: dict[int, LeafCost] = {}

        def see(place: int) -> Leaf:
            path, leaf = event.shape.paths[place], event.leaves[place]
            here, everywhere = state.here, state.all
            last, held = everywhere.get(path), holders.setdefault(leaf, {})
            own = here.get(path)
            sources = [""] if (last if own is None else own) == leaf else []
            for other in islice(reversed(held), MOST_HOLDERS) if held else ():  # "" as a path is none that a mark names
                if other not in ("", path) and here.get(other, everywhere.get(other)) == leaf:
                    sources.append(other)
            more = own is not None and one_more(own) == leaf
            cells[place] = LeafCost(leaf, weigh(leaf) + FIELD, conversation, own is None, more, sources[:MOST_SOURCES])
            if last is not None:
                holders[last].pop(path, None)
            held[path] = None
            return leaf

        state.take(event.shape, see)
        return cells

    return list(map(looked, events))


def best_mark(cells: Sequence[LeafCost], is_table: bool, allowed: frozenset[str]) -> tuple[int, str]:
    """The cost of one leaf in the rows of a template for some events, with the best of the marks that are allowed."""
    first = cells[0]
    if all(cell.leaf == first.leaf for cell in cells):
        return 0, mark_alone(first.leaf, is_table)
    missed = _missed(cells)
    if is_table:
        return missed[SAME], SAME
    if first.leaf == b"null":
        allowed &= {SAME, MORE}
    marks = [mark for mark in missed if mark[0] in allowed]
    best = min(marks, key=lambda mark: missed[mark] + _PENALTY.get(mark, 100))
    return missed[best], best


def mark_alone(leaf: Leaf, is_table: bool) -> str:
    """The mark of a leaf that is told as it is: a definition can tell a table, and another array that begins with an
    object, only as an open one."""
    return SAME if is_table or (type(leaf) is bytes and leaf[:2] == b"[{") else FIXED


def marks_alone(event: Event) -> list[str]:
    """The marks of an event that is written without a template."""
    return list(map(mark_alone, event.leaves, event.shape.tables))


def _missed(cells: Sequence[LeafCost]) -> dict[str, int]:
    """The cost of a leaf with each mark that it may have: in rows in which it is not as the mark says."""
    first, *others = cells
    rows = {first.conversation: first.leaf}
    missed = dict.fromkeys((SAME, MORE, SEEN, TURN, LATER), 0)
    last, before = first.leaf, measured(first.leaf)
    for leaf, cost, conversation, is_fresh, is_more, _ in others:
        row = rows.get(conversation, last)
        missed[SAME] += cost * (row != leaf)
        missed[MORE] += cost * (one_more(row) != leaf)
        missed[TURN] += cost * (leaf != first.leaf if is_fresh else not is_more)
        rows[conversation] = last = leaf
        now = before and measured(leaf)
        if before and now and now[0] == before[0] and (now[0] is not None or now[1] >= before[1]):
            missed[LATER] += DISTANCE + DIGIT * len(str(now[1] - before[1]))
            before = now
        else:
            missed[LATER] += cost
    sources = Counter(chain.from_iterable([cell.sources for cell in others]))
    del sources[""]
    often = [path for path, times in sources.most_common(3) if times * 4 >= len(others) and _can_name(path)]
    for path in ("", *often):
        elsewhere = sum([cell.cost for cell in others if path not in cell.sources])
        missed[SEEN + path] = elsewhere - (weigh(first.leaf) if path in first.sources else 0)
    return missed
