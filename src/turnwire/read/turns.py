"""Turns of sessions: what one side said at one time, put together from the records that say it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from turnwire import registry
from turnwire.formats.parts import Part, parts_of
from turnwire.formats.table import Digits, Epoch, Loose
from turnwire.json.text import write
from turnwire.read.conversation import COLUMNS

TOKENS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_MORE = ("time", "request_id", "project", "stop_reason", "duration_ms", "cost", "sequence", "receiver", "total_tokens")
READ = tuple(dict.fromkeys((*COLUMNS, *_MORE, *TOKENS)))
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
    """One turn of a session: what was said at one time by one side.

    columns: column -> value, as a scan gives it, of the first record that has one; times are i64 microseconds. role:
    "user", "assistant", "system", "tool", or None for what nobody said. tokens: column -> count, without what was
    counted before. dropped: parts that no form has.
    """

    columns: dict[str, Any]
    role: str | None
    parts: list[Part]
    tokens: dict[str, int]
    dropped: list[str] = field(default_factory=list)

    def text(self) -> str:
        """What it says, without reasoning, calls and results."""
        return "\n".join(part.text for part in self.parts if part.kind == "text")

    def place(self) -> tuple[str, int]:
        """The file and the line of its first record."""
        return self.columns["file"], self.columns["line"]

    def dropped_of(self, kept: Iterable[str], *more: str) -> tuple[str, ...]:
        """The names of what a form loses: columns that are not ``kept``, parts that none has, and ``more``."""
        there = [name for name, value in self.columns.items() if value is not None and name not in (*kept, *TOKENS)]
        return tuple(sorted({*there, *self.dropped, *more} - SAID_BY_PARTS))


SAID_BY_PARTS = frozenset(("wire", "kind", "file", "line", "sender", "tool", "call_id", "text", "failed"))
"""Columns that say what the parts say, or where the record is."""


def arguments_of(call: Part) -> str:
    """The arguments of a call as JSON."""
    return call.arguments if isinstance(call.arguments, str) else write(call.arguments or {})


def merged(records: Iterable[dict[str, Any]]) -> Iterator[Turn]:
    """The turns of records: those of one response that follow each other are one."""
    tables = {name: found.table for name, found in registry.formats().items()}
    seen: set[int] = set()
    carried: dict[tuple[str, str], Any] = {}
    open_turn: Turn | None = None
    open_key: tuple[Any, ...] = ()
    file = None
    for record in records:
        table = tables[record["wire"]]
        if record["file"] != file:
            file = record["file"]
            carried.clear()
        for name in table.carried:
            record[name] = carried[table.name, name] = record[name] or carried.get((table.name, name))
        turn = _turn(record, table)
        key = tuple(record[name] for name in table.copy_of)
        known = bool(key) and key[0] is not None
        if known and not (open_turn and key == open_key):
            response = hash((table.name, *key))
            if response in seen:
                turn.tokens.clear()  # said before: it counts once
            seen.add(response)
        if open_turn is not None and _continues(open_turn, turn, known and key == open_key):
            _add(open_turn, turn)
            if record["kind"] == "usage":
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


def _turn(record: dict[str, Any], table: Any) -> Turn:
    fields = record.pop("fields")
    found = parts_of(fields, table.parts)
    parts = [part for part in found if part.kind != "other"]
    kind, call = record["kind"], record["call_id"]
    if kind == "tool_call" and record["tool"] and not any(part.kind == "call" for part in parts):
        parts.append(Part("call", id=call, name=record["tool"]))
    if kind == "tool_result" and not any(part.kind == "result" for part in parts):
        text = "\n".join(part.text for part in parts) or record["text"] or ""
        parts = [Part("result", text, id=call, failed=bool(record["failed"]))]
    parts = [part._replace(id=call) if part.kind == "call" and part.id is None else part for part in parts]
    role = _ROLE_OF_KIND.get(kind) or _ROLES.get((record["sender"] or "").lower().removeprefix("role_"))
    if parts and all(part.kind == "result" for part in parts):
        role = "tool"
    tokens = {name: record[name] for name in TOKENS if record[name] is not None}
    if tokens and table.cached_is_input:
        tokens["input_tokens"] = max(tokens.get("input_tokens", 0) - tokens.get("cache_read_tokens", 0), 0)
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
            sources = (given,) if isinstance(given, str | Loose | Digits | Epoch) else given
            paths |= {source if isinstance(source, str) else source.path for source in sources}
    return frozenset(path.partition("/")[0] for path in paths)
