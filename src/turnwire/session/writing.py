"""Events as sessions: a whole block at once, compared with plain JSON lines, or event by event."""

from __future__ import annotations

import os
import pickle
import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, product
from operator import ne
from string import ascii_letters
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from turnwire.errors import EncodeError, expect_number
from turnwire.session.aliases import Shortener, bare
from turnwire.session.framing import HEADER, Chain, Settings, explanation, folded
from turnwire.session.notation import one_line, told, written
from turnwire.session.planning import Plan, Planner, mark_alone
from turnwire.session.reading import Reader
from turnwire.session.shapes import Event, Leaf, Shape, Shapes
from turnwire.session.templates import LATER, MORE, SAME, SEEN, TURN, State, expected, fits, row_of

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"
EVERY = 200
SAMPLE_EVENTS = 50  # events that decide by which paths conversations are told apart
MOST_KEYS = 3
ALIKE = 1.03
"""So much longer may a session be, before its aliases, by another path that tells conversations apart as well."""
GREATEST_SHARE = 0.97  # conversations are told apart if the session then has less than this share of its tokens
IN_MEMORY = 1 << 16  # bytes of a session that wait in memory, and of a piece; more waits in a file
WINDOW = 48  # events that a writer plans a template by
MOST_TEMPLATES = 16  # templates of one structure that a writer tries
_ALWAYS = frozenset(["#", "$"])
"""Parts that a writer may use whatever its options are; it has neither aliases nor UUIDs without hyphens."""
_NAMED = re.compile(r"(?i)(?:^|[._-])(?:id|.*(?:_id|Id|conv|session|thread|correlation|trace|ctx).*)$").search
_PATH = re.compile(r"\S+").fullmatch
_PIECES = re.compile(r" ?[^\W\d_]{1,7}|\d{1,3}|[^\w\s]{1,3}\n?|\s+|_").findall


class Guess:
    """About how many tokens texts are, by their letters: a counter without the extra ``tokens``."""

    def count(self, text: str) -> int:
        """The tokens of one text."""
        return len(_PIECES(text))

    def count_many(self, texts: Sequence[str]) -> list[int]:
        """The tokens of each text."""
        return list(map(self.count, texts))


GUESS = Guess()
Meter: TypeAlias = "Tokenizer | Guess"


def _meter(tokenizer: str | os.PathLike[str] | Tokenizer | None) -> Meter:
    """A counter of tokens. Raises what ``turnwire.tokens.load`` raises."""
    if tokenizer is None:
        return GUESS
    from turnwire.tokens.loading import load

    return load(tokenizer)


class Options(NamedTuple):
    """Options of a session. every: events from one anchor to the next. prompt: whether it begins with a text that
    explains it. plain: nothing that models find hard: no values left out, "one more", distances of times, aliases, nor
    UUIDs without hyphens. checks: two marks at the end of each record."""

    every: int = EVERY
    prompt: bool = True
    plain: bool = False
    checks: bool = True

    def marks(self) -> frozenset[str]:
        """The marks that templates may have."""
        return frozenset([SAME] if self.plain else [SAME, SEEN, MORE, TURN, LATER])


def _checked(options: Mapping[str, Any]) -> Options:
    """Options by their names. Raises TypeError for an unknown one, ValueError for less than one event to an anchor."""
    chosen = Options(**options)
    expect_number(chosen.every, "every", 1)
    return chosen


