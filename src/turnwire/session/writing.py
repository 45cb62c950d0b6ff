"""Events as sessions: a whole block at once, compared with plain JSON lines, or event by event."""

from __future__ import annotations

import os
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from itertools import chain, count, islice, product
from operator import ne
from string import ascii_letters
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import EncodeError, expect_number
from turnwire.session.aliases import Meter, Shortener, bare
from turnwire.session.framing import BARE, HEADER, Chain, Settings, explanation, folded
from turnwire.session.notation import one_line, told, written
from turnwire.session.shapes import Event, Leaf, Shape, Shapes
from turnwire.session.templates import (
    LATER,
    MORE,
    SAME,
    SEEN,
    TURN,
    LeafExpectation,
    Planner,
    State,
    Template,
    again,
    field_of,
    marks_alone,
)

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"
EVERY = 200
SAMPLE_EVENTS = 50  # events that decide by which path conversations are told apart
MOST_KEYS = 3
ALIKE = 1.03
"""So much longer may a session be, before its aliases, by another path that tells conversations apart as well."""
WINDOW = 48  # events that a writer plans a template by
MOST_TEMPLATES = 16  # templates of one structure that a writer tries
_NAMED = re.compile(r"(?i)(?:^|[._-])(?:id|.*(?:_id|Id|conv|session|thread|correlation|trace|ctx).*)$").search
_PATH = re.compile(r"\S+").fullmatch
_PIECES = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|[^\w\s]{1,3}\n?|\s+|_").findall


def guess(texts: Sequence[str]) -> list[int]:
    """About how many tokens each text is, by its letters: a meter without the extra ``tokens``."""
    return [len(_PIECES(text)) for text in texts]


def _meter(tokenizer: str | os.PathLike[str] | Tokenizer | None) -> Meter:
    """A meter of tokens. Raises what ``turnwire.tokens.load`` raises."""
    if tokenizer is None:
        return guess
    from turnwire.tokens.tokenizer import load

    return load(tokenizer).count_many


class Options(NamedTuple):
    """Options of a session. every: events between anchors. prompt: whether it begins with its explanation. plain: avoid
    forms that models find hard: omitted values, increments, time differences, aliases, UUIDs without hyphens.
    checks: whether each record ends with a check."""

    every: int = EVERY
    prompt: bool = True
    plain: bool = False
    checks: bool = True

    def marks(self) -> frozenset[str]:
        """The first letters of the marks that definitions may have."""
        return frozenset([SAME, "#", "$"] if self.plain else [SAME, SEEN, MORE, TURN, LATER, "#", "$"])


