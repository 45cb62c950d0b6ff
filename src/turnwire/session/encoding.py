"""A whole block of events as a session: planned, composed, and compared with plain JSON lines."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from operator import ne
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import EncodeError, expect_number
from turnwire.json import text as json_text
from turnwire.session._fields_py import folded, one_line
from turnwire.session._values_py import Leaf, quoted
from turnwire.session.checks import Chain
from turnwire.session.composing import Composer, names
from turnwire.session.howto import header, howto, settings
from turnwire.session.metering import Meter, meter_of
from turnwire.session.planning import Event, Plan, Planner
from turnwire.session.repeats import Shortener, bare
from turnwire.session.shapes import Shape, shape_of
from turnwire.session.state import LATER, MORE, SAME, SEEN, TURN
from turnwire.session.values import event_of, flatten

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer

DEFAULT = "o200k_base"

EVERY = 200
TRIED = 50
"""Events that decide by which paths conversations are told apart."""
MOST_KEYS = 3
SEAM = 16
"""Tokens that a text may have more than one that goes on, at each end."""
ALIKE = 1.03
"""What a session may have more without aliases by another path that tells conversations apart as well."""
MOST_PARTS, LITTLE = 6, 256
"""Parts of JSON lines that are counted one after the other; letters that each is longer than it seems to need."""
WORTH = 0.97
"""What conversations that are told apart must save."""
_NAMED = re.compile(r"(?i)(?:^|[._-])(?:id|.*(?:_id|Id|conv|session|thread|correlation|trace|ctx).*)$").search


class Options(NamedTuple):
    """What a session may use. every: events from one anchor to the next. prompt: whether it begins with a text that
    explains it. counters: "one more" and times by distance. before: values that are as they were. aliases: one
    character for what comes again in a block, and no hyphens in UUIDs. checks: two marks at the end of each record."""

    every: int = EVERY
    prompt: bool = True
    counters: bool = True
    before: bool = True
    aliases: bool = True
    checks: bool = True

    def expectations(self) -> frozenset[str]:
        """The marks that templates may have."""
        return frozenset([SAME, *([SEEN] if self.before else []), *([MORE, TURN, LATER] if self.counters else [])])


Item = Event | str
"""An event as it came in: a text is one that is not a JSON object, or an empty one."""


def items(events: Iterable[Any]) -> list[Item]:
    """Events, looked at. Raises EncodeError for what cannot be written; its path begins with the event's number."""
    shapes: dict[tuple[Any, ...], Shape] = {}
    found = []
    for number, given in enumerate(events):
        try:
            found.append(item_of(given, shapes))
        except EncodeError as error:
            error.path = f"{number}{error.path or ''}"
            raise
    return found


def item_of(given: Any, shapes: dict[tuple[Any, ...], Shape]) -> Item:
    """One event, looked at; ``shapes`` are those that are known."""
    value: dict[str, Any] | None = given
    if type(given) is dict:
        line = json_text.write(given)
    else:
        value, line = event_of(given)
    if not value:
        return line
    structure, leaves = flatten(value)
    shape = shapes.get(structure)
    if shape is None:
        shape = shapes[structure] = shape_of(structure)
    return Event(line, shape, leaves)


def plain_lines(given: Sequence[Item]) -> str:
    """The events as JSON lines, which is what a session falls back to."""
    return "\n".join(map(plain_line, given))


def plain_line(item: Item) -> str:
    """An event as a JSON line."""
    if isinstance(item, str):
        return item if item == "{}" else quoted(item)
    return item.line


def text_record(item: str) -> str:
    """A text, or an empty object, as the body of a record."""
    return item if item == "{}" else "!" + one_line(quoted(item))


class Draft(NamedTuple):
    """A session before its aliases. blocks: the bodies of the records of each. used: what they need explained."""

    blocks: list[list[str]]
    used: set[str]


def composed(given: Sequence[Item], keys: tuple[str, ...], options: Options, meter: Meter) -> str:
    """The events as a session, its end included."""
    return _finished(_drafted(given, keys, options), keys, options, meter)


def _drafted(given: Sequence[Item], keys: tuple[str, ...], options: Options) -> Draft:
    """The events as bodies of records, without aliases. Where these come later, no template is told by another: what
    templates have in common is an alias, and that takes fewer tokens."""
    draft = Draft([], set())
    plan: Plan | None = None
    for start in range(0, len(given), options.every):
        block = given[start : start + options.every]
        events = [item for item in block if isinstance(item, Event)]
        again = None if plan is None else plan.again(events)
        plan = Planner(events, keys, options.expectations()).plan() if again is None else again
        composer = Composer(keys, before=options.before, derive=not options.aliases)
        draft.blocks.append(_block(block, plan, composer, draft.used))
    return draft