def paths_of(key: str | Sequence[str]) -> tuple[str, ...]:
    """The paths that name the conversation, as ``encode`` takes them. Raises ValueError for one with white space."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not all(map(_PATH, keys)):
        raise ValueError("a path has no white space in it")
    return keys


class Composer(State):
    """Makes the bodies of records, definitions, rows and JSON, by the state that a reader has, too.

    Attributes:
        names: those that templates may have, one after the other: all of one letter, then all of two. used: what the
        definitions need explained, as ``explanation`` takes it.
    """

    def __init__(self, keys: tuple[str, ...], plain: bool = False) -> None:
        super().__init__(keys, plain)
        self.names = ("".join(letters) for size in count(1) for letters in product(ascii_letters, repeat=size))
        self.used: set[str] = set()

    def bare(self, event: Event) -> str:
        """An event as its own JSON text, behind a mark where it is not an object."""
        self.see(event.shape, event.leaves)
        return "!" * (event.line[0] == '"') + one_line(event.line)

    def row(self, name: str, event: Event) -> str:
        """An event by a template that was defined."""
        fields = row_of(self, self.templates[name], event.leaves)
        return f"{name} {fields}" if fields else name

    def defined(self, name: str, event: Event, marks: Sequence[str]) -> str:
        """An event that defines a template; without a name, one that repeats what was seen, or its own JSON text,
        whichever is shorter. Members are ``null`` where they are expected, or a distance from what was seen last."""
        line, shape, leaves = event
        texts = [""] * len(leaves)

        def tell(place: int) -> Leaf:
            leaf, own = leaves[place], expected(marks[place], shape.paths[place], None)
            texts[place] = told(leaf, own.mark)
            if own.mark == LATER:
                later = self.later(own.path)
                far = None if later is None else self.distance(later, leaf)
                if far is not None:
                    texts[place] = f"+{far}" if far >= 0 else f'"{far}"'
            elif own.mark and leaf != b"null" and self.expect(own) == leaf:
                texts[place] = "null"
            return leaf

        self.define(name, shape, marks, tell)
        used: set[str] = set()
        whole = f"{name}={written(shape.structure, zip(marks, texts, strict=True), used)}"
        if not name and len(whole) >= len(line):
            return one_line(line)
        self.used |= used
        return whole


def read_events(given: Iterable[Any]) -> Iterator[Event]:
    """Events, looked at one by one. Raises EncodeError for what cannot be written; its path begins with the event's
    number."""
    shapes = Shapes()
    for number, each in enumerate(given):
        try:
            event = shapes.event(each)
        except EncodeError as error:
            error.path = f"{number}{error.path or ''}"
            raise
        yield event


class Block(NamedTuple):
    """The records up to the next anchor, before their aliases: their bodies, and what these need explained."""

    bodies: list[str]
    used: set[str]


def drafted(events: Iterable[Event], keys: tuple[str, ...], options: Options) -> Iterator[Block]:
    """The events as bodies of records, a block at a time, without aliases. keys: the paths that tell conversations
    apart."""
    plan: Plan | None = None
    events = iter(events)
    while block := list(islice(events, options.every)):
        objects = [event for event in block if event.leaves]
        plan = (plan and plan.again(objects)) or Planner(objects, keys, options.marks()).plan()
        composer = Composer(keys, options.plain)
        times, kinds = Counter(plan.kinds), iter(plan.kinds)
        called: dict[int, str] = {}
        bodies: list[str] = []
        for event in block:
            if not event.leaves:
                bodies.append(composer.bare(event))
            elif (kind := next(kinds)) in called:
                bodies.append(composer.row(called[kind], event))
            else:
                name = ""
                if times[kind] > 1:
                    name = called[kind] = next(composer.names)
                bodies.append(composer.defined(name, event, plan.marks[kind]))
        yield Block(bodies, composer.used)


def finished(blocks: Iterable[Block], keys: tuple[str, ...], options: Options, meter: Meter) -> Iterator[str]:
    """The text of a session with aliases, a header, anchors, an end and checks, a block at a time. The header explains
    what is in all blocks, so that these wait in a file."""
    shortener = Shortener(meter)
    used: set[str] = set()
    settings: list[Settings] = []
    letter = ""
    done = 0
    with SpooledTemporaryFile(IN_MEMORY) as waiting:
        for bodies, explained in blocks:
            aliases = ""
            if not options.plain:
                uuids, bodies = bare(bodies)
                named, bodies = shortener.shortened(bodies)
                aliases = named + uuids
                letter = letter or named
                used |= {"&"[: len(named)], uuids}
            used |= explained
            settings.append(Settings(keys, aliases))
            pickle.dump((done, list(map(folded, bodies))), waiting)
            done += len(bodies)
        if not settings:
            settings.append(Settings(keys))
            pickle.dump((done, []), waiting)
        waiting.seek(0)
        seal = Chain(options.checks).sealed
        for number, each in enumerate(settings, 1):
            before, records = pickle.load(waiting)
            if before:
                first = each.line(f"^{before}")
            else:
                first = each.line(HEADER, explanation(used, options.checks, letter) if options.prompt else "")
            yield "".join(map(seal, [first, *records, *([f".{done}"] if number == len(settings) else ())]))


def encode(
    events: Iterable[Any],
    tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
    key: str | Sequence[str] | None = None,
    **options: Any,
) -> str:
    """Events as one text that a model reads with far fewer tokens than JSON lines; ``decode`` gives them back exactly.

    events: messages of any wire, dicts, or text. An object in text keeps its numbers as they are written; other text is
    an event, too. tokenizer: whose tokens are saved, as ``turnwire.tokens.load`` takes it; None: guess by characters,
    without the extra ``tokens``. key: the path (or paths) of the member that names the conversation, such as
    "header.session_id"; None: what saves most; (): none. options: those of :class:`Options`.

    Where nothing is saved, the text that explains the session counted, the result is JSON lines. Raises EncodeError for
    events that JSON cannot carry (``path`` begins with the event's number), MissingDependency, ValueError.
    """
    return "".join(packed(events, tokenizer, key, **options))


def packed(
    events: Iterable[Any],
    tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
    key: str | Sequence[str] | None = None,
    **options: Any,
) -> Iterator[str]:
    """The text of ``encode`` in pieces, in memory that does not grow with it. All events are read before the first."""
    chosen = _checked(options)
    meter = _meter(tokenizer)
    plain: list[int] = []
    given = _counted(read_events(events), meter, plain)
    keys = () if key is None else paths_of(key)
    if key is None:
        sample = list(islice(given, SAMPLE_EVENTS))
        keys, given = _best_keys(sample, chosen, meter), chain(sample, given)
    size = 0
    with SpooledTemporaryFile(IN_MEMORY, "w+", encoding="utf-8", errors="surrogatepass", newline="") as waiting:
        for text in finished(drafted(given, keys, chosen), keys, chosen, meter):
            size += meter.count(text)
            waiting.write(text)
        waiting.seek(0)
        pieces = iter(lambda: waiting.read(IN_MEMORY), "")
        if size < sum(plain):
            yield from pieces
            return
        reader, feed = Reader(chosen.checks, False), ""
        for lines in chain(map(reader.feed, pieces), (close() for close in [reader.close])):
            if lines:
                yield feed + "\n".join(lines)
                feed = "\n"


def _counted(events: Iterator[Event], meter: Meter, tokens: list[int]) -> Iterator[Event]:
    """The events. The tokens of their JSON lines, which a session falls back to, are added piece by piece."""
    while piece := list(islice(events, EVERY)):
        tokens.append(meter.count("\n".join([event.line for event in piece])))
        yield from piece


def _best_keys(sample: list[Event], options: Options, meter: Meter) -> tuple[str, ...]:
    """The path that tells conversations apart, where one saves tokens in the first events: of those that do about as
    well, the one with which the finished session is shortest."""
    if not (paths := candidates(sample)):
        return ()
    tried = {keys: list(drafted(sample, keys, options)) for keys in [(), *((path,) for path in paths)]}
    sizes = {keys: _size(blocks, keys, meter) for keys, blocks in tried.items()}
    undivided = sizes.pop(())
    if (least := min(sizes.values())) >= undivided * GREATEST_SHARE:
        return ()
    alike = [keys for keys, size in sizes.items() if size <= least * ALIKE]
    return min(alike, key=lambda keys: meter.count("".join(finished(tried[keys], keys, options, meter))))


def _size(blocks: list[Block], keys: tuple[str, ...], meter: Meter) -> int:
    """About the tokens of a session without aliases, a token for each check."""
    used = set[str]().union(*(block.used for block in blocks))
    lines = [Settings(keys).line(HEADER, explanation(used)), *chain.from_iterable(block.bodies for block in blocks)]
    return meter.count("\n".join(lines)) + len(lines)


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
    """Writes a session event by event: ``text = writer.add(event)`` is what comes next, ``close()`` ends it.

    Until a session has gained more than its explanation costs, events are JSON lines; then its header comes. tokenizer,
    key, options: as ``encode`` takes them (key None: no conversations are told apart; there are no aliases). Every
    ``every`` events, and whenever ``anchor()`` is called, an anchor makes what follows readable by itself: call it when
    the context of the model was compacted. Not for several threads at once.
    """

    def __init__(
        self,
        tokenizer: str | os.PathLike[str] | Tokenizer | None = DEFAULT,
        key: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        self._options = _checked(options)
        self._count = _meter(tokenizer).count
        self._settings = Settings(paths_of(key or ()))
        self._marks = self._options.marks()
        explained = explanation(self._marks | _ALWAYS, self._options.checks) if self._options.prompt else ""
        self._header = self._settings.line(HEADER, explained)
        self._shapes = Shapes()
        self._chain = Chain(self._options.checks)
        self._begun = False
        self._gain = -self._count(self._header)
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
        """The text of the next event, with its line feed. Raises EncodeError, and writes nothing then."""
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
        self._gain += self._count(line) - self._count(body) - 1
        if self._gain <= 0:
            return line
        self._begin()
        self._begun = True
        return line + self._chain.sealed(self._header)

    def anchor(self) -> str:
        """The text that makes all that follows readable without what came before: "" where there is no header yet."""
        if not self._begun:
            return ""
        self._begin()
        return self._chain.sealed(self._settings.line(f"^{self.events}"))

    def close(self) -> str:
        """The end of the session: "" where all events are JSON lines."""
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
            template = composer.templates[name]
            if fits(template.marks, event.leaves, template.first):
                return composer.row(name, event)
        if called is None or self._planned * 4 > self._seen + 16 or len(called) >= MOST_TEMPLATES:
            self._called[event.shape] = []  # nothing came back yet, or hardly anything does: templates would not pay
            return composer.defined("", event, list(map(mark_alone, event.leaves, event.shape.tables)))
        self._planned += 1
        called.append(next(composer.names))
        plan = Planner(self._window, self._settings.keys, self._marks).plan(event.shape)
        return composer.defined(called[-1], event, plan.marks[plan.kinds[-1]])
