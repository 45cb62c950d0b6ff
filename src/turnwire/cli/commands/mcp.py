"""``turnwire mcp``: turnwire's tools for models, over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from inspect import signature
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import click

import turnwire
from turnwire import registry
from turnwire.cli import options
from turnwire.cli.outcome import GOOD
from turnwire.errors import UnknownName, WireError
from turnwire.json.text import write

if TYPE_CHECKING:
    from turnwire.log import Counts
    from turnwire.read.located import Located
    from turnwire.sap import Agent, Context, Task

MOST, MOST_BYTES = 200, 1 << 18
"""Records, faults or groups that one answer names, and the bytes that they have together."""
_ARGUMENTS: dict[str, dict[str, Any]] = {
    "text": {"type": "string", "description": "text with messages in it: a log, a page, one message"},
    "wire": {"description": "only this wire"},
    "by": {"description": "the value that groups the records", "enum": options.BY},
    "to": {"description": "the wire to write"},
    "tokenizer": {"type": "string"},
    "context": {
        "type": "object",
        "description": "values that the text lacks, as maps of names: agents, conversations, ids, uuids, roles, now, "
        "defaults, values",
    },
    "nearest": {"type": "boolean", "description": "use the nearest kind if there is no counterpart"},
}
"""The schema of each argument of a tool; "wire" and "to" are names of the wires there are."""


@click.command("mcp", short_help="Serve scan, stats, validate, tokens, convert and extract as MCP tools.")
@click.option("--http", "port", type=click.IntRange(1, 65535), help="Serve HTTP on this port of 127.0.0.1, path /mcp.")
def command(port: int | None) -> int:
    """Serves turnwire's tools to a model: on standard input and output, or with --http on a port of 127.0.0.1.

    The tools read only the text that they receive, not files. This needs the extras mcp and schema.
    """
    from turnwire.sap.transports import mcp

    async def serve() -> None:
        async with tools() as agent:
            server = mcp.server(agent, name="turnwire")
            if port is None:
                await mcp.serve_stdio(server)
                return
            import uvicorn

            config = uvicorn.Config(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="warning")
            await uvicorn.Server(config).serve()

    import asyncio

    asyncio.run(serve())
    return GOOD


def tools() -> Agent:
    """The agent whose capabilities are the tools. Needs the extra ``schema``."""
    from turnwire import sap

    made = sap.Agent("turnwire", workers=2, seconds=60.0)
    for handler in (_scan, _stats, _validate, _tokens, _convert, _extract):
        arguments = signature(handler).parameters
        properties = {name: dict(_ARGUMENTS[name]) for name in arguments}
        for name in {"wire", "to"} & properties.keys():
            properties[name]["enum"] = list(registry.names())
        schema = {
            "type": "object",
            "properties": properties,
            "required": [name for name, one in arguments.items() if one.default is one.empty],
            "additionalProperties": False,
        }
        made.capability(handler.__name__.removeprefix("_"), schema=schema)(_refusing(handler))
    return made


def _refusing(handler: Callable[..., Any]) -> Callable[[Task, Context], Any]:
    """Bad arguments as a refusal in words, which a model can act on."""

    def handle(task: Task, _context: Context) -> Any:
        from turnwire import sap

        try:
            return handler(**task.payload)
        except (WireError, ValueError) as error:
            raise sap.Refusal(sap.ErrorCode.UNPROCESSABLE, str(error)) from error

    handle.__doc__ = handler.__doc__
    return handle


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _located(text: str, wire: str | None = None) -> list[Located]:
    """The records and rejects of a text, in order."""
    from turnwire.read.located import located

    return list(located(_bytes(text), wire))


def _counts(counts: Counts) -> dict[str, Any]:
    """The counts of a scan, by the names that they have everywhere."""
    from turnwire.log.scanning import TALLIES

    wires = {name: count for name, count in sorted(counts.wires.items()) if count}
    return {**dict(zip(TALLIES, counts, strict=False)), "wires": wires, "reasons": counts.reasons}


def _bounded(items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], int]:
    """The first items, within the bounds of one answer, and how many more there are."""
    sizes = accumulate(len(write(item).encode("utf-8", "replace")) for item in items[:MOST])
    named = [item for item, size in zip(items, sizes, strict=False) if size <= MOST_BYTES]
    return named, len(items) - len(named)


def _scan(text: str, wire: str | None = None) -> dict[str, Any]:
    """Finds the messages of agents in a text: the wire, line, byte offset and length of each."""
    names = ("wire", "line", "offset", "length")
    scan = turnwire.scan(_bytes(text), wire=wire, columns=names, errors="skip")
    rows = (row for batch in scan for row in zip(*(batch[name].tolist() for name in names), strict=True))
    places, more = _bounded([dict(zip(names, row, strict=True)) for row in rows])
    return {**_counts(scan.counts), "found": places, "more": more}


def _stats(text: str, by: str = "conversation", wire: str | None = None) -> dict[str, Any]:
    """Counts the agent messages in a text, and adds up records, bytes and answer times by a value, largest first."""
    from turnwire.read.grouping import group_by

    found = group_by(_bytes(text), by, wire=wire)
    rows, more = _bounded(found.rows(MOST))
    return {**_counts(found.counts), "groups": rows, "more": more}


def _validate(text: str, wire: str | None = None) -> dict[str, Any]:
    """Checks the agent messages in a text: what is damaged and where, and what is doubtful about the others."""
    found = _located(text, wire)
    rejects = sum(one.error is not None for one in found)
    faults = list[dict[str, Any]]()
    for one in found:
        if one.error is not None:
            fault: dict[str, Any] = {"wire": one.wire, "line": one.error.line, "reason": str(one.error.reason)}
            faults.append({**fault, "text": one.error.text, "severity": "error"})
            continue
        for issue in turnwire.check(one.message):
            fault = {"wire": one.wire, "line": one.line, "reason": str(issue.reason), "where": str(issue.where)}
            faults.append({**fault, "text": issue.text, "severity": issue.severity})
    named, more = _bounded(faults)
    return {"records": len(found) - rejects, "rejects": rejects, "faults": named, "more": more}


def _tokens(text: str, tokenizer: str = "o200k_base") -> dict[str, Any]:
    """Counts the tokens of a text, and of the agent messages in it."""
    from turnwire import tokens
    from turnwire.tokens.tokenizer import vocabulary

    try:
        vocabulary(tokenizer)
    except UnknownName as unknown:  # count_many takes files, too; this server opens none for its callers
        raise ValueError(
            f"there is no tokenizer {tokenizer!r}; the tokenizers are {', '.join(unknown.known)}"
        ) from unknown
    records = [one for one in _located(text) if one.error is None]
    whole, *each = tokens.count_many([text, *(one.raw.decode("utf-8", "replace") for one in records)], tokenizer)
    return {"tokenizer": tokenizer, "records": len(records), "tokens": whole, "record_tokens": sum(each)}


def _convert(text: str, to: str, context: dict[str, Any] | None = None, nearest: bool = False) -> dict[str, Any]:
    """Writes the agent messages in a text as messages of another wire; names what is lost, and what is missing."""
    names = {field.name for field in fields(turnwire.Context) if field.init} - {"new_id"}  # which is a function
    if strange := sorted(set(context or {}) - names):
        raise ValueError(f"a context has {', '.join(sorted(names))}, not {', '.join(strange)}")
    known = turnwire.Context(**context or {})
    messages, refused = list[dict[str, Any]](), list[dict[str, Any]]()
    for one in _located(text):
        try:
            if one.error is not None:
                raise one.error
            converted = turnwire.convert(one.message, to, context=known, nearest=nearest)
            made = {"line": one.line, "message": turnwire.encode(converted.message), "dropped": list(converted.dropped)}
            messages.append(made if converted.nearest is None else {**made, "nearest": converted.nearest})
        except WireError as error:
            missing = list(getattr(error, "missing", ()))
            refused.append({"line": one.line, "reason": str(error.reason), "text": error.text, "missing": missing})
    (messages, more), (refused, others) = _bounded(messages), _bounded(refused)
    return {"messages": messages, "refused": refused, "more": more + others}


def _extract(text: str, wire: str | None = None) -> dict[str, Any]:
    """Takes the agent messages out of prose, code fences and JSON: the text of each and its span."""
    found = turnwire.extract(text, None if wire is None else [wire])
    spans = ({name: getattr(one, name) for name in ("start", "end", "wrapped")} for one in found)
    texts = ({"wire": one.wire, "message": turnwire.encode(one.message, strict=False)} for one in found)
    messages, more = _bounded([text | span for text, span in zip(texts, spans, strict=True)])
    return {"messages": messages, "more": more}
