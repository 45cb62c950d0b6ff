"""A format as a table: its identifying members, and the paths of its columns.

The table compiles into the plans by which the search finds records, and into a wire descriptor. A path names a value:
``message/usage/input_tokens``; ``message/content/*/name`` is a member of the objects in an array, of which the last one
with the member is used (of calls and tools the first), and ``model_usage/{}/input_tokens`` one of the members of an
object, likewise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from itertools import repeat
from typing import Any, NamedTuple

from turnwire.contract import OBJECT, Column, FormatWire, Wire
from turnwire.formats.parts import KINDS_OF_PARTS, MessageRule, PartRule, Reader
from turnwire.formats.records import Reading, kind_of
from turnwire.json.plan import MISSING, NO_NUMBER, Fill, Need, Sign, Value, Variant, WirePlan, keyed_step, value_at
from turnwire.json.scanner import scanner
from turnwire.pairs import AnswerPattern, Key, PairRule, Pairs

KINDS = (
    *("message", "user", "assistant", "system", "tool_call", "tool_result", "reasoning", "summary", "session"),
    *("turn", "usage", "event", "request", "response", "notification", "error", "task", "status", "artifact", "span"),
    *("log", "sample", "evaluation", "attachment", "tools"),
    *("intent", "exchange", "contingency", "commit", "knowledge", "roots", "elicitation", "total"),
)
"""The kinds of records, the same words for all formats."""

_TEXTS = ("sender", "receiver", "conversation", "subject", "parent", "id", "request_id", "model", "tool", "call_id")
_NUMBERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_MORE = ("cache_write_1h_tokens", "total_tokens", "duration_ms")
_FURTHER = ("error", "stop_reason", "project", "origin", "speed", "text")
COLUMNS = (
    Column("wire", "enum"),
    Column("kind", "enum", names=KINDS),
    *(Column(name, "text", nullable=True) for name in (*_TEXTS, *_FURTHER)),
    *(Column(name, "i64", nullable=True) for name in ("sequence", *_NUMBERS, *_MORE, "calls", "tools")),
    Column("cost", "f64", nullable=True),
    *(Column(name, "bool", nullable=True) for name in ("failed", "sidechain")),
)
"""The columns of every format, beside ``inner`` and ``time``. Tokens are counts as the file has them; ``total_tokens``
is that of a record, ``cache_write_1h_tokens`` a part of ``cache_write_tokens``; ``origin`` is the session that a copied
history comes from, or the trace of a span; ``calls`` counts the ids of calls in a record, ``tools`` the names of tools;
``cost`` is in US dollars."""

_KINDS_OF = {
    **dict.fromkeys(("text", "timestamp"), ("string", "null")),
    **dict.fromkeys(("i64", "f64"), ("count", "negative", "fraction", "null")),
    "bool": ("boolean", "null"),
}
"""Kind of a column -> the kinds of values that a member may have from which it comes."""
_FIRST = ("call_id", "tool")
"""The columns that have the first of several values."""
_ANY = ("string", "object", "array", "boolean", "null", "count", "negative", "fraction")
_MISSING = "missing"
_HOW = {"text": "text", "i64": "integer", "f64": "number", "bool": "truth", "timestamp": "time"}
_SEVERAL = {"*", "{}"}
"""Steps of paths that stand for several values, of which nothing is asked."""
_MOST_CLUE, _MOST_CLUES = 4, 8
"""Members by which the search sees that an object is worth a closer look, and sets of them."""
_RARE, _COMPOUND = 5, re.compile("[a-zA-Z][._/-][a-zA-Z]")
"""Damage of a layout without marks is known by all of its signs if the first has a key of more letters, or only words
such as these, which hardly anything else has."""


def _fits(value: Any, column: Column, how: str) -> bool:
    """True if a column can have come from a value."""
    loose = how in ("digits", "epoch", "between", "word", "above") and isinstance(value, str | int | float)
    item = how == "item" and isinstance(value, list) and len(value) == 1
    return value is not None and (loose or item or kind_of(value) in _KINDS_OF[column.kind])


def _beginning(word: str) -> str:
    """The part of a sign's word by which damaged bytes are known: up to its first slash, since methods are many."""
    group, slash, _ = word.partition("/")
    return group + (slash or '"')