def paths_of(key: str | Sequence[str]) -> tuple[str, ...]:
    """The paths that name the conversation, as ``encode`` takes them. Raises ValueError for one with white space."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not all(map(_PATH, keys)):
        raise ValueError("a path must not contain white space")
    return keys


class Composer(State):
    """Makes the bodies of records, definitions, rows and JSON, by the state that a reader has, too.

    Attributes:
        plain: whether rows tell what is as in the last event, too. names: those that templates may have, one after the
        other: all of one letter, then all of two. used: what the definitions need explained, as ``explanation`` takes
        it.
    """

    def __init__(self, keys: tuple[str, ...], plain: bool = False) -> None:
        super().__init__(keys)
        self.plain = plain
        self.names = ("".join(letters) for size in count(1) for letters in product(ascii_letters, repeat=size))
        self.used: set[str] = set()

    def bare(self, event: Event) -> str:
        """An event as its own JSON text, after a mark if it is not an object."""
        self.take(event.shape, event.leaves.__getitem__)
        return "!" * (event.line[0] == '"') + one_line(event.line)

    def row(self, name: str, event: Event) -> str:
        """An event by a template that was defined: fields with bars between them, without empty ones at the end."""
        template = self.templates[name]
        fields = [""] * len(template.fields)

        def tell(place: int) -> Leaf:
            own, leaf = template.leaves[place], event.leaves[place]
            if own.mark and ((own.mark == SAME and self.plain) or self.expect(own, place, template) != leaf):
                far = self.distance(own.form, own.path, leaf) if own.mark == LATER else None
                fields[template.fields[place]] = field_of(leaf, own) if far is None else str(far)
            return leaf

        self.close(template, self.take(template.shape, tell, template.marks))
        while fields and not fields[-1]:
            del fields[-1]
        return f"{name} {'|'.join(fields)}" if fields else name

    def defined(self, name: str, event: Event, marks: Sequence[str]) -> str:
        """An event that defines a template; without a name, one that repeats what was seen, or its own JSON text,
        whichever is shorter. Members are ``null`` where they are expected, or a distance from what was seen last."""
        line, shape, leaves = event
        texts = [""] * len(leaves)

        def tell(place: int) -> Leaf:
            leaf, own = leaves[place], LeafExpectation(marks[place], shape.paths[place], None)
            texts[place] = told(leaf, own.mark)
            if own.mark == LATER:
                far = self.distance(self.form_at(own.path), own.path, leaf)
                if far is not None:
                    texts[place] = f"+{far}" if far >= 0 else f'"{far}"'
            elif own.mark and leaf != b"null" and self.expect(own) == leaf:
                texts[place] = "null"
            return leaf

        self.define(name, shape, marks, tell)
        used: set[str] = set()
        whole = f"{name}={written(shape.structure, list(zip(marks, texts, strict=True)), used)}"
        if not name and len(whole) >= len(line):
            return one_line(line)
        self.used |= used
        return whole


def read_events(given: Iterable[Any]) -> Iterator[Event]:
    """Events, one by one. Raises EncodeError for those that cannot be written; its path begins with the number."""
    shapes = Shapes()
    for number, each in enumerate(given):
        try:
            event = shapes.event(each)
        except EncodeError as error:
            error.path = f"{number}{error.path or ''}"
            raise
        yield event


def drafted(block: Iterable[Event], plan: Sequence[Template], composer: Composer) -> list[str]:
    """The events of a block as bodies of records without aliases."""
    times, templates = Counter(plan), iter(plan)
    called: dict[Template, str] = {}
    bodies: list[str] = []
    for event in block:
        if not event.leaves:
            bodies.append(composer.bare(event))
        elif (template := next(templates)) in called:
            bodies.append(composer.row(called[template], event))
        else:
            called[template] = next(composer.names) if times[template] > 1 else ""
            bodies.append(composer.defined(called[template], event, template.marks))
    return bodies


def encode(
    events: Iterable[Any],
    tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
    key: str | Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Writes events as one text with far fewer tokens than JSON lines; ``decode`` returns them exactly.

    events: messages of any wire, dicts, or text. An object in text keeps the spelling of its numbers; other text is
    an event, too. tokenizer: the tokenizer to optimise for, as for ``turnwire.tokens.load``; None estimates tokens from
    characters, without the extra ``tokens``. key: the path (or paths) of the member that identifies the conversation,
    such as "header.session_id"; None: the one that saves most; (): none. options: those of :class:`Options`.

    Events remain JSON lines if a session with its explanation would save nothing. Raises EncodeError for events that
    JSON cannot represent (``path`` begins with the event's number), MissingDependency, ValueError.
    """
    return "".join(packed(events, tokenizer, key, **options))


def packed(
    events: Iterable[Any],
    tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
    key: str | Sequence[str] | None = None,
    **options: Any,
) -> Iterator[str]:
    """The text of :func:`encode`, a block of events at a time. Raises the same, maybe when text was given already."""
    chosen = Options(**options)
    expect_number(chosen.every, "every", 1)
    meter = _meter(tokenizer)
    given = read_events(events)
    if key is not None:
        yield from composed(given, paths_of(key), chosen, Shortener(meter), meter)
        return
    sample = list(islice(given, SAMPLE_EVENTS))  # it decides by which path conversations are told apart
    tried = [(), *((path,) for path in candidates(sample))]
    sizes = meter(["".join(composed(sample, keys, chosen, None, None)) for keys in tried])
    alike = [keys for keys, size in zip(tried, sizes, strict=True) if size <= min(sizes) * ALIKE]
    if len(alike) > 1 and alike[0]:  # comparing aliases is dear, and without a path the header is the shortest
        sizes = meter(["".join(composed(sample, keys, chosen, Shortener(meter), None)) for keys in alike])
        alike = [alike[sizes.index(min(sizes))]]
    yield from composed(chain(sample, given), alike[0], chosen, Shortener(meter), meter)


def composed(
    events: Iterable[Event], keys: tuple[str, ...], options: Options, shortener: Shortener | None, meter: Meter | None
) -> Iterator[str]:
    """A session of events, a block at a time. keys: the paths that tell conversations apart. meter: counts whether a
    session saves tokens, without which events are JSON lines; None: they never are.

    The header explains what is used, where there is one block; before several, whatever may be.
    """
    checks = Chain(options.checks)
    plan: list[Template] | None = None
    begun, saved, done = False, 0, 0
    events = iter(events)
    block = list(islice(events, options.every))
    while block:
        following = list(islice(events, options.every))
        objects = [event for event in block if event.leaves]
        plan = (plan and again(plan, objects)) or Planner(objects, keys, options.marks()).plan()
        composer, aliases, uuids = Composer(keys, options.plain), "", ""
        bodies = drafted(block, plan, composer)
        used = composer.used | (options.marks() if following else set())
        if shortener is not None and not options.plain:
            uuids, bodies = bare(bodies)
            aliases, bodies = shortener.shortened(bodies)
            used |= {"&", BARE} if following else {"&"[: len(aliases)], uuids}
        settings = Settings(keys, aliases + uuids)
        if begun:
            first = settings.line(f"^{done}")
        else:
            first = settings.line(HEADER, explanation(used, options.checks, aliases) if options.prompt else "")
        done += len(block)
        records = [first, *map(folded, bodies), *([] if following else [f".{done}"])]
        sealed = copy(checks)
        text, lines = "".join(map(sealed.sealed, records)), ""
        if meter is not None and not begun:
            lines = "".join([event.line + "\n" for event in block])
            of_lines, of_text, of_header = meter([lines, text, first])
            saved += of_lines - of_text + of_header
            if of_lines > of_text or (following and saved > of_header):
                lines = ""
        if lines:
            checks.cover(lines)
        else:
            begun, checks = True, sealed
        yield (lines if following else lines[:-1]) or text
        block = following


