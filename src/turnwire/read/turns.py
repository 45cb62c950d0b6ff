"""Turns of sessions: the contribution of one side at one time, record by record or merged from several records."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any

import msgspec
import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS, LIMITS
from turnwire.formats.parts import ROLES, ParsedMessage, Part, Reader, joined, messages_of, parts_of
from turnwire.formats.table import COLUMNS as EVERY, Compiled, sources_of
from turnwire.json.plan import MISSING, value_at
from turnwire.json.text import write as _write
from turnwire.log.output.json_lines import slices
from turnwire.log.scanning import Counts, scan
from turnwire.read.usage import MOST_COST, TOKENS as COUNTED, paid_counts

TOKENS = (*COUNTED, "cache_write_1h_tokens")
_COUNTED = (*TOKENS, "total_tokens", "cost")
COLUMNS = (*(column.name for column in EVERY if column.name not in ("calls", "tools")), "time")
"""The columns of a turn, behind its file and line."""
MOST = 1 << 18
"""Records, and responses, of which it is remembered that they were told; of more the oldest are forgotten."""
MOST_SHAPES = 10_000
"""Shapes of records of which it is remembered what is left over."""
MOST_PARTS = 10_000
"""Parts of one turn, beside pieces, of which it has up to ``MOST``; further records of it are a turn of their own."""
_NEAR = 64
"""Parts between a text and its echo, and results between the blocks of one response; of the turns between the pieces of
one response twice as many."""
_SAID = ("text", "reasoning")
_INHERITED = ("wire", "file", "line", "time", "conversation", "project", "sidechain")
ROLE_OF_KIND = {
    **dict.fromkeys(("assistant", "tool_call", "reasoning", "usage", "total", "artifact"), "assistant"),
    **{"user": "user", "tool_result": "tool", "system": "system"},
}
"""Kinds that say who speaks, and who that is."""
_KINDS = {"tool": "tool_result", "user": "user", "assistant": "assistant", "system": "system"}


@dataclass
class Turn:
    """One turn of a session: the contribution of one side at one time.

    columns: column -> value in a scan, from the first record that has one; times are i64 microseconds. role: "user",
    "assistant", "system", "tool", or None for other records. tokens: column -> count, excluding tokens that were
    counted before; repeated: those of all responses of its session (``Format.repeats``). record: the object of its
    first record, None for a message in one. left: the members of its records that are in no column and no part. held:
    the members around its record (``Format.enclosing``), each with what else is in its object, None if that cannot be
    told.
    """

    columns: dict[str, Any]
    role: str | None
    parts: list[Part]
    tokens: dict[str, int]
    record: dict[str, Any] | None = None
    left: dict[str, None] = field(default_factory=dict)
    held: tuple[tuple[str, dict[str, Any]], ...] = ()
    repeated: dict[str, int] = field(default_factory=dict)

    def text(self) -> str:
        """Its text, without reasoning, calls and results."""
        return "\n".join(part.text for part in self.parts if part.kind == "text")

    def to_dict(self) -> dict[str, Any]:
        """Returns the turn as plain values: its role, columns, tokens, the time as RFC 3339, and its parts."""
        columns = {name: value for name, value in self.columns.items() if value is not None and name not in TOKENS}
        if "time" in columns:
            columns["time"] = f"{np.datetime64(columns['time'], 'us')}Z"
        parts = [part if part.kind != "result" else part._replace(arguments=None) for part in joined(self.parts)]
        told = [{name: value for name, value in part._asdict().items() if value} for part in parts]
        return {"role": self.role, **columns, **self.tokens, "parts": told}

    def place(self) -> tuple[str, int]:
        """The file and the line of its first record."""
        return self.columns["file"], self.columns["line"]

    def dropped(self, columns: Iterable[str] = (), parts: Iterable[str] = ()) -> tuple[str, ...]:
        """The names of what is lost in a form that keeps only some columns and tokens, and some kinds of parts."""
        said = {**self.columns, **dict.fromkeys(TOKENS), **self.tokens}
        lost = {name for name, value in said.items() if value is not None and name not in (*_PLACE, *columns)}
        lost -= {name for name in lost if self.says(name, said[name])}
        others = [part for part in self.parts if part.kind not in parts]
        lost |= {f"part:{part.name or 'data'}" if part.kind == "data" else part.kind for part in others}
        return tuple(sorted({*lost, *(f"member:{path}" for path in self.left)}))

    def says(self, name: str, value: Any) -> bool:
        """True if the role or the parts say what a column does."""
        if name == "sender":
            return self.role is not None and ROLES.get(value.lower().removeprefix("role_")) in (self.role, "tool")
        said = {"tool": "name", "call_id": "id", "failed": "failed"}.get(name)
        if name in ("text", "error", "subject"):
            return any(value in part.text for part in self.parts)
        if name == "origin":
            return bool(value == self.columns["conversation"])
        return said is not None and (value is False or any(getattr(part, said) == value for part in self.parts))


_PLACE = ("wire", "kind", "file", "line")
"""Columns that say where a record is, and that its role, or the name of its span, says."""


def write(value: Any) -> str:
    """JSON around what records hold, which may be as deep as a record."""
    return _write(value, limits=LIMITS._replace(nesting=2 * LIMITS.nesting))


def arguments_of(call: Part) -> str:
    """The arguments of a call as JSON."""
    return call.arguments if isinstance(call.arguments, str) else write(call.arguments or {})


def _fits(value: Any, column: str) -> bool:
    """True unless a count or a cost is invalid, by the rule of ``turnwire.read.usage``."""
    return value is None or 0 <= value <= (MOST_COST if column == "cost" else value)


class _RecentMarks:
    """The marks of what was told last, each with a value; of more than ``MOST`` the oldest are forgotten."""

    def __init__(self) -> None:
        self._new: dict[int, Any] = {}
        self._old: dict[int, Any] = {}

    def add(self, mark: int, value: Any = True) -> Any:
        """Returns the value that it had before; None if it was not told."""
        known = self._new.get(mark, self._old.get(mark))
        if len(self._new) >= MOST // 2:
            self._new, self._old = {}, self._new
        self._new[mark] = value
        return known

    def added(self, key: tuple[Any, ...], tokens: dict[str, int]) -> dict[str, int]:
        """The tokens of a response beyond those that were counted of it before: all blocks of it have some of them. A
        key with one id alone is also that of longer ones with it."""
        before = self.add(hash(key), tokens) or {}
        most = before | {name: count for name, count in tokens.items() if count > before.get(name, 0)}
        for mark in {hash(key), hash(key[:2])}:
            self.add(mark, most)
        more = {name: count - before.get(name, 0) for name, count in most.items()}
        return {name: count for name, count in more.items() if count} if before else tokens


class _Holders:
    """The members around the records of a batch, in their order; JSON that holds several is read once. spans: theirs.
    Those of a record in a string are unknown."""

    def __init__(self, spans: Any) -> None:
        self._spans = spans
        self._end = 0
        self._found: deque[Any] = deque()
        self._otherwise: tuple[Any, ...] = ()

    @cached_property
    def _text(self) -> bytes:
        return bytes(self._spans.buffer)

    def of(self, row: int, record: dict[str, Any], enclosing: tuple[tuple[str, ...], ...]) -> tuple[Any, ...]:
        """The members around a record."""
        at, names = int(self._spans.offsets[row]), [names[0] for names in enclosing]
        if at >= len(self._text):
            return _UNKNOWN if any(name.encode() in self._text for name in names) else ()
        if at >= self._end:
            start, end, holder = _around(self._text, at, at + int(self._spans.lengths[row]), names)
            if start == at:
                return ()
            try:
                value = msgspec.json.decode(self._text[start:end].rstrip(b" \t\r\n,"))
                self._found = deque(_held({holder: value} if holder else value, enclosing, ()))
                self._otherwise = _UNKNOWN if self._found else ()
            except (msgspec.DecodeError, RecursionError):
                self._found, self._otherwise = deque(), _UNKNOWN
            self._end = end
        while self._found:
            one, held = self._found.popleft()
            if one == record:
                return tuple(held)
        return self._otherwise


_OPENING = re.compile(rb"[\[{]")
_UNKNOWN: tuple[Any, ...] = (("", {}), ("", {"resource": None}), ("", {"scope": None}))


def _around(text: bytes, at: int, stop: int, enclosing: list[str]) -> tuple[int, int, str]:
    """The start and end of the JSON that may hold a record: of its line, or of the array of a holder over several
    lines, with its name."""
    line = text.rfind(b"\n", 0, at) + 1
    if (opening := _OPENING.search(text, line, at)) is not None:
        end = text.find(b"\n", stop)
        return opening.start(), end if end >= 0 else len(text), ""
    if line == at or text[line:at].strip():  # it is alone, or behind a prefix
        return at, at, ""
    key, holder = max((text.rfind(f'"{name}"'.encode(), 0, at), name) for name in enclosing)
    line, start = text.rfind(b"\n", 0, max(key, 0)) + 1, text.find(b"[", max(key, 0), at)
    end = text.find(b"\n%b]" % text[line:key], stop) if key >= 0 else -1
    return max(start, 0), end + 2 + key - line if end >= 0 else len(text), holder


def _held(value: Any, enclosing: tuple[tuple[str, ...], ...], held: tuple[Any, ...]) -> Iterator[tuple[Any, Any]]:
    """The records in a value, each with what is around it."""
    if isinstance(value, list):
        for one in value:
            yield from _held(one, enclosing, held)
    elif isinstance(value, dict) and () in enclosing:
        yield value, held
    elif isinstance(value, dict):
        for name, inner in value.items():
            below = tuple(names[1:] for names in enclosing if names[0] == name)
            others = {key: one for key, one in value.items() if key != name and one is not None} if held else {}
            yield from _held(inner, below or enclosing, (*held, (name, others)) if below else held)


class Turns:
    """The turns of sessions in file order, without repeated records: one per record, or several of a record that holds
    messages; iterate it only once.

    source, options: those of :func:`turnwire.scan`. wire: one format; all by default. conversation: only this one.
    Raises the errors of a scan.
    """

    def __init__(
        self, source: Any, *, wire: str | None = None, conversation: str | None = None, **options: Any
    ) -> None:
        where = None if conversation is None else {"conversation": conversation}
        asked = {"columns": ("line", *COLUMNS), "where": where, "errors": "skip", **options}
        self._scan = scan(source, wire=wire or FORMATS, **asked)
        self._follows = bool(options.get("follow"))
        self._told = _RecentMarks()
        self._near: Counter[tuple[bool, tuple[Any, ...]]] = Counter()  # what was said lately, by echoes or not
        self._number = 0
        self._left: dict[int, list[str]] = {}
        self.tells_left = False
        """Set it to True for turns that know which members are left over."""

    @property
    def counts(self) -> Counts:
        """The numbers of records, rejects and bytes read so far."""
        return self._scan.counts

    def __iter__(self) -> Iterator[Turn]:
        last: Turn | None = None
        try:
            for turn in self._every():
                if last is not None and (turn is None or not _is_longer(last, turn)):
                    yield last
                last = turn
        except (Exception, KeyboardInterrupt):  # what was read before the error
            if last is not None:
                yield last
            raise
        if last is not None:
            yield last

    def _every(self) -> Iterator[Turn | None]:
        """The turns, also those that the next record has again; None where the next one may not come for long."""
        for batch in self._scan:
            names = ("file", *batch.names)
            rows = (row for part in slices(batch, raw_times=True) for row in zip(*part, strict=True))
            enclosing = _Holders(batch.spans())
            for number, (row, raw) in enumerate(zip(rows, map(bytes, batch.raws()), strict=True)):
                columns = dict(zip(names, (batch.file, *row), strict=True))
                table, layouts = _tables(columns["wire"])
                columns |= {name: None for name in _COUNTED if not _fits(columns[name], name)}
                fields = msgspec.json.decode(raw)
                if self._told.add(hash(raw)) and table.is_known(fields):  # of a session that was resumed
                    continue
                held = enclosing.of(number, fields, table.enclosing) if table.enclosing else ()
                for turn in self._of(columns, fields, table, layouts if self.tells_left else (), held):
                    if not table.echoes or self._adds(turn, columns["subject"] in table.echoes):
                        yield turn
            if self._follows:
                yield None

    def _adds(self, turn: Turn, echo: bool) -> bool:
        """Removes the texts of a turn that a record near it said, which is an echo if this one is none. False if
        nothing is left of the turn."""
        kept = []
        for part in turn.parts:
            said = turn.columns["file"], turn.role, part.kind, part.text
            if part.kind in _SAID and self._near[not echo, said]:
                self._near[not echo, said] -= 1
                continue
            kept.append(part)
            self._near[echo, said] += 1
        while len(self._near) > _NEAR:
            del self._near[next(iter(self._near))]
        told, turn.parts = bool(turn.parts), kept
        return bool(kept or turn.tokens or not told)

    def _of(
        self, columns: dict[str, Any], fields: dict[str, Any], table: Any, layouts: tuple[Compiled, ...], held: Any
    ) -> Iterator[Turn]:
        """The turns of a record: its messages, and its own, which goes on with the last one of the model among them."""
        reader, tokens = Reader(), {name: columns[name] for name in TOKENS if columns[name] is not None}
        if tokens and (table.cached_is_input, table.reasoning_is_output) != (False, True):
            paid = paid_counts(table, Counter(tokens), columns["total_tokens"] or 0)
            tokens |= zip(("input_tokens", "output_tokens"), map(int, paid), strict=True)
        repeated: dict[str, int] = {}
        if columns["kind"] in table.repeats:
            repeated, tokens = tokens, {}
            columns |= dict.fromkeys((*TOKENS, "total_tokens"))
        every = list(messages_of(fields, table.messages, reader)) if table.messages else []
        messages = list(self._untold(columns, every, reader)) if table.messages else []
        answers = [number for number, one in enumerate(messages) if one.role == "assistant"]
        last = answers[-1] if answers else -1 if tokens else len(messages) - 1
        said = messages[last] if last >= 0 else ParsedMessage({}, None, [])
        parts = [*said.parts, *parts_of(fields, table.parts, reader)]
        if not parts and not every and columns["text"]:
            parts = [Part("text", columns["text"])]
        if piece := table.is_piece(fields):
            parts = [part._replace(block=part.block or ()) if part.kind in _SAID else part for part in parts]
        own = _own(columns, parts, said.role or ("assistant" if piece else None))
        own.tokens, own.repeated, own.record, own.held = tokens, repeated, fields, held
        found = [own if number == last else _within(columns, one) for number, one in enumerate(messages)]
        for turn, one in zip(found, messages, strict=True):
            for name, (place, value) in one.columns.items():
                if turn.columns[name] is None or turn.columns[name] == value:
                    turn.columns[name] = value
                    reader.take(place)
        if layouts:
            own.left = dict.fromkeys(self._left_of(columns, fields, table, reader, layouts))
            own.left |= dict.fromkeys(name for _, others in held for name in others)
        found += [own] if last < 0 else []
        yield from self._apart(columns, found, own, bool(table.messages))

    def _apart(self, columns: dict[str, Any], found: list[Turn], own: Turn, retold: bool) -> Iterator[Turn]:
        """The turns of a record without calls that wait for the result beside them, nor, if retold, calls and results
        that were told before; a result that stands with its call, as in a span of a tool, is a turn of its own."""
        is_told = self._is_told if retold else self._waits
        for turn in found:
            if columns["conversation"] is not None:
                answered = {part.id for part in turn.parts if part.kind == "result"}
                turn.parts = [one for one in turn.parts if not is_told(columns["conversation"], one, answered)]
            results = [part for part in turn.parts if part.kind == "result"]
            calls = any(part.kind == "call" for part in turn.parts)
            if not (calls or turn.tokens):
                turn.role = "tool" if results and len(results) == len(turn.parts) else turn.role
                results = []
            elif results:  # beside their calls, or within a response of the model, as those of a server's tools
                turn.parts = [part for part in turn.parts if part.kind != "result"]
                if turn.role == "tool":
                    turn.role = "assistant"
                    turn.columns = {**turn.columns, "kind": "tool_call" if calls else "assistant"}
            if turn.parts or turn is own:
                yield turn
            if results:
                yield _within(columns, ParsedMessage({}, "tool", results))

    def _left_of(
        self, columns: dict[str, Any], fields: dict[str, Any], table: Any, reader: Reader, layouts: tuple[Compiled, ...]
    ) -> list[str]:
        """The members of a record that nothing took; records of one shape without messages have the same."""
        key = None
        if not table.messages:
            key = hash((_shape(fields, _words(table.name)), *[columns[name] is None for name in COLUMNS]))
            if (known := self._left.get(key)) is not None:
                return known
        for layout in layouts:
            if layout.is_signed(fields):
                layout.take(fields, columns, reader)
                break
        found = reader.left(fields)
        if key is not None and len(self._left) < MOST_SHAPES:
            self._left[key] = found
        return found

    def _untold(
        self, columns: dict[str, Any], messages: list[ParsedMessage], reader: Reader
    ) -> Iterator[ParsedMessage]:
        """The messages of a record without the history that records of its conversation told before."""
        self._number += 1
        mark = of = hash((columns["wire"], columns["conversation"] or self._number))
        if columns["id"] is not None:
            self._told.add(hash((of, columns["id"])))
        latest = max((number for number, one in enumerate(messages) if one.retold), default=-1)
        for number, one in enumerate(messages):
            if "id" in one.columns:
                known = self._told.add(hash((of, one.columns["id"][1])))
            else:
                mark = hash((mark, one.role, repr(one.parts)))
                known = self._told.add(mark) and one.retold and number != latest
            if known:
                reader.take(*(place for place, _ in one.columns.values()))
            else:
                yield one

    def _is_told(self, conversation: str, part: Part, _answered: set[str | None]) -> bool:
        """True if a record before it told of a call, or of its result."""
        return part.id is not None and self._told.add(hash((conversation, part.kind, part.id)))

    def _waits(self, conversation: str, part: Part, answered: set[str | None]) -> bool:
        """True if a call that its record answers was told by a record before it; its id may name another one later."""
        if part.id is None or part.kind not in ("call", "result"):
            return False
        waited = self._told.add(hash((conversation, "call", part.id)), part.kind == "call")
        return bool(waited and part.kind == "call" and part.id in answered)


def _own(record: dict[str, Any], parts: list[Part], role: str | None) -> Turn:
    """The turn of a record."""
    kind, call = record["kind"], record["call_id"]
    if kind == "tool_call" and record["tool"] and not any(part.kind == "call" for part in parts):
        parts.append(Part("call", id=call, name=record["tool"]))
    if kind == "tool_result" and not any(part.kind == "result" for part in parts):
        text = "\n".join(part.text for part in parts if part.kind == "text") or record["text"] or ""
        others = [part for part in parts if part.kind != "text"]
        parts = [Part("result", text, id=call, failed=bool(record["failed"])), *others]
    failed = bool(record["failed"] or record["error"])
    for sort in ("call", "result"):
        several = [number for number, part in enumerate(parts) if part.kind == sort]
        if len(several) == 1 and ((part := parts[several[0]]).id is None or sort == "result"):
            name = call if part.id is None else part.id
            parts[several[0]] = part._replace(id=name, failed=part.failed or (failed and sort == "result"))
    named = ROLE_OF_KIND.get(kind) or role or ROLES.get((record["sender"] or "").lower().removeprefix("role_"))
    counted = any(record[name] is not None for name in TOKENS)
    if kind == "tool_result" or (parts and all(part.kind == "result" for part in parts)):
        named = "tool"
    return Turn(record, named or ("assistant" if counted else None), parts, {})


def _within(record: dict[str, Any], said: ParsedMessage) -> Turn:
    """The turn of a message in a record."""
    columns = {**dict.fromkeys(record), **{name: record[name] for name in _INHERITED}}
    calls = any(part.kind == "call" for part in said.parts)
    columns["kind"] = "tool_call" if calls else _KINDS.get(said.role or "", "message")
    return Turn(columns, said.role, said.parts, {})


def _is_longer(before: Turn, now: Turn) -> bool:
    """True if a record was written again under one id: with the parts that it had, the last of which may be longer."""
    if not before.parts or before.parts[-1].block is not None or before.columns["wire"] != now.columns["wire"]:
        return False  # pieces are joined
    *some, last = before.parts
    then = next(iter(now.parts[len(some) : len(some) + 1]), None)
    if then is None or not then.text.startswith(last.text) or then._replace(text=last.text) != last:
        return False
    ids = [value_at(turn.record, path) for path in _name_of(now.columns["wire"]) for turn in (before, now)]
    unnamed = MISSING, None, "", now.columns["parent"]  # events of one span have its id, and none of their own
    return now.parts[: len(some)] == some and ids[:1] == ids[1:] != [] and ids[0] not in unnamed


def _shape(value: Any, words: frozenset[str]) -> Any:
    """An object without its values, apart from those of some members: objects of one shape are read alike."""
    if type(value) is dict:
        return tuple(
            [(key, one if key in words and type(one) is str else _shape(one, words)) for key, one in value.items()]
        )
    if type(value) is list:
        return tuple([_shape(one, words) for one in value])
    return bool(value) if type(value) is str else type(value)


@lru_cache(64)
def _words(wire: str) -> frozenset[str]:
    """The members whose words say how the records of a format are read."""
    table, layouts = _tables(wire)
    paths = [path for one in layouts for path, words in one.layout.signs.items() if words]
    paths += [rule.path for one in layouts for rule in one.layout.kinds]
    paths += [rule.when[0] for rule in table.parts if rule.when]
    return frozenset(("type", "kind", "role", *(path.rpartition("/")[2] for path in paths)))


@lru_cache(64)
def _tables(wire: str) -> tuple[Any, tuple[Compiled, ...]]:
    """The table of a format, and its layouts."""
    table = registry.formats()[wire].table
    return table, tuple(Compiled(wire, layout) for layout in table.layouts)


@lru_cache(64)
def _name_of(wire: str) -> tuple[str, ...]:
    """The path of the member that names a record of a format, if it has one: two records may have one time."""
    table, _ = _tables(wire)
    times = {source.path for layout in table.layouts for source in sources_of(layout.columns.get("time", ()))}
    return tuple(path for path in table.keys[:1] if path not in times)


def merged(found: Iterable[Turn]) -> Iterator[Turn]:
    """Merges the turns of one response that follow each other, or have results of its calls and events between them, or
    any turns if they are pieces with its id. The tokens that only records of whole sessions have are turns at the
    end."""
    told, again = _RecentMarks(), _Repeated()
    run: list[Turn] = []  # a turn, and behind one of a response what neither a user nor a model said
    runs: list[list[Turn]] = []  # in their order, from the first stream that may go on
    streams: dict[tuple[Any, ...], list[Turn]] = {}  # those of them that are responses in pieces with ids
    ended: set[tuple[Any, ...]] = set()  # streams that ended before another turn: only their tokens may follow
    open_key: tuple[Any, ...] = ()
    written_again: tuple[Any, ...] = ()  # a stream of which the first piece came again behind its end
    for turn in found:
        table = _tables(turn.columns["wire"])[0]
        # In a damaged line of a session a message of the API may be found: its key is the first id alone.
        key = (table.provider or table.name, *(turn.columns[name] for name in table.copy_of))
        known = turn.record is not None and key[1:2] not in ((), (None,), ("",))  # an empty id is none
        piece = turn.record is not None and table.is_piece(turn.record)
        begun = streams.get(key) if known and piece else None
        if begun and begun[0].columns["stop_reason"] and turn.record == begun[0].record:
            written_again = key
        elif not piece or (known and key != written_again):
            written_again = ()
        if written_again:
            continue
        if known and key != open_key and piece:
            if key in ended and not turn.tokens:
                ended.remove(key)
                streams.pop(key, None)
            run, open_key = streams.setdefault(key, []), key
        same = known and key[:2] == open_key[:2] and (key == open_key or len(key) != len(open_key))
        goes_on = bool(run) and (same or len(run) == 1) and _continues(run[0], turn, same)
        if known and turn.tokens:
            turn.tokens = told.added(open_key if same else key, turn.tokens)
        if table.repeats:
            again.add(turn)
        if goes_on:
            _add(run[0], turn)
            open_key = key if turn.columns["kind"] == "usage" else open_key
        elif not run:
            run.append(turn)
            runs.append(run)
            open_key = key if known else ()
        elif open_key and turn.role not in ("assistant", "user") and run[0].role == "assistant" and len(run) < _NEAR:
            run.append(turn)
        else:
            run, open_key = [turn], key if known else ()
            runs.append(run)
            ended = {key for key, one in streams.items() if one[0].columns["stop_reason"]}
        while runs[0] is not run:
            first = next(iter(streams), None)
            if first is not None and streams[first] is runs[0]:
                if len(runs) <= 2 * _NEAR:
                    break
                del streams[first]
            yield from _closed(runs.pop(0))
    for one in runs:
        yield from _closed(one)
    yield from again.left()


class _Repeated:
    """The tokens of records that repeat those of responses, by trace, or by session without one, as
    ``turnwire.read.usage`` counts them; of the first ``MOST``."""

    def __init__(self) -> None:
        self._said: dict[tuple[Any, ...], Counter[str]] = {}
        self._again: list[tuple[tuple[Any, ...], Turn]] = []

    def add(self, turn: Turn) -> None:
        of = "origin" if turn.columns["origin"] is not None else "conversation"
        key = turn.columns["wire"], of, turn.columns[of]
        if (turn.tokens or turn.repeated) and (len(self._said) < MOST or key in self._said):
            self._said.setdefault(key, Counter()).update(turn.tokens)
            if turn.repeated and len(self._again) < MOST:
                alone = _within(turn.columns, ParsedMessage({}, "assistant", []))
                alone.columns["kind"], alone.tokens = turn.columns["kind"], turn.repeated
                self._again.append((key, alone))

    def left(self) -> Iterator[Turn]:
        """The tokens that no response has: the most of each in a trace, and all in a session without responses."""
        most = dict[tuple[Any, ...], Turn]()
        for key, turn in self._again:
            if self._said[key] or key[1] == "origin":
                first = most.setdefault(key, turn)
                first.tokens = dict(Counter(first.tokens) | Counter(turn.tokens))
            else:
                yield turn
        for key, turn in most.items():
            turn.tokens = dict(Counter(turn.tokens) - self._said[key])
            if turn.tokens:
                yield turn


def _closed(run: list[Turn]) -> list[Turn]:
    for turn in run:
        turn.parts = joined(turn.parts)
    return run


def _continues(open_turn: Turn, turn: Turn, same: bool) -> bool:
    """True if a turn is a further part of the response before it."""
    before, now = open_turn.columns, turn.columns
    if open_turn.role != "assistant" or turn.role != "assistant" or before["file"] != now["file"]:
        return False
    pieces = bool(turn.parts) and turn.parts[0].block is not None
    if open_turn.record is None or turn.record is None or len(open_turn.parts) > (MOST if pieces else MOST_PARTS):
        return False
    alone = (before["id"] is None or now["id"] is None) and not (before["stop_reason"] and turn.parts)
    if turn.tokens and open_turn.tokens:  # two responses that are counted apart
        return same
    return same or (alone and before["wire"] == now["wire"] and before["conversation"] == now["conversation"])


def _add(open_turn: Turn, turn: Turn) -> None:
    open_turn.parts += turn.parts
    open_turn.left |= turn.left
    for name, count in turn.tokens.items():
        open_turn.tokens[name] = open_turn.tokens.get(name, 0) + count
    for name, value in turn.columns.items():
        if open_turn.columns.get(name) is None or name == "stop_reason":
            open_turn.columns[name] = value if value is not None else open_turn.columns.get(name)
