"""Writes sessions in the formats of other tools, and as spans of OpenTelemetry, and lists the values that are dropped.

The attributes of spans are those of the semantic conventions for generative AI, 1.37.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NamedTuple

from turnwire import __version__, registry
from turnwire.errors import expect_one_of
from turnwire.formats.anthropic import USAGE
from turnwire.formats.otlp import GEN_AI, TABLE as OTLP
from turnwire.formats.parts import KINDS_OF_PARTS, Part, as_text, unwrapped
from turnwire.formats.table import sources_of
from turnwire.json.plan import value_at
from turnwire.log.scanning import Counts
from turnwire.read.pairing import CallsWithoutIds
from turnwire.read.turns import COLUMNS, TOKENS, Turn, Turns, arguments_of, merged, write

_MOST_OPEN = 1_000
"""Calls of tools that wait for their results, and conversations, at one time; of more the oldest are not waited for."""
_ATTRIBUTES = {
    **{name: sources_of(given)[0].path.partition("[")[2].partition("]")[0] for name, given in GEN_AI.items()},
    **{"conversation": "gen_ai.conversation.id", "id": "gen_ai.response.id", "error": "error.type"},
    "request_id": "turnwire.request_id",
}
"""Columns -> the attributes of the conventions; the others are attributes of turnwire."""
_OF_RESPONSE = tuple(name for name in COLUMNS if name not in ("conversation", "project"))
_OTHERWISE = ("wire", "file", "line", "text", "kind")
"""Columns that are no attributes: the service, the place, and what the rest says."""
_SPANS, _LOGS = OTLP.enclosing


@dataclass
class Span:
    """A span by the semantic conventions for generative AI (1.37): a response of a model, or a call of a tool.

    trace, id, parent: 16, 8 and 8 bytes, made from the ids of the conversation, the response and the call, so that one
    session always gives the same. start, end: i64 nanoseconds since 1970. attributes: texts, numbers or lists of texts.
    held: see ``Turn``; the resource names the source format as its service, unless it came from OTLP. of: the
    file, the line, and what was dropped. record: the span of OTLP that it was read from.
    """

    trace: bytes
    id: bytes
    parent: bytes | None
    name: str
    kind: str
    start: int
    end: int
    attributes: dict[str, Any]
    failed: bool
    held: tuple[tuple[str, dict[str, Any]], ...]
    of: tuple[str, int, tuple[str, ...]]
    record: dict[str, Any] | None = None

    def resource(self) -> dict[str, Any]:
        """The attributes of its resource."""
        said = [others.get("resource") for _, others in self.held]
        return _plain(next((one.get("attributes") for one in said if isinstance(one, dict)), None))


def spans(found: Iterable[Turn]) -> Iterator[Span | Turn]:
    """The spans of turns: one a response of a model, begun when the turn before it was over, and one a call of a tool,
    from the call to its result. A turn that has more, or is neither, is given with what is not in spans; one that was
    read from OTLP as it is."""
    open_calls: dict[str, Span] = {}
    unnamed = CallsWithoutIds()
    last: dict[Any, int] = {}
    for turn in found:
        if turn.columns["wire"] == "otlp":
            if turn.record is not None:
                yield turn if turn.columns["kind"] == "log" else _as_it_was(turn.record, turn)
            continue
        at = (turn.columns["time"] or 0) * 1000
        conversation = turn.columns["conversation"]
        closed, done = [], []
        for part in turn.parts:
            name = part.id or unnamed.answered(part.name) if part.kind == "result" else None
            if name in open_calls:
                call = open_calls.pop(name)
                call.end, call.failed = max(at, call.start), part.failed
                call.attributes["gen_ai.tool.call.result"] = part.text
                closed.append(call)
                done.append(part)
        response = None
        if turn.role == "assistant" and (turn.columns["model"] or turn.tokens):
            response = _response(turn, at, last.get(conversation, at))
            yield response
        calls = [part for part in turn.parts if part.kind == "call"]
        for part in calls:
            if len(open_calls) >= _MOST_OPEN:
                yield open_calls.pop(next(iter(open_calls)))
            call = _call(turn, part, response, at)
            name = part.id or f"{call.id.hex()} {len(open_calls)}"
            if part.id is None:
                unnamed.ask(part.name, name)
            open_calls[name] = call
        rest = [part for part in turn.parts if part.kind != "call" and part not in done]
        if closed:  # what else is in the record of its result
            file, line, lost = closed[0].of
            closed[0].of = file, line, tuple(sorted({*lost, *_of(turn)[2]}))
            closed[0].attributes |= _named(turn, ("conversation", "project", "tool", "call_id", "failed", "time"))
        yield from closed
        if response is None and (rest or not (closed or calls)):
            turn.parts = rest
            if closed:  # their spans have it
                turn.columns = {**turn.columns, "tool": None, "call_id": None, "failed": None}
            yield turn
        if at:
            last.pop(conversation, None)
            last[conversation] = at
            if len(last) > _MOST_OPEN:
                del last[next(iter(last))]
    yield from open_calls.values()


def _digest(size: int, *names: Any) -> bytes:
    return blake2b("\0".join(map(str, names)).encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _trace(turn: Turn) -> bytes:
    return _digest(16, turn.columns["wire"], turn.columns["conversation"] or turn.columns["file"])


def _attribute(column: str) -> str:
    return _ATTRIBUTES.get(column, f"turnwire.{column}")


def _named(turn: Turn, without: Iterable[str]) -> dict[str, Any]:
    """The columns of a turn as attributes."""
    without = (*_OTHERWISE, *without, *TOKENS)
    said = {name: one for name, one in turn.columns.items() if name not in without and one is not None}
    said = {name: one for name, one in said.items() if not turn.says(name, one)}
    return {_attribute(name): [one] if name == "stop_reason" else one for name, one in said.items()}


def _response(turn: Turn, at: int, before: int) -> Span:
    columns, tokens = turn.columns, turn.tokens
    provider = registry.formats()[columns["wire"]].table.provider
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    if provider is not None:
        attributes["gen_ai.provider.name"] = provider
    attributes |= _named(turn, ("tool", "call_id")) | {_attribute(name): tokens[name] for name in tokens}
    if tokens:  # by the conventions the input has in it what came from a cache
        counted = ("input_tokens", "cache_read_tokens", "cache_write_tokens")  # the conventions count all of them
        attributes["gen_ai.usage.input_tokens"] = sum(tokens.get(name, 0) for name in counted)
    if turn.parts:
        attributes["gen_ai.output.messages"] = _message(turn.role, turn.parts)
    start = at - columns["duration_ms"] * 1_000_000 if columns["duration_ms"] else min(before, at)
    name = f"chat {columns['model']}" if columns["model"] else "chat"
    trace = _trace(turn)
    key = _digest(8, trace.hex(), *turn.place(), columns["id"])
    failed = bool(columns["failed"])
    return Span(trace, key, None, name, "client", start, at, attributes, failed, _around(turn), _of(turn))


def _of(turn: Turn) -> tuple[str, int, tuple[str, ...]]:
    return (*turn.place(), turn.dropped(turn.columns, KINDS_OF_PARTS))


def _message(role: str | None, parts: Iterable[Part]) -> str:
    """A message by the conventions."""
    return write([{"role": role or "user", "parts": [_message_part(part) for part in parts]}])


def _message_part(part: Part) -> dict[str, Any]:
    if part.kind == "call":
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
    if part.kind == "result":
        return {"type": "tool_call_response", "id": part.id, "response": part.text}
    if part.kind == "data":
        is_typed = isinstance(part.arguments, dict) and part.arguments.get("type") == part.name is not None
        return part.arguments if is_typed else {"type": part.name or "data", "content": part.arguments}
    return {"type": part.kind, "content": part.text}


def _call(turn: Turn, part: Part, response: Span | None, at: int) -> Span:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": part.name or ""}
    if part.id is not None:
        attributes["gen_ai.tool.call.id"] = part.id
    attributes["gen_ai.tool.call.arguments"] = arguments_of(part)
    attributes |= _named(turn, _OF_RESPONSE if response else ("tool", "call_id", "time"))
    parent = response.id if response else None
    key = _digest(8, parent.hex() if parent else turn.place(), part.id, part.name)
    name = f"execute_tool {part.name}" if part.name else "execute_tool"
    of = (*turn.place(), ()) if response else _of(turn)
    return Span(_trace(turn), key, parent, name, "internal", at, at, attributes, False, _around(turn), of)


def _as_it_was(record: dict[str, Any], turn: Turn) -> Span:
    """A span that was read from OTLP."""
    ids = (str(record.get(name) or "") for name in ("traceId", "spanId", "parentSpanId"))
    trace, own, parent = (bytes.fromhex(one) if _HEX.fullmatch(one) else one.encode() for one in ids)
    start = _nanos(record.get("startTimeUnixNano"), (turn.columns["time"] or 0) * 1000)
    end = _nanos(record.get("endTimeUnixNano"), start)
    attributes = _plain(record.get("attributes"))
    failed = value_at(record, "status/code") in (2, "STATUS_CODE_ERROR")
    name, kind = str(record.get("name") or ""), _KINDS.get(str(record.get("kind")), "internal")
    of = (*turn.place(), unknown(turn))
    return Span(trace, own, parent or None, name, kind, start, end, attributes, failed, _around(turn), of, record)


def _plain(attributes: Any) -> dict[str, Any]:
    """Attributes of OTLP as texts and numbers."""
    said = unwrapped({"kvlistValue": {"values": attributes}})
    return {key: one if isinstance(one, str | int | float) else write(one) for key, one in said.items()}


def unknown(turn: Turn) -> tuple[str, ...]:
    """The names of what was around a record of OTLP and cannot be told."""
    return tuple(f"member:{name}" for _, others in turn.held for name, one in others.items() if one is None)


def _around(turn: Turn) -> tuple[tuple[str, dict[str, Any]], ...]:
    """The members around a span or a log record in an export, as they were if it was read from OTLP."""
    wire = turn.columns["wire"]
    return turn.held if wire == "otlp" else held_by(wire)


def held_by(service: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """A resource with the name of a service, and this package as the scope."""
    resource = {"attributes": _attributes({"service.name": service})}
    return ("", {}), ("", {"resource": resource}), ("", {"scope": {"name": "turnwire", "version": __version__}})


def _request(names: tuple[str, ...], record: Any, held: tuple[tuple[str, dict[str, Any]], ...]) -> str:
    """A span or a log record as a request to a collector."""
    for name, (_, others) in zip(reversed(names), reversed(held or (("", {}),) * len(names)), strict=True):
        record = {**{key: one for key, one in others.items() if one is not None}, name: [record]}
    return write(record)


def _nanos(value: Any, otherwise: int) -> int:
    return int(value) if isinstance(value, str | int) and str(value).isdecimal() else otherwise


def span_line(span: Span) -> str:
    """A span as a request to a collector: JSON of OTLP, with its format as the service, or as it was read from OTLP."""
    if span.record is not None:
        return _request(_SPANS, span.record, span.held)
    parent = {} if span.parent is None else {"parentSpanId": span.parent.hex()}
    found = {
        "traceId": span.trace.hex(),
        "spanId": span.id.hex(),
        **parent,
        "name": span.name,
        "kind": _SPAN_KINDS[span.kind],
        "startTimeUnixNano": str(span.start),
        "endTimeUnixNano": str(span.end),
        "attributes": _attributes(span.attributes),
        "status": {"code": 2} if span.failed else {},
    }
    return _request(_SPANS, found, span.held)


def log_line(turn: Turn) -> str:
    """A turn as a log record of OTLP in a request to a collector."""
    if turn.columns["wire"] == "otlp":
        return _request(_LOGS, turn.record, turn.held)
    attributes = {"event.name": turn.columns["kind"], **_named(turn, ("time",))}
    if others := [part for part in turn.parts if part.kind != "text"]:
        attributes["gen_ai.input.messages"] = _message(turn.role, others)
    found = {
        "timeUnixNano": str((turn.columns["time"] or 0) * 1000),
        "traceId": _trace(turn).hex(),
        "body": {"stringValue": turn.text()},
        "attributes": _attributes(attributes),
    }
    return _request(_LOGS, found, _around(turn))


_SPAN_KINDS = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_KINDS = {str(word): name for name, one in _SPAN_KINDS.items() for word in (one, f"SPAN_KIND_{name.upper()}")}
_HEX = re.compile("(?:[0-9a-fA-F]{2})+")


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    if isinstance(value, bool | float):
        return {"boolValue" if isinstance(value, bool) else "doubleValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


class Exported(NamedTuple):
    """A line of an export. file, line: those of its first record. dropped: the columns and parts that the form cannot
    represent. text: None if the form can represent nothing of the record."""

    text: str | None
    file: str
    line: int
    dropped: tuple[str, ...]


class Export:
    """The lines of an export; iterate it only once. ``counts``: those of the scan so far."""

    def __init__(self, found: Turns, to: str) -> None:
        self._turns, self._to = found, to
        found.tells_left = True

    @property
    def counts(self) -> Counts:
        """The numbers of records, rejects and bytes read so far."""
        return self._turns.counts

    def __iter__(self) -> Iterator[Exported]:
        return FORMS[self._to](merged(self._turns))


def export(source: Any, to: str, *, wire: str | None = None, **options: Any) -> Export:
    """Exports sessions in the format of another tool, line by line, each with the values that it drops.

    source, options: those of :func:`turnwire.scan`. to: "jsonl" (the columns and parts of each turn), "openai" and
    "anthropic" (messages for their APIs), "otlp" (OpenTelemetry spans in JSON, one collector request per line). wire:
    one format; all by default. Repeated records are omitted, and tokens of one response are counted once. Raises
    UnknownName for another ``to``, and the errors of a scan.
    """
    expect_one_of(to, "to", FORMS)
    return Export(Turns(source, wire=wire, **options), to)


_BLOCKS = ("text", "image", "document")
_TOKENS_OF_ANTHROPIC = {name: path.rpartition("/")[2] for name, path in USAGE.items()}
_KEPT_BY_ANTHROPIC = ("id", "model", "stop_reason", "cache_write_1h_tokens", *_TOKENS_OF_ANTHROPIC)


def _as_lines(found: Iterable[Turn]) -> Iterator[Exported]:
    """Each turn with its columns, tokens and parts."""
    for turn in found:
        yield Exported(write(turn.to_dict()), *turn.place(), turn.dropped(turn.columns, KINDS_OF_PARTS))


def _as_openai(found: Iterable[Turn]) -> Iterator[Exported]:
    """Messages of a chat: results of tools are messages of their own."""
    for turn in found:
        results = [part for part in turn.parts if part.kind == "result"]
        lines: list[dict[str, Any]] = [
            {"role": "tool", "tool_call_id": part.id, "content": part.text} for part in results
        ]
        lost = turn.dropped((), ("text", "call", "result"))
        lost += ("failed",) * any(part.failed for part in results)
        calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments_of(call)}}
            for call in turn.parts
            if call.kind == "call"
        ]
        text = turn.text()
        if turn.role in ("user", "assistant", "system") and (text or calls):
            message: dict[str, Any] = {"role": turn.role, "content": text or None}
            lines.insert(0 if calls else len(lines), {**message, "tool_calls": calls} if calls else message)
        elif lines and text:
            lost += ("text",)
        yield from _written(turn, lines, lost)


def _written(turn: Turn, lines: list[dict[str, Any]], lost: Iterable[str]) -> Iterator[Exported]:
    """The lines of a turn; a turn without one is told as dropped."""
    if not lines:
        cost = ("cost",) * (turn.columns["cost"] is not None)
        yield Exported(None, *turn.place(), tuple(sorted((turn.columns["kind"], *turn.tokens, *cost))))
    for number, line in enumerate(lines):
        yield Exported(write(line), *turn.place(), () if number else tuple(sorted(set(lost))))


def _as_anthropic(found: Iterable[Turn]) -> Iterator[Exported]:
    """Messages with blocks; those of a model with its id, model and tokens."""
    for turn in found:
        blocks = [_block(part) for part in turn.parts if part.kind != "data" or _is_block(part.arguments)]
        if turn.role in (None, "system") or not blocks:
            yield from _written(turn, [], ())
            continue
        message: dict[str, Any] = {"role": "assistant" if turn.role == "assistant" else "user", "content": blocks}
        if turn.role == "assistant":
            named = {"id": turn.columns["id"], "model": turn.columns["model"]}
            message = {"type": "message", **message, **{name: one for name, one in named.items() if one is not None}}
            message["stop_reason"] = turn.columns["stop_reason"]
            message["usage"] = {
                of: turn.tokens[name] for name, of in _TOKENS_OF_ANTHROPIC.items() if name in turn.tokens
            }
            if hour := turn.tokens.get("cache_write_1h_tokens"):
                short = turn.tokens.get("cache_write_tokens", hour) - hour
                kinds = {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": hour}
                message["usage"]["cache_creation"] = kinds
        kept = _KEPT_BY_ANTHROPIC if turn.role == "assistant" else ()
        others = [part for part in turn.parts if part.kind != "data" or not _is_block(part.arguments)]
        yield from _written(turn, [message], replace(turn, parts=others).dropped(kept, KINDS_OF_PARTS[:4]))


def _is_block(value: Any) -> bool:
    """True if a value is a block of text, an image or a document as Anthropic's API takes them."""
    member, kind = ("text", str) if isinstance(value, dict) and value.get("type") == "text" else ("source", dict)
    return isinstance(value, dict) and value.get("type") in _BLOCKS and isinstance(value.get(member), kind)


