"""A whole block of events as a session: planned, composed, and compared with plain JSON lines."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from operator import ne
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import EncodeError, expect_number
from turnwire.session.aliases import Shortener, bare
from turnwire.session.checks import Chain
from turnwire.session.composing import Composer
from turnwire.session.fields import folded
from turnwire.session.header import Settings, explanation, header
from turnwire.session.metering import Meter, meter_of
from turnwire.session.planning import Plan, Planner
from turnwire.session.reading import lines_of
from turnwire.session.shapes import Event, Shapes
from turnwire.session.templates import LATER, MORE, SAME, SEEN, TURN
from turnwire.session.values import Leaf

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"
EVERY = 200
TRIED = 50
"""Events that decide by which paths conversations are told apart."""
MOST_KEYS = 3
PIECE = 1 << 20
"""Characters whose tokens are counted at once."""
ALIKE = 1.03
"""So much longer may a session be, before its aliases, by another path that tells conversations apart as well."""
WORTH = 0.97
"""So much of its tokens a session may keep at most for conversations to be told apart."""
_NAMED = re.compile(r"(?i)(?:^|[._-])(?:id|.*(?:_id|Id|conv|session|thread|correlation|trace|ctx).*)$").search


class Options(NamedTuple):
    """Options of a session. every: events from one anchor to the next. prompt: whether it begins with a text that
    explains it. counters: "one more" and times by distance. before: values that are as they were. aliases: one
    character for what comes again in a block, and no hyphens in UUIDs. checks: two marks at the end of each record."""

    every: int = EVERY
    prompt: bool = True
    counters: bool = True
    before: bool = True
    aliases: bool = True
    checks: bool = True

    def marks(self) -> frozenset[str]:
        """The marks that templates may have."""
        return frozenset([SAME, *([SEEN] if self.before else []), *([MORE, TURN, LATER] if self.counters else [])])


def events_of(given: Iterable[Any]) -> list[Event]:
    """Events, looked at, all at once. Raises as ``read_events`` does."""
    return list(read_events(given))


def json_lines(events: Iterable[Event]) -> str:
    """Events as JSON lines, which is what a session falls back to."""
    return "\n".join([event.line for event in events])


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


class _JsonLines:
    """The JSON lines of events, which a session falls back to: how many tokens they are, counted in pieces of PIECE
    characters; the lines themselves while they are one piece, for more are read back from the session."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._piece: list[Event] = []
        self._size = 0
        self._counted = 0
        self.complete = True

    def of(self, events: Iterable[Event]) -> Iterator[Event]:
        """The events, each of which is counted."""
        for event in events:
            if self._size > PIECE:
                self._counted += self._meter.count(self.text + "\n")
                self._piece.clear()
                self._size, self.complete = 0, False
            self._piece.append(event)
            self._size += len(event.line) + 1
            yield event

    @property
    def text(self) -> str:
        """The lines of the last piece, which may be all."""
        return json_lines(self._piece)

    @property
    def tokens(self) -> int:
        """The tokens of all lines."""
        return self._counted + self._meter.count(self.text)


def _tokens(text: str, meter: Meter) -> int:
    """The tokens of a session, counted in pieces that end with a line."""
    count = start = 0
    while len(text) - start > PIECE and (end := text.find("\n", start + PIECE) + 1):
        count += meter.count(text[start:end])
        start = end
    return count + meter.count(text[start:])


class Draft(NamedTuple):
    """A session before its aliases. keys: the paths that tell conversations apart. blocks: the bodies of the records of
    each. used: what they need explained."""

    keys: tuple[str, ...]
    blocks: list[list[str]]
    used: set[str]


def drafted(events: Iterable[Event], keys: tuple[str, ...], options: Options) -> Draft:
    """The events as bodies of records, a block at a time, without aliases. Where these come later, no template is told
    by another: what templates have in common is an alias, and that takes fewer tokens."""
    draft = Draft(keys, [], set())
    plan: Plan | None = None
    events = iter(events)
    while block := list(islice(events, options.every)):
        objects = [event for event in block if event.leaves]
        plan = (plan and plan.again(objects)) or Planner(objects, keys, options.marks()).plan()
        composer = Composer(keys, before=options.before, derive=not options.aliases)
        draft.blocks.append(_bodies(block, plan, composer))
        draft.used.update(composer.used)
    return draft