def candidates(events: Sequence[Event]) -> list[str]:
    """Paths that may name conversations: their values come back, but not all at once."""
    values: dict[str, list[Leaf]] = {}
    for event in events:
        for path, leaf in zip(event.shape.paths, event.leaves, strict=True):
            values.setdefault(path, []).append(leaf)
    found = []
    for path, leaves in values.items():
        times = len(leaves)
        if times < 6 or not 1 < (many := len(set(leaves))) <= times // 2:
            continue
        turns = 1 + sum(map(ne, leaves, leaves[1:]))
        if turns > many and _PATH(path):
            found.append((not _NAMED(path), -times, path))
    return [path for _, _, path in sorted(found)[:MOST_KEYS]]


class Writer:
    """Writes a session event by event: ``writer.add(event)`` returns the next text, ``close()`` the end.

    Events are JSON lines until a session saves more than its explanation costs; then the header follows. tokenizer,
    key, options: as for ``encode`` (key None: conversations are not distinguished; there are no aliases). After
    ``every`` events, and whenever ``anchor()`` is called, an anchor makes the following text independent of earlier
    text: call it when the context of the model was compacted. Not thread-safe.
    """

    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
        key: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self._options = Options(**options)
        expect_number(self._options.every, "every", 1)
        self._meter = _meter(tokenizer)
        self._settings = Settings(paths_of(key or ()))
        self._marks = self._options.marks()
        explained = explanation(self._marks, self._options.checks) if self._options.prompt else ""
        self._header = self._settings.line(HEADER, explained)
        self._shapes = Shapes()
        self._chain = Chain(self._options.checks)
        self._begun = False
        self._gain = -sum(self._meter([self._header]))
        self._begin()
        self.events = 0
        self.closed = False

    def _begin(self) -> None:
        """Forgets what came before, so that what follows needs nothing of it."""
        self._composer = Composer(self._settings.keys, self._options.plain)
        self._called: dict[Shape, list[str]] = {}
        self._window: deque[Event] = deque(maxlen=WINDOW)
        self._planned = self._seen = self._since = 0

    def add(self, event: Any) -> str:
        """Returns the text of the next event, with its line feed. Raises EncodeError, and then writes nothing."""
        if self.closed:
            raise ValueError("the session is closed")
        made = self._shapes.event(event)
        anchor = self.anchor() if self._since >= self._options.every else ""
        body = folded(self._body(made))
        self.events += 1
        if self._begun:
            self._since += 1
            return anchor + self._chain.sealed(body)
        line = made.line + "\n"
        self._chain.cover(line)
        before, after = self._meter([line, body])
        self._gain += before - after - 1
        if self._gain <= 0:
            return line
        self._begin()
        self._begun = True
        return line + self._chain.sealed(self._header)

    def anchor(self) -> str:
        """Returns an anchor, after which the text does not depend on earlier text; "" if there is no header yet."""
        if not self._begun:
            return ""
        self._begin()
        return self._chain.sealed(self._settings.line(f"^{self.events}"))

    def close(self) -> str:
        """Returns the end of the session; "" if all events are JSON lines."""
        self.closed = True
        return self._chain.sealed(f".{self.events}") if self._begun else ""

    def _body(self, event: Event) -> str:
        """The body of the next event: a row where a template fits, else a new template, else what it is."""
        composer = self._composer
        if not event.leaves:
            return composer.bare(event)
        self._seen += 1
        self._window.append(event)
        called = self._called.get(event.shape)
        for name in called or ():
            if composer.templates[name].fits(event.leaves):
                return composer.row(name, event)
        if called is None or self._planned * 4 > self._seen + 16 or len(called) >= MOST_TEMPLATES:
            self._called[event.shape] = []  # nothing came back yet, or hardly anything does: templates would not pay
            return composer.defined("", event, marks_alone(event))
        self._planned += 1
        called.append(next(composer.names))
        plan = Planner(self._window, self._settings.keys, self._marks).plan(event.shape)
        return composer.defined(called[-1], event, plan[-1].marks)