def _block(part: Part) -> Any:
    if part.kind == "data":
        return part.arguments
    if part.kind == "text":
        return {"type": "text", "text": part.text}
    if part.kind == "reasoning":
        return {"type": "thinking", "thinking": part.text}
    if part.kind == "call":
        arguments = part.arguments if isinstance(part.arguments, dict) else {"input": part.arguments}
        return {"type": "tool_use", "id": part.id, "name": part.name, "input": arguments if part.arguments else {}}
    said = part.arguments if isinstance(part.arguments, list) else []
    blocks = [one if _is_block(one) else {"type": "text", "text": as_text(one)} for one in said]
    plain = len(blocks) < 2 and all(one["type"] == "text" for one in blocks)
    block = {"type": "tool_result", "tool_use_id": part.id, "content": part.text if plain else blocks}
    return {**block, "is_error": True} if part.failed else block


def _as_otlp(found: Iterable[Turn]) -> Iterator[Exported]:
    """Spans as the JSON of OTLP; a turn that is no span is a log record."""
    for one in spans(found):
        if isinstance(one, Span):
            yield Exported(span_line(one), *one.of)
        else:
            lost = unknown(one) if one.columns["wire"] == "otlp" else one.dropped(one.columns, KINDS_OF_PARTS)
            yield Exported(log_line(one), *one.place(), lost)


FORMS: dict[str, Callable[[Iterable[Turn]], Iterator[Exported]]] = {
    "jsonl": _as_lines,
    "openai": _as_openai,
    "anthropic": _as_anthropic,
    "otlp": _as_otlp,
}
"""The forms of an export."""
