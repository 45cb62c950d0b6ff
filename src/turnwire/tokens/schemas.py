"""Counts the tokens of MCP tools: the share of a model's context that each description, with its JSON Schema, uses."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from turnwire.json.text import write
from turnwire.log.scanning import scan

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer


def tools_in(data: bytes) -> list[dict[str, Any]]:
    """The descriptions of tools in a log or a JSON file, each different one once.

    In a log they are in the answers of MCP servers to ``tools/list``. If there is none, ``data`` is taken for a JSON
    file that is a list of tools or has one as ``tools``.
    """
    answers = scan(data, wire="mcp", where={"kind": "tools"}, errors="skip").messages()
    found = [one.message.fields["result"]["tools"] for one in answers] or [_tools_of_file(data)]
    tools = [tool for tools in found if isinstance(tools, list) for tool in tools if _is_tool(tool)]
    return list({json.dumps(tool, sort_keys=True): tool for tool in tools}.values())


def _tools_of_file(data: bytes) -> Any:
    """The JSON value of a file, or its member ``tools``; None for what is not JSON."""
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found.get("tools") if isinstance(found, dict) else found


def _is_tool(tool: Any) -> bool:
    """True for an object with a name and a description or a schema of its input."""
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and ("inputSchema" in tool or "description" in tool)
    )


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
