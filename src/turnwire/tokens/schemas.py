"""Counts the tokens of MCP tools: the share of a model's context that each description, with its JSON Schema, uses."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.errors import DecodeError, Reason, needs
from turnwire.json.text import read_object, write
from turnwire.log.scanning import scan
from turnwire.showing import counted

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer


class ToolList(NamedTuple):
    """The descriptions of tools, each different one once, and in words why some may be missing, or ""."""

    tools: list[dict[str, Any]]
    cut: str = ""


def tools_in(data: bytes) -> ToolList:
    """The tools in a log or a JSON file.

    In a log they are in the answers of MCP servers to ``tools/list``. If there is none, ``data`` is taken for a JSON
    file that is a list of tools or has one as ``tools``.
    """
    found = scan(data, wire="mcp", where={"kind": "tools"}, errors="skip")
    answers = [one.message.fields["result"] for one in found.messages()]
    cut = counted(found.counts.rejects, "damaged record") if found.counts.rejects else ""
    if answers:
        cut = cut or "the last list of tools goes on (nextCursor)" * bool(answers[-1].get("nextCursor"))
        return ToolList(_different(answer["tools"] for answer in answers), cut)
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        return ToolList([], cut or "the JSON is cut off" * _ends_early(data))
    return ToolList(_different([whole.get("tools") if isinstance(whole, dict) else whole]), cut)


def _ends_early(data: bytes) -> bool:
    """True for JSON without its end."""
    try:
        read_object(b'{"":' + data.rstrip(), "mcp")
    except DecodeError as error:
        return data.strip() != b"" and error.reason in (Reason.CUT_OFF, Reason.UNTERMINATED_STRING)
    return False


def tools_of_server(command: Sequence[str], timeout: float = 60.0) -> ToolList:
    """The tools of an MCP server that speaks over its standard input and output: it is started, asked and stopped.

    command: the program and its arguments. Extra: ``mcp``. Raises MissingDependency, and ConnectionError if it does not
    start, or does not answer within ``timeout`` seconds, with the last line that it wrote to standard error.
    """
    with needs("mcp", "a server of MCP needs the SDK, version 2"):
        import anyio
        from mcp import Client, MCPError, StdioServerParameters, stdio_client

    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=dict(os.environ))

    async def listed() -> list[list[dict[str, Any]]]:
        pages: list[list[dict[str, Any]]] = []
        cursor = None
        with anyio.fail_after(timeout):
            async with Client(stdio_client(parameters, log)) as client:
                while not pages or cursor is not None:
                    page = await client.list_tools(cursor=cursor)
                    pages.append(
                        [tool.model_dump(mode="json", by_alias=True, exclude_unset=True) for tool in page.tools]
                    )
                    cursor = page.next_cursor
        return pages

    stray = logging.getLogger("mcp.client.stdio")  # which logs each line that is no message
    before, stray.disabled = stray.disabled, True
    with TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            return ToolList(_different(anyio.run(listed)))
        except (OSError, MCPError, ExceptionGroup) as errors:
            error: BaseException = errors
            while isinstance(error, BaseExceptionGroup):
                error = error.exceptions[0]
            log.seek(0)
            last = "".join(f": {line.strip()}" for line in log.readlines()[-1:])
            what = "no answer in time" if isinstance(error, TimeoutError) else getattr(error, "strerror", "") or error
            raise ConnectionError(f"{shlex.join(command)}: {what}{last}") from errors
        finally:
            stray.disabled = before


def _different(lists: Iterable[Any]) -> list[dict[str, Any]]:
    tools = [tool for tools in lists if isinstance(tools, list) for tool in tools if _is_tool(tool)]
    return list({json.dumps(tool, sort_keys=True): tool for tool in tools}.values())


def _is_tool(tool: Any) -> bool:
    """True for an object with a name and a description or a schema of its input."""
    named = isinstance(tool, dict) and isinstance(tool.get("name"), str)
    return named and ("inputSchema" in tool or "description" in tool)


def tool_rows(tools: Sequence[dict[str, Any]], counter: Tokenizer) -> Iterator[dict[str, Any]]:
    """Rows of tools, the largest first. tool: its name; tokens, bytes: of its description as compact JSON; schema: the
    tokens of its ``inputSchema`` alone, 0 without one."""
    texts = [write(tool) for tool in tools]
    schemas = [write(tool["inputSchema"]) if "inputSchema" in tool else "" for tool in tools]
    counts = zip(tools, texts, counter.count_many(texts), counter.count_many(schemas), strict=True)
    rows = [
        {"tool": tool["name"], "tokens": int(whole), "schema": int(part), "bytes": len(text.encode())}
        for tool, text, whole, part in counts
    ]
    yield from sorted(rows, key=lambda row: (-row["tokens"], row["tool"]))
