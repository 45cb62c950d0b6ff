"""Turns of sessions: the contribution of one side at one time, record by record or merged from several records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from turnwire import registry
from turnwire.contract import FORMATS
from turnwire.formats.parts import Part, parts_of
from turnwire.formats.table import sources_of
from turnwire.json.text import write
from turnwire.log.scanning import Counts, scan
from turnwire.read.usage import uncached_input

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
COLUMNS = (
    *("wire", "kind", "time", "sender", "model", "tool", "call_id", "conversation", "parent", "id", "subject", "text"),
    *("error", "failed", "sidechain", "request_id", "project", "stop_reason", "duration_ms", "cost", "sequence"),
    *("receiver", "origin", "total_tokens", *TOKENS),
)
"""The columns of a turn, behind its file and line."""
_ROLES = {"user": "user", "assistant": "assistant", "system": "system", "developer": "system", "agent": "assistant"}
_ROLE_OF_KIND = {
    "user": "user",
    "assistant": "assistant",
    "tool_call": "assistant",
    "reasoning": "assistant",
    "usage": "assistant",
    "tool_result": "tool",
    "system": "system",
}


@dataclass
class Turn:
    """One turn of a session: the contribution of one side at one time.

    columns: column -> value in a scan, from the first record that has one; times are i64 microseconds. role: "user",
    "assistant", "system", "tool", or None for other records. tokens: column -> count, excluding tokens that were
    counted before. dropped: parts that no form can represent.
    """

    columns: dict[str, Any]
    role: str | None
    parts: list[Part]
    tokens: dict[str, int]
    dropped: list[str] = field(default_factory=list)

    def text(self) -> str:
        """Its text, without reasoning, calls and results."""
        return "\n".join(part.text for part in self.parts if part.kind == "text")

    def to_dict(self) -> dict[str, Any]:
        """Returns the turn as plain values: its role, columns, tokens, the time as RFC 3339, and its parts."""
        columns = {name: value for name, value in self.columns.items() if value is not None and name not in TOKENS}
        if "time" in columns:
            columns["time"] = f"{np.datetime64(columns['time'], 'us')}Z"
        parts = [{name: value for name, value in part._asdict().items() if value} for part in self.parts]
        return {"role": self.role, **columns, **self.tokens, "parts": parts}

    def place(self) -> tuple[str, int]:
        """The file and the line of its first record."""
        return self.columns["file"], self.columns["line"]

    def dropped_of(self, kept: Iterable[str], *more: str) -> tuple[str, ...]:
        """The names of dropped items: columns that are not ``kept``, parts that no form has, and ``more``."""
        there = [name for name, value in self.columns.items() if value is not None and name not in (*kept, *TOKENS)]
        return tuple(sorted({*there, *self.dropped, *more} - SAID_BY_PARTS))


SAID_BY_PARTS = frozenset(("wire", "kind", "file", "line", "origin", "sender", "tool", "call_id", "text", "failed"))
"""Columns that say what the parts say, or where the record is."""


def arguments_of(call: Part) -> str:
    """The arguments of a call as JSON."""
    return call.arguments if isinstance(call.arguments, str) else write(call.arguments or {})


class Turns:
    """The turns of a scan, one per record; iterate it only once. ``counts``: those of the scan so far."""

    def __init__(self, source: Any, wire: str | None, conversation: str | None, options: dict[str, Any]) -> None:
        where = None if conversation is None else {"conversation": conversation}
        asked = {"columns": ("line", *COLUMNS), "where": where, "errors": "skip", **options}
        self._scan = scan(source, wire=wire or FORMATS, **asked)
        self._seen: set[bytes] = set()

    @property
    def counts(self) -> Counts:
        """The numbers of records, rejects and bytes read so far."""
        return self._scan.counts

    def __iter__(self) -> Iterator[Turn]:
        carried: dict[tuple[str, str], Any] = {}
        formats: dict[str, Any] = {}
        file, names = None, ("file", "line", *COLUMNS)
        for batch in self._scan:
            if batch.file != file:
                file = batch.file
                carried.clear()
            rows = zip(*(_values(batch, name) for name in names[1:]), strict=True)
            for row, raw in zip(rows, map(bytes, batch.raws()), strict=True):
                columns = dict(zip(names, (batch.file, *row), strict=True))
                name = columns["wire"]
                found = formats.get(name) or formats.setdefault(name, registry.wire(name))
                for name in found.table.carried:  # what is not said is as in the records before
                    key = found.name, name
                    columns[name] = carried[key] = columns[name] or carried.get(key)
                fields, mark = msgspec.json.decode(raw), blake2b(raw, digest_size=12).digest()
                if mark in self._seen and found.table.is_known(fields):  # of a session that was resumed
                    continue
                self._seen.add(mark)
                yield _turn(columns, fields, found.table)


def _values(batch: Batch, name: str) -> list[Any]:
    """The values of a column, None if there is none."""
    found: Any = batch[name]
    if batch.column(name).kind != "text":
        found = np.where(batch.valid(name), found, None)
    return list(found.tolist() if hasattr(found, "tolist") else found)


def turns(source: Any, *, wire: str | None = None, conversation: str | None = None, **options: Any) -> Turns:
    """Yields the records of sessions in file order, without repeated records.

    source, options: those of :func:`turnwire.scan`. wire: one format; all by default. conversation: only this one.
    Raises the errors of a scan.
    """
    return Turns(source, wire, conversation, options)


def merged(found: Iterable[Turn]) -> Iterator[Turn]:
    """Merges consecutive turns of one response."""
    tables = {name: one.table for name, one in registry.formats().items()}
    seen: set[int] = set()
    open_turn: Turn | None = None
    open_key: tuple[Any, ...] = ()
    for turn in found:
        table = tables[turn.columns["wire"]]
        key = tuple(turn.columns[name] for name in table.copy_of)
        known = bool(key) and key[0] not in (None, "")  # an empty id is none
        if known and not (open_turn and key == open_key):
            response = hash((table.name, *key))
            if response in seen:
                turn.tokens.clear()  # said before: it counts once
            seen.add(response)
        if open_turn is not None and _continues(open_turn, turn, known and key == open_key):
            _add(open_turn, turn)
            if turn.columns["kind"] == "usage":
                open_key = key
            continue
        if open_turn is not None:
            yield open_turn
        open_turn, open_key = turn, key if known else ()
    if open_turn is not None:
        yield open_turn


def _continues(open_turn: Turn, turn: Turn, same: bool) -> bool:
    """True if a turn is a further part of the response before it."""
    before, now = open_turn.columns, turn.columns
    if open_turn.role != "assistant" or turn.role != "assistant" or before["file"] != now["file"]:
        return False
    alone = before["id"] is None or now["id"] is None
    if turn.tokens and open_turn.tokens:  # two responses that are counted apart
        return same
    return same or (alone and before["wire"] == now["wire"] and before["conversation"] == now["conversation"])


def _add(open_turn: Turn, turn: Turn) -> None:
    open_turn.parts += turn.parts
    open_turn.dropped += turn.dropped
    for name, count in turn.tokens.items():
        open_turn.tokens[name] = max(open_turn.tokens.get(name, 0), count)
    for name, value in turn.columns.items():
        if open_turn.columns.get(name) is None or name == "stop_reason":
            open_turn.columns[name] = value if value is not None else open_turn.columns.get(name)


def _turn(record: dict[str, Any], fields: dict[str, Any], table: Any) -> Turn:
    found = parts_of(fields, table.parts)
    parts = [part for part in found if part.kind != "other"]
    kind, call = record["kind"], record["call_id"]
    if kind == "tool_call" and record["tool"] and not any(part.kind == "call" for part in parts):
        parts.append(Part("call", id=call, name=record["tool"]))
    if kind == "tool_result" and not any(part.kind == "result" for part in parts):
        text = "\n".join(part.text for part in parts) or record["text"] or ""
        parts = [Part("result", text, id=call, failed=bool(record["failed"]))]
    if [part.id for part in parts if part.kind == "call"] == [None]:
        parts = [part._replace(id=call) if part.kind == "call" else part for part in parts]
    role = _ROLE_OF_KIND.get(kind) or _ROLES.get((record["sender"] or "").lower().removeprefix("role_"))
    if parts and all(part.kind == "result" for part in parts):
        role = "tool"
    tokens = {name: record[name] for name in TOKENS if record[name] is not None}
    if tokens and table.cached_is_input is not False:
        tokens["input_tokens"] = int(uncached_input(table, Counter(tokens), record["total_tokens"] or 0))
    lost = [f"part:{part.name}" for part in found if part.kind == "other"]
    lost += [f"member:{name}" for name in fields if name not in _members(table.name)]
    return Turn(record, role, parts, tokens, lost)


@lru_cache(64)
def _members(wire: str) -> frozenset[str]:
    """The members of an object that the table of a format has something in."""
    table = registry.formats()[wire].table
    paths = {rule.at or path for rule in table.parts for path in (rule.id, rule.text, *rule.arguments)}
    for layout in table.layouts:
        paths |= {*layout.signs, *layout.needs, *(rule.path for rule in layout.kinds)}
        for given in layout.columns.values():
            paths |= {source.path for source in sources_of(given)}
    return frozenset(path.partition("/")[0] for path in paths)
