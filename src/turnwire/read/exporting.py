"""Writes sessions in the formats of other tools, and lists the values that are dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from turnwire.errors import expect_one_of
from turnwire.formats.anthropic import USAGE
from turnwire.formats.parts import KINDS_OF_PARTS, Part, as_text
from turnwire.log.scanning import Counts
from turnwire.read.spans import Span, log_line, span_line, spans, unknown
from turnwire.read.turns import Turn, Turns, arguments_of, merged, turns, write


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


def export(source: Any, to: str, *, wire: str | None = None, conversation: str | None = None, **options: Any) -> Export:
    """Exports sessions in the format of another tool, line by line, each with the values that it drops.

    source, options: those of :func:`turnwire.scan`. to: "jsonl" (the columns and parts of each turn), "openai" and
    "anthropic" (messages for their APIs), "otlp" (OpenTelemetry spans in JSON, one collector request per line). wire:
    one format; all by default. conversation: only this one. Repeated records are omitted, and tokens of one response
    are counted once. Raises UnknownName for another ``to``, and the errors of a scan.
    """
    expect_one_of(to, "to", FORMS)
    return Export(turns(source, wire=wire, conversation=conversation, **options), to)


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