class Words(NamedTuple):
    """Derives the kind from the word at a path; other words leave it unchanged."""

    path: str
    kinds: Mapping[str, str]


class Present(NamedTuple):
    """The kind of objects that have a member that is not null."""

    path: str
    kind: str


class Source(NamedTuple):
    """The source of a column: a path, and how its member is read. "" requires a value of the column's type, the others
    ignore members that do not fit.

    "loose": a value of that type; "digits": text that may be a whole number, or a number that may be text;
    "epoch": a time as a number since 1970, in seconds to nanoseconds, also as text; "sum": the integers of all values
    at the path, added up; "between": the milliseconds from the time at ``start``; "seconds": a number of them,
    as milliseconds; "item": the string with which an array begins; "word": the truth by ``words``; "above": that of a
    digit above 1.
    """

    path: str
    how: str = ""
    start: str = ""
    words: Mapping[str, bool] = {}


_LOOSE = ("sum", "between", "word", "seconds", "item", "above")
"""Ways to read a member of any type, each with a fill of its name."""
_EVERY_HOW = ("", "loose", "digits", "epoch", *_LOOSE)
Loose, Digits, Epoch, Sum, Between, Truth, Seconds, Item, Above = (partial(Source, how=how) for how in _EVERY_HOW[1:])
Columns = Mapping[str, str | Source | tuple[str | Source, ...]]


def sources_of(given: str | Source | tuple[str | Source, ...]) -> tuple[Source, ...]:
    """The sources of a column, in order of preference."""
    several = given if isinstance(given, tuple) and not isinstance(given, Source) else (given,)
    return tuple(Source(one) if isinstance(one, str) else one for one in several)