def _finished(draft: Draft, keys: tuple[str, ...], options: Options, meter: Meter) -> str:
    """A draft with aliases, a header, anchors, an end and checks."""
    shortener = Shortener(meter)
    chain = Chain()
    records: list[str] = []
    used = set(draft.used)
    first = letter = ""
    done = 0
    for number, bodies in enumerate(draft.blocks):
        aliases, short = "", bodies
        if options.aliases:
            lost, short = bare(bodies)
            named, short = shortener.shortened(short)
            aliases = named + lost
            letter = letter or named
            used |= {"&"[: len(named)], lost}
        if number:
            records.append(" ".join([f"^{done}", *settings(keys, aliases)]))
        else:
            first = aliases
        records += map(folded, short)
        done += len(bodies)
    explained = howto(used, options.checks, letter) if options.prompt else ""
    lines = [header(keys, first, explained), *records, f".{done}"]
    return "".join([chain.sealed(line) if options.checks else line + "\n" for line in lines])


def _block(
    block: Sequence[Item],
    plan: Plan,
    composer: Composer,
    used: set[str],
) -> list[str]:
    """The bodies of the records of a block, without aliases; what they need explained is added to ``used``."""
    bodies = _run(block, plan, composer)
    used |= composer.used
    return bodies


def _run(block: Sequence[Item], plan: Plan, composer: Composer) -> list[str]:
    """The bodies of the records of a block."""
    times = Counter(plan.kinds)
    called: dict[int, str] = {}
    free = names()
    kinds = iter(plan.kinds)
    records: list[str] = []
    for item in block:
        if isinstance(item, str):
            records.append(text_record(item))
            continue
        kind = next(kinds)
        leaves = item.leaves
        if kind in called:
            records.append(composer.row(called[kind], leaves))
            continue
        name = ""
        if times[kind] > 1:
            name = called[kind] = next(free)
        records.append(composer.define(name, item.shape, plan.marks[kind], leaves, item.line))
    return records


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
    given = items(events)
    plain = plain_lines(given)
    if not given:
        return plain
    draft = None
    if key is None:
        keys, draft = _keys(given, chosen, meter)
    else:
        keys = paths_of(key)
    text = _finished(_drafted(given, keys, chosen) if draft is None else draft, keys, chosen, meter)
    return text if _fewer(text, plain, meter) else plain


def _fewer(text: str, plain: str, meter: Meter) -> bool:
    """Whether a text has fewer tokens than JSON lines, of which no more than it takes is counted."""
    size, least = meter.count(text), len(text) * 3 // 4
    begin = counted = 0
    for parts in range(1, MOST_PARTS + 1):
        end = plain.find("\n", least) + 1
        if not end:
            break
        counted += meter.count(plain[begin:end])
        more = size + (parts + 1) * SEAM - counted
        if more < SEAM:
            return True
        begin, least = end, end + more * end // max(counted, 1) + LITTLE
    return size < meter.count(plain)


def checked(options: Mapping[str, Any]) -> Options:
    """Options by their names. Raises TypeError for an unknown one, ValueError for less than one event to an anchor."""
    chosen = Options(**options)
    expect_number(chosen.every, "every", 1)
    return chosen


def paths_of(key: str | Sequence[str]) -> tuple[str, ...]:
    """The paths that name the conversation, as ``encode`` takes them. Raises ValueError for one with white space."""
    keys = (key,) if isinstance(key, str) else tuple(key)
    if not all(map(_writable, keys)):
        raise ValueError("a path has no white space in it")
    return keys


def _writable(key: str) -> bool:
    return bool(key) and not re.search(r"\s", key)


def _keys(given: Sequence[Item], options: Options, meter: Meter) -> tuple[tuple[str, ...], Draft | None]:
    """The paths that tell conversations apart, tried on the first events: each that saves tokens. And the session by
    them where those are all events, else None."""
    sample = given[:TRIED]
    paths = candidates([item for item in sample if isinstance(item, Event)])
    best: tuple[str, ...] = ()
    if not paths:
        return best, None
    draft = _drafted(sample, best, options)
    least = _size(draft, best, meter)
    for path in paths:
        keys = (*best, path)
        tried = _drafted(sample, keys, options)
        size = _size(tried, keys, meter)
        if size < least * WORTH:
            best, least, draft = keys, size, tried
    if len(sample) < len(given):
        return best, None
    return _shortest(sample, paths, (best, draft), least, options, meter) if len(best) == 1 else (best, draft)


def _shortest(
    given: Sequence[Item],
    paths: Sequence[str],
    best: tuple[tuple[str, ...], Draft],
    least: int,
    options: Options,
    meter: Meter,
) -> tuple[tuple[str, ...], Draft]:
    """The path that tells conversations apart, or another that does it as well, and the session by it: the one by which
    it has the fewest tokens when it is finished. least: about the tokens of the best one without aliases."""
    fewest = meter.count(_finished(best[1], best[0], options, meter))
    for path in paths:
        if (path,) == best[0]:
            continue
        draft = _drafted(given, (path,), options)
        if _size(draft, (path,), meter) <= least * ALIKE:
            tokens = meter.count(_finished(draft, (path,), options, meter))
            if tokens < fewest:
                best, fewest = ((path,), draft), tokens
    return best


def _size(draft: Draft, keys: tuple[str, ...], meter: Meter) -> int:
    """About the tokens of a session without aliases, a token for each check."""
    lines = [header(keys, "", howto(draft.used)), *chain.from_iterable(draft.blocks)]
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
        if turns > many and _writable(path):
            found.append((not _NAMED(path), -times, path))
    return [path for _, _, path in sorted(found)[:MOST_KEYS]]
