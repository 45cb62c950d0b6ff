"""Spans of OpenTelemetry: from the turns of sessions, and as the JSON of OTLP.

Their attributes are those of the semantic conventions for generative AI, 1.37.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from turnwire import __version__, registry
from turnwire.formats.parts import Part
from turnwire.json.text import write
from turnwire.read.calls import Unnamed
from turnwire.read.turns import Turn, arguments_of

_MOST_OPEN = 10_000
"""Calls of tools that wait for their results at one time; beyond it the oldest are written without."""
_ATTRIBUTES = {
    "model": "gen_ai.response.model",
    "conversation": "gen_ai.conversation.id",
    "request_id": "gen_ai.response.id",
    "project": "process.working_directory",
    "error": "error.type",
}
_KEPT = ("time", "id", "parent", "stop_reason", "duration_ms", *_ATTRIBUTES)
_TOKEN_ATTRIBUTES = {
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
}


@dataclass
class Span:
    """A span by the semantic conventions for generative AI (1.37): a response of a model, or a call of a tool.

    trace, id, parent: 16, 8 and 8 bytes, made from the ids of the conversation, the response and the call, so that one
    session always gives the same. start, end: i64 nanoseconds since 1970. attributes: texts, whole numbers or lists of
    texts. service: the format it was read from. of: the file, the line, and what was dropped.
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
    service: str
    of: tuple[str, int, tuple[str, ...]]


def spans(found: Iterable[Turn]) -> Iterator[Span | Turn]:
    """The spans of turns: one a response of a model, begun when the turn before it was over, and one a call of a tool,
    from the call to its result. A turn that is neither is given as it is."""
    open_calls: dict[str, Span] = {}
    unnamed = Unnamed()
    last: dict[Any, int] = {}
    for turn in found:
        at = (turn.columns["time"] or 0) * 1000
        conversation = turn.columns["conversation"]
        for part in turn.parts:
            name = part.id or unnamed.answered(part.name) if part.kind == "result" else None
            if name in open_calls:
                call = open_calls.pop(name)
                call.end, call.failed = max(at, call.start), part.failed
                call.attributes["gen_ai.tool.call.result"] = part.text
                yield call
        if turn.role == "assistant" and (turn.columns["model"] or turn.tokens):
            response = _response(turn, at, last.get(conversation, at))
            yield response
            for part in turn.parts:
                if part.kind == "call":
                    if len(open_calls) >= _MOST_OPEN:
                        yield open_calls.pop(next(iter(open_calls)))
                    name = part.id or f"{response.id.hex()} {len(open_calls)}"
                    if part.id is None:
                        unnamed.ask(part.name, name)
                    open_calls[name] = _call(turn, part, response, at)
        elif turn.role != "tool":
            yield turn
        if at:
            last[conversation] = at
    yield from open_calls.values()


def _digest(size: int, *names: Any) -> bytes:
    return blake2b("\0".join(map(str, names)).encode("utf-8", "surrogatepass"), digest_size=size).digest()


def _trace(turn: Turn) -> bytes:
    return _digest(16, turn.columns["wire"], turn.columns["conversation"] or turn.columns["file"])


def _response(turn: Turn, at: int, before: int) -> Span:
    columns, tokens = turn.columns, turn.tokens
    provider = registry.formats()[columns["wire"]].table.provider
    attributes: dict[str, Any] = {"gen_ai.operation.name": "chat"}
    if provider is not None:
        attributes["gen_ai.provider.name"] = provider
    attributes |= {of: columns[name] for name, of in _ATTRIBUTES.items() if columns[name] is not None}
    attributes.setdefault("gen_ai.response.id", columns["id"] or "")
    if columns["stop_reason"]:
        attributes["gen_ai.response.finish_reasons"] = [columns["stop_reason"]]
    if tokens:  # by the conventions the input has in it what came from a cache
        counted = ("input_tokens", "cache_read_tokens", "cache_write_tokens")  # the conventions count all of them
        attributes["gen_ai.usage.input_tokens"] = sum(tokens.get(name, 0) for name in counted)
    attributes |= {of: tokens[name] for name, of in _TOKEN_ATTRIBUTES.items() if name in tokens}
    said = [shape for part in turn.parts if (shape := _message_part(part)) is not None]
    if said:
        attributes["gen_ai.output.messages"] = write([{"role": "assistant", "parts": said}])
    start = at - columns["duration_ms"] * 1_000_000 if columns["duration_ms"] else min(before, at)
    lost = turn.dropped_of(_KEPT, *(("reasoning_tokens",) if "reasoning_tokens" in tokens else ()))
    name = f"chat {columns['model']}" if columns["model"] else "chat"
    trace = _trace(turn)
    key = _digest(8, trace.hex(), *turn.place(), columns["id"])
    return Span(trace, key, None, name, "client", start, at, attributes, False, columns["wire"], (*turn.place(), lost))


def _message_part(part: Part) -> dict[str, Any] | None:
    if part.kind == "call":
        return {"type": "tool_call", "id": part.id, "name": part.name, "arguments": part.arguments}
    if part.kind == "result":
        return {"type": "tool_call_response", "id": part.id, "response": part.text}
    return {"type": part.kind, "content": part.text}


def _call(turn: Turn, part: Part, response: Span, at: int) -> Span:
    attributes: dict[str, Any] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": part.name or ""}
    if part.id is not None:
        attributes["gen_ai.tool.call.id"] = part.id
    attributes["gen_ai.tool.call.arguments"] = arguments_of(part)
    if turn.columns["conversation"]:
        attributes["gen_ai.conversation.id"] = turn.columns["conversation"]
    key = _digest(8, response.id.hex(), part.id, part.name)
    name = f"execute_tool {part.name}" if part.name else "execute_tool"
    place = (*turn.place(), ())
    return Span(response.trace, key, response.id, name, "internal", at, at, attributes, False, response.service, place)


def span_line(span: Span) -> str:
    """A span as a request to a collector: JSON of OTLP, with the name of its format as that of the service."""
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
    return write({"resourceSpans": [{**_resource(span.service), "scopeSpans": [{**_SCOPE, "spans": [found]}]}]})


def log_line(turn: Turn) -> str:
    """A turn as a log record of OTLP in a request to a collector."""
    columns = turn.columns
    attributes = {"event.name": columns["kind"], "gen_ai.conversation.id": columns["conversation"]}
    found = {
        "timeUnixNano": str((columns["time"] or 0) * 1000),
        "traceId": _trace(turn).hex(),
        "body": {"stringValue": turn.text()},
        "attributes": _attributes({name: value for name, value in attributes.items() if value is not None}),
    }
    return write({"resourceLogs": [{**_resource(columns["wire"]), "scopeLogs": [{**_SCOPE, "logRecords": [found]}]}]})


_SCOPE = {"scope": {"name": "turnwire", "version": __version__}}
_SPAN_KINDS = {"internal": 1, "client": 3}


def _resource(service: str) -> dict[str, Any]:
    return {"resource": {"attributes": _attributes({"service.name": service})}}


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_value(one) for one in value]}}
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}