class Layout(NamedTuple):
    """One form of a format's objects, such as a version of it.

    signs: up to four members whose combination identifies such an object: path -> the allowed words; () for any value.
    one_of: up to eight further members, at least one of which is present. without: members that must be absent; one
    that is null is, apart from those of items. empty: signs that are objects without members. kind: that of its
    records, unless ``kinds`` (the last that applies) sets another. columns: column -> its path, or several paths, of
    which the first one present is used. needs: path -> the allowed JSON types of a required member, or also "missing"
    for one that may be absent or null. marks: keys that identify damaged bytes, and how many are required. nested: a
    key; other valid objects with it are searched for records inside.
    """

    signs: Mapping[str, tuple[str, ...]]
    kind: str
    columns: Columns
    kinds: tuple[Words | Present, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = {}
    marks: tuple[int, tuple[str, ...]] = (0, ())
    nested: str = ""
    without: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()


class Format(NamedTuple):
    """A format of agent sessions or API messages.

    copy_of: the columns that together identify a response; records with the same values are copies, and sums count only
    the one with the most tokens, the first of equals. A record without a value in the first column is not a copy. keys:
    paths of members that identify a record: an equal record with one of them is its copy; pieces: path -> the words of
    records that are parts of a longer answer, and so no copies. echoes: the subjects of records that repeat the text of
    a record with another subject near them. totals: kinds of records whose cost is that of all responses of their
    session so far. repeats: kinds of records whose tokens are those of responses in their session. follows: kinds of
    objects that other programs write, too: where all formats are read, records only behind another one in their input.
    ids_restart: whether the ids of calls begin anew with each connection, of each side; back: the subjects of requests
    that the other side makes, and the kinds of the answers to them. carried: the text columns that a record inherits
    from the one before it in its input, unless it is of one of the kinds ``begins``; archive: the ending of archives
    whose files are one input for this. gathered: the columns of texts and integers of which a record of the kind
    "usage" has the first value since the usage or the beginning before it. running: the columns that are running totals
    of a conversation in a record of the kind "total", which has in a scan what each adds to the one before it, and
    ``total_tokens`` as ``sequence``; other usage adds to the total, its ``sequence``. exit_code: that in the text of an
    answer, which tells whether the call failed. cached_is_input, reasoning_is_output: whether ``input_tokens`` includes
    cached tokens, and ``output_tokens`` reasoning; None if ``total_tokens`` of the record tells. folders: the usual
    folders of the format's files; home: an environment variable that may name other ones. asks, answers: the kinds of
    records that make and that answer a call, by its ``call_id``; errors: the format whose records its errors are.
    parts: rules for the texts, calls and results in a record. messages: rules for the messages in a record that holds
    several. enclosing: the members around records, each an array of objects, the outermost first; what else is in these
    objects is about all records in them. provider: OpenTelemetry's name for the provider, if the format contains only
    its models. embeds: True if its records hold those of other formats, whose signs are in damaged ones, too.
    """

    name: str
    title: str
    layouts: tuple[Layout, ...]
    copy_of: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    pieces: Mapping[str, tuple[str, ...]] = {}
    ids_restart: bool = False
    back: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    totals: tuple[str, ...] = ()
    repeats: tuple[str, ...] = ()
    follows: tuple[str, ...] = ()
    echoes: tuple[str, ...] = ()
    carried: tuple[str, ...] = ()
    begins: tuple[str, ...] = ("session",)
    archive: str = ""
    gathered: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    exit_code: Callable[[Any], int | None] | None = None
    cached_is_input: bool | None = False
    reasoning_is_output: bool | None = True
    folders: tuple[str, ...] = ()
    home: str | None = None
    asks: tuple[str, ...] = ("tool_call",)
    answers: tuple[str, ...] = ("tool_result",)
    errors: str = ""
    parts: tuple[PartRule, ...] = ()
    messages: tuple[MessageRule, ...] = ()
    enclosing: tuple[tuple[str, ...], ...] = ()
    provider: str | None = None
    embeds: bool = False

    def is_piece(self, fields: dict[str, Any]) -> bool:
        """True if a record is a part of a longer answer."""
        return any(value_at(fields, path) in words for path, words in self.pieces.items())

    def is_known(self, fields: dict[str, Any]) -> bool:
        """True if a record has an id, so that an equal one is a copy of it."""
        return not self.is_piece(fields) and any(value_at(fields, at) not in (MISSING, None, "") for at in self.keys)

    def descriptor(self) -> Wire:
        """Returns the wire descriptor that the table compiles to. Raises ValueError for an invalid table."""
        for fault in _faults(self):
            raise ValueError(f"{self.name}: {fault}")
        reading = Reading(self.name, tuple(Compiled(self.name, layout) for layout in self.layouts))
        plans = tuple(compiled.plan(reading, compiled.layout.kind in self.follows) for compiled in reading.layouts)
        call = Key(("task",), needs=("task",))
        answer = AnswerPattern(frozenset(self.answers), (call,), call, names=True)
        return FormatWire(
            self.name,
            title=self.title,
            package="turnwire.formats",
            style=OBJECT,
            detect=reading.detect,
            decode=reading.decode,
            encode=reading.encode,
            message=reading.message,
            check=lambda message: [],  # nothing is doubtful about what was read
            prompt=lambda: f"{self.title}: one JSON object a line.\n",
            scanner=scanner(plans, COLUMNS, decode=reading.decode, common={}, fault=reading.fault),
            pairs=Pairs((PairRule("call", frozenset(self.asks), (answer,)),)),
            table=self,
        )


_PATH = re.compile(r"(?:[^/\[\]]+|\[[^/\[\]]+\])(?:/(?:[^/\[\]]+|\[[^/\[\]]+\]))*")


def _faults(table: Format) -> Iterator[str]:
    """The faults in the words and paths of a table."""
    rules = [*table.parts, *(part for rule in table.messages for part in rule.parts)]
    kinds = {*table.totals, *table.repeats, *table.begins, *table.asks, *table.answers, *table.follows}
    paths = [*table.keys, *table.pieces, *(path for rule in table.messages for path in rule.columns.values())]
    for part in rules:
        texts = (part.text,) if isinstance(part.text, str) else part.text
        paths += [*texts, part.id, part.name, *part.arguments, part.failed, *(path.lstrip("/") for path in part.block)]
    every: list[PartRule | MessageRule] = [*rules, *table.messages]
    paths += [path for rule in every for path in (rule.at, rule.unless, *(rule.when or ("",))[:1])]
    types: set[str] = set()
    for layout in table.layouts:
        columns = [one for given in layout.columns.values() for one in sources_of(given)]
        yield from (f"no column is read as {one.how!r}" for one in columns if one.how not in _EVERY_HOW)
        paths += [*layout.signs, *layout.needs, *layout.without, *layout.one_of, *(rule.path for rule in layout.kinds)]
        paths += [path for one in columns for path in (one.path or "/", one.start)]
        kinds |= {layout.kind, *(one.kind for one in layout.kinds if isinstance(one, Present))}
        kinds |= {kind for one in layout.kinds if isinstance(one, Words) for kind in one.kinds.values()}
        types |= {kind for allowed in layout.needs.values() for kind in allowed if kind != _MISSING}
    wrong = (path for path in paths if path and not _PATH.fullmatch(path))
    yield from (f"{path!r} is not a path of keys between slashes" for path in wrong)
    for what, given, known in (
        ("kind of records", kinds, KINDS),
        ("type of JSON values", types, _ANY),
        ("kind of parts", {part.kind for part in rules}, KINDS_OF_PARTS),
        ("column", {*table.copy_of, *table.carried, *table.gathered, *table.running}, [one.name for one in COLUMNS]),
    ):
        yield from (f"{one!r} is no {what}; there are {', '.join(known)}" for one in sorted(given - {*known}))


def _is_one(path: str) -> bool:
    """True if a path names one value, which is as absent if it is null."""
    return not _SEVERAL & {*path.split("/")}


def _is_there(fields: dict[str, Any], path: str) -> bool:
    return (value := value_at(fields, path)) is not MISSING and (value is not None or not _is_one(path))


def _by_values(paths: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """The paths of one value, of which null is none, and the others, each with the ``values`` of their sign."""
    for one, values in ((True, ("",)), (False, ())):
        if found := tuple(path for path in paths if _is_one(path) is one):
            yield found, values


class Compiled:
    """A layout with its derived data: the requirements for an object, and the sources of the columns."""

    def __init__(self, wire: str, layout: Layout) -> None:
        self.wire, self.layout = wire, layout
        if max(len(clue) for clue in self.clues) > _MOST_CLUE or len(self.clues) > _MOST_CLUES:
            raise ValueError(f"{wire}: a layout may have at most {_MOST_CLUE} signs, and {_MOST_CLUES} in one_of")
        there = {column.name: column for column in COLUMNS} | {"time": Column("time", "timestamp")}
        self.sources: list[tuple[Column, Source]] = []
        for name, given in layout.columns.items():
            if name not in there or name in ("wire", "kind", "calls", "tools"):
                raise ValueError(f"{wire}: a table cannot fill a column {name!r}")
            self.sources += [(there[name], source) for source in reversed(sources_of(given))]

    @property
    def clues(self) -> tuple[tuple[str, ...], ...]:
        """The alternative sets of paths that identify an object of the layout."""
        signs = tuple(self.layout.signs)
        return tuple((*signs, path) for path in self.layout.one_of) or (signs,)

    @cached_property
    def without(self) -> tuple[str, ...]:
        """The members that must be absent; of a layout that any values sign also what a schema or mapping of it has."""
        signs = self.layout.signs
        return (*self.layout.without, *(f"{path}/type" for path in [*signs][: not any(signs.values())]))

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The keys that every such object has."""
        return tuple(path.rpartition("/")[2] for path in self.layout.signs)

    def paths_of(self, name: str) -> tuple[str, ...]:
        """The paths of a column, in order of preference."""
        return tuple(source.path for column, source in reversed(self.sources) if column.name == name)

    @cached_property
    def asked(self) -> dict[str, tuple[str, ...]]:
        """Path -> the allowed kinds of values."""
        found: dict[str, tuple[str, ...]] = {}
        for column, (path, how, start, _) in self.sources:
            loose = how in ("loose", *_LOOSE)
            if start:
                found.setdefault(start, _ANY)
            parts = path.split("/")
            for end in range(1, 1 if loose else len(parts)):
                if not _SEVERAL & {*parts[: end + 1]} and "/[" not in path:
                    found.setdefault("/".join(parts[:end]), ("object", "null"))
            if _SEVERAL & {*parts} or "/[" in path:
                continue
            kinds = _KINDS_OF[column.kind]
            if how in ("digits", "epoch"):
                kinds = tuple(dict.fromkeys((*kinds, "string", "count", "negative", "fraction")))
            found[path] = _ANY if loose else kinds
        for sign, words in self.layout.signs.items():
            found[sign] = ("string",) if words else ("object",) if sign in self.layout.empty else found.get(sign, _ANY)
        needs = {path: tuple(one.replace(_MISSING, "null") for one in of) for path, of in self.layout.needs.items()}
        return {**found, **needs, **{path: ("null",) if _is_one(path) else () for path in self.without}}

    @cached_property
    def needs(self) -> tuple[Need, ...]:
        """The requirements of the plan."""
        must = {*self.layout.signs, *(path for path, kinds in self.layout.needs.items() if _MISSING not in kinds)}
        words, empty = self.layout.signs, dict.fromkeys(self.layout.empty, ("empty",))
        return tuple(
            Need(path, ("good",) if words.get(path) else (empty.get(path) or kinds), path in must, words.get(path, ()))
            for path, kinds in self.asked.items()
            if not (path in words and "/*" in path)
        )

    def values(self) -> tuple[Value, ...]:
        """The relevant values, each with its allowed words."""
        words: dict[str, dict[str, None]] = {path: dict.fromkeys(known) for path, known in self.layout.signs.items()}
        for rule in self.layout.kinds:
            words.setdefault(rule.path, {}).update(dict.fromkeys(rule.kinds if isinstance(rule, Words) else ()))
        for _, source in self.sources:
            words.setdefault(source.path, {}).update(dict.fromkeys(source.words))
        sources = [source.path for _, source in self.sources]
        for path in (*sources, *(rule.path for rule in self.layout.kinds)):
            if (step := keyed_step(path)) is not None:
                words.setdefault(step[0], {})[step[1]] = None
                words.setdefault(step[2], {})
        forms = {source.path: "time" for column, source in self.sources if column.name == "time" and not source.how}
        sums = (source.path for _, source in self.sources if source.how == "sum")
        every = {*sums, *(path for name in _FIRST for path in self.paths_of(name))}
        paths = dict.fromkeys((*words, *self.asked, *self.layout.one_of, *sources), ()) | words
        return tuple(
            Value(path, "word" if known else forms.get(path, ""), tuple(known), every=path in every)
            for path, known in paths.items()
        )

    def fills(self) -> tuple[Fill, ...]:
        """The sources of the columns; of several sources of a column, the last one present is used."""
        found = [Fill("kind", "constant", constant=KINDS.index(self.layout.kind))]
        values = {value.path: value.words for value in self.values()}
        for rule in self.layout.kinds:
            if isinstance(rule, Present):
                found.append(Fill("kind", "present", rule.path, constant=KINDS.index(rule.kind)))
                continue
            numbers = (KINDS.index(rule.kinds[word]) if word in rule.kinds else 0xFF for word in values[rule.path])
            found.append(Fill("kind", "word", rule.path, numbers=tuple(numbers)))
        for column, (path, how, start, words) in self.sources:
            if how == "digits":
                found.append(Fill(column.name, "digits" if column.kind == "text" else "numeral", path))
            given = tuple(map(words.get, values[path], repeat(NO_NUMBER))) if how == "word" else ()
            most, how = int(how == "above"), how if how in ("epoch", *_LOOSE[:-1]) else _HOW[column.kind]
            found.append(Fill(column.name, how, path, start, most, tuple(map(int, given))))
        counted = ((f"{name.removesuffix('_id')}s", self.paths_of(name)) for name in _FIRST)
        return (*found, *(Fill(name, "times", path) for name, paths in counted for path in paths))

    def plan(self, reading: Reading, follows: bool = False) -> WirePlan:
        """The plan of the layout for the search. follows: nothing damaged is known by it, as by ``Format.follows``."""
        least, keys = self.layout.marks
        marks = ((Sign(keys, least),),) if keys else ()
        signs = tuple(
            Sign((key,), values=tuple(dict.fromkeys(map(_beginning, words if key == path.rpartition("/")[2] else ()))))
            for path, words in self.layout.signs.items()
            for key in path.split("/")
        )
        if follows or self.layout.empty or any("/*" in path for path in self.layout.signs):  # damaged bytes show none
            signs = ()
        elif self.layout.one_of:  # by a key of each path that others hardly have: the longest that not all paths share
            paths = [path.split("/") for path in self.layout.one_of]
            shared = set(paths[0]).intersection(*paths)
            signs += (Sign(tuple(max(path, key=lambda step: (step not in shared, len(step))) for path in paths)),)
        words = next(iter(self.layout.signs.values()), ())
        rare = not self.keys or len(self.keys[0]) > _RARE or bool(words and all(map(_COMPOUND.search, words)))
        return WirePlan(
            wire=self.wire,
            values=self.values(),
            variants=(Variant(self.wire, self.needs, self.fills()),),
            choose="only",
            detect=partial(reading.is_of, self),
            decode=partial(reading.decode, layout=self),
            claimed=tuple(self.claimed),
            clues=self.clues,
            valued=tuple(filter(_is_one, self.layout.one_of)),
            inside=(self.layout.nested,) if self.layout.nested else (),
            torn=keys or self.keys[: rare and bool(signs)],
            signs=(*marks, *([signs] if rare else [(*signs, Sign(keys))] if keys else [])[: bool(signs)]),
        )

    def take(self, fields: dict[str, Any], columns: Mapping[str, Any], reader: Reader) -> None:
        """Notes what the columns of a record took of it, and the words that say which layout and kind it has."""
        told = [(rule.path, tuple(rule.kinds)) for rule in self.layout.kinds if isinstance(rule, Words)]
        for path, words in (*told, *self.layout.signs.items()):
            reader.take(*(place for place, value in reader.values(fields, path) if words and value in words))
        done = {name for name, value in columns.items() if value is None}
        for column, (path, how, start, _) in reversed(self.sources):
            places = () if column.name in done else reader.values(fields, path)
            if fit := [place for place, value in places if _fits(value, column, how)]:
                done.add(column.name)
                reader.take(*(fit if how == "sum" else fit[:1] if column.name in _FIRST else fit[-1:]))
                reader.take(*(place for place, _ in reader.values(fields, start) if start))

    @property
    def claimed(self) -> Iterator[tuple[Sign, ...]]:
        """The signs of the layout, as of an object."""
        words = self.layout.signs.items()
        found = [Sign((path,), values=tuple(f'{word}"' for word in known)) for path, known in words]
        found += [Sign((path,), values=("{}",)) for path in self.layout.empty]
        for keys, values in _by_values(self.without):
            found.append(Sign(keys, 0, values, most=0))
        for keys, values in _by_values(self.layout.one_of):
            yield (*found, Sign(keys, values=values))
        if not self.layout.one_of:
            yield tuple(found)

    def is_signed(self, fields: dict[str, Any]) -> bool:
        """True if an object has the identifying members of the layout."""
        for path, words in self.layout.signs.items():
            value = value_at(fields, path)
            if value is MISSING or (words and value not in words) or (path in self.layout.empty and value != {}):
                return False
        if self.layout.one_of and not any(_is_there(fields, path) for path in self.layout.one_of):
            return False
        return not any(_is_there(fields, path) for path in self.without)

    def broken(self, fields: dict[str, Any]) -> tuple[str, tuple[str, ...]] | None:
        """The first path at which such an object violates the table, and the allowed kinds."""
        for need in self.needs:
            if "/" in need.path and not isinstance(value_at(fields, need.path.rpartition("/")[0]), dict):
                continue
            value = value_at(fields, need.path)
            kinds = self.asked[need.path]
            if value is MISSING:
                if need.needed:
                    return need.path, kinds
            elif kind_of(value) not in kinds:
                return need.path, kinds
        return None