def _bodies(block: Sequence[Event], plan: Plan, composer: Composer) -> list[str]:
    """The bodies of the records of a block."""
    times = Counter(plan.kinds)
    called: dict[int, str] = {}
    kinds = iter(plan.kinds)
    found: list[str] = []
    for event in block:
        if not event.leaves:
            found.append(composer.bare(event))
        elif (kind := next(kinds)) in called:
            found.append(composer.row(called[kind], event))
        else:
            name = ""
            if times[kind] > 1:
                name = called[kind] = next(composer.names)
            found.append(composer.define(name, event, plan.marks[kind]))
    return found


def finished(draft: Draft, options: Options, meter: Meter) -> str:
    """A draft with aliases, a header, anchors, an end and checks."""
    shortener = Shortener(meter)
    records: list[str] = []
    used = set(draft.used)
    first = letter = ""
    done = 0
    for number, bodies in enumerate(draft.blocks):
        aliases = ""
        if options.aliases:
            uuids, bodies = bare(bodies)
            named, bodies = shortener.shortened(bodies)
            aliases = named + uuids
            letter = letter or named
            used |= {"&"[: len(named)], uuids}
        if number:
            records.append(" ".join([f"^{done}", *Settings(draft.keys, aliases).words()]))
        else:
            first = aliases
        records += map(folded, bodies)
        done += len(bodies)
    explained = explanation(used, options.checks, letter) if options.prompt else ""
    lines = [header(Settings(draft.keys, first), explained), *records, f".{done}"]
    chain = Chain()
    return "".join([chain.sealed(line) if options.checks else line + "\n" for line in lines])


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
    chosen = checked(options)
    meter = meter_of(tokenizer)
    plain = _JsonLines(meter)
    given = plain.of(read_events(events))
    draft = drafted(given, paths_of(key), chosen) if key is not None else _best_draft(given, chosen, meter)
    if not draft.blocks:
        return ""
    text = finished(draft, chosen, meter)
    if _tokens(text, meter) < plain.tokens:
        return text
    return plain.text if plain.complete else "\n".join(lines_of(text, sealed=chosen.checks))


def checked(options: Mapping[str, Any]) -> Options:
    """Options by their names. Raises TypeError for an unknown one, ValueError for less than one event to an anchor."""
    chosen = Options(**options)
    expect_number(chosen.every, "every", 1)
    return chosen


def paths_of(key: str | Sequence[str]) -> tuple[str, ...]:
    """The paths that name the conversation, as ``encode`` takes them. Raises ValueError for one with white space."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not all(map(_can_be_written, keys)):
        raise ValueError("a path has no white space in it")
    return keys


def _can_be_written(key: str) -> bool:
    return bool(key) and not re.search(r"\s", key)


def _best_draft(events: Iterator[Event], options: Options, meter: Meter) -> Draft:
    """The events by the paths that tell conversations apart, tried on the first events: each that saves tokens. Where
    these are all events, by the one path with which the finished session is shortest, of those that do as well."""
    sample = list(islice(events, TRIED))
    paths = candidates(sample)
    if not paths:
        return drafted(chain(sample, events), (), options)
    best = drafted(sample, (), options)
    least = _size(best, meter)
    for path in paths:
        tried = drafted(sample, (*best.keys, path), options)
        size = _size(tried, meter)
        if size < least * WORTH:
            best, least = tried, size
    if (more := next(events, None)) is not None:
        return drafted(chain(sample, [more], events), best.keys, options)
    if len(best.keys) != 1:
        return best
    fewest = meter.count(finished(best, options, meter))
    for path in [path for path in paths if path not in best.keys]:
        draft = drafted(sample, (path,), options)
        if _size(draft, meter) <= least * ALIKE:
            tokens = meter.count(finished(draft, options, meter))
            if tokens < fewest:
                best, fewest = draft, tokens
    return best


def _size(draft: Draft, meter: Meter) -> int:
    """About the tokens of a session without aliases, a token for each check."""
    lines = [header(Settings(draft.keys), explanation(draft.used)), *(body for block in draft.blocks for body in block)]
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
        if turns > many and _can_be_written(path):
            found.append((not _NAMED(path), -times, path))
    return [path for _, _, path in sorted(found)[:MOST_KEYS]]
