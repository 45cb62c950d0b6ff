"""The tokens that the tools of MCP servers take from a context: those of each description, as the server writes it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from turnwire.json.text import write
from turnwire.log.scanning import scan

if TYPE_CHECKING:
    from turnwire.tokens.tokenizer import Tokenizer


def tools_in(data: bytes) -> list[dict[str, Any]]:
    """The descriptions of tools in what MCP servers answered to ``tools/list``, anywhere in a log; else those of a JSON
    file that is such a list or has one as ``tools``. A tool that is described again with the same words counts once."""
    answers = scan(data, wire="mcp", where={"kind": "tools"}, errors="skip").messages()
    found = [one.message.fields["result"]["tools"] for one in answers] or [_whole(data)]
    tools = [tool for tools in found if isinstance(tools, list) for tool in tools if _is_tool(tool)]
    return list({json.dumps(tool, sort_keys=True): tool for tool in tools}.values())


def _whole(data: bytes) -> Any:
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return found.get("tools") if isinstance(found, dict) else found


def _is_tool(tool: Any) -> bool:
    return (
        isinstance(tool, dict)
        and isinstance(tool.get("name"), str)
        and ("inputSchema" in tool or "description" in tool)
    )


def tool_rows(tools: Sequence[dict[str, Any]], counter: Tokenizer) -> Iterator[dict[str, Any]]:
    """The tools with their tokens, the dearest first: tool, tokens, of them those of the schema of its input, bytes."""
    texts = [write(tool) for tool in tools]
    schemas = [write(tool["inputSchema"]) if "inputSchema" in tool else "" for tool in tools]
    counts = zip(tools, texts, counter.count_many(texts), counter.count_many(schemas), strict=True)
    rows = [
        {"tool": tool["name"], "tokens": int(whole), "schema": int(part), "bytes": len(text.encode())}
        for tool, text, whole, part in counts
    ]
    yield from sorted(rows, key=lambda row: (-row["tokens"], row["tool"]))
