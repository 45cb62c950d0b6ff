"""Agents behind HTTP and MCP, in this process: what a body or the arguments of a tool cost, sockets left out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.cost.entries import Entry, _text
from tests.cost.units import GOOD
from tests.sap.documents import TASK
from turnwire import sap

ROOM = 1 << 26
"""Bytes that a body may have: more than any in the table."""
PIECE = 1 << 12
"""Bytes of a piece, as servers hand a body on."""


def _agent() -> sap.Agent:
    agent = sap.Agent(TASK["target"]["agentId"])

    @agent.capability("say")
    async def say(task: sap.Task, context: sap.Context) -> Any:
        return task.payload

    return agent


def _posted(data: bytes, size: int = PIECE) -> int:
    """The status that the app answers a body with, which comes in pieces."""
    from turnwire.sap.transports import http

    pieces = [data[at : at + size] for at in range(0, len(data), size)] or [b""]
    coming = iter([{"type": "http.request", "body": one, "more_body": True} for one in pieces[:-1]])
    told: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return next(coming, {"type": "http.request", "body": pieces[-1], "more_body": False})

    async def send(message: Any) -> None:
        told.append(message)

    async def main() -> None:
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/tasks",
            "root_path": "",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
            "server": ("a", 80),
        }
        async with _agent() as agent:
            await http.app(agent, max_body=ROOM)(scope, receive, send)

    asyncio.run(main())
    status: int = told[0]["status"]
    assert status in (200, 400, 404), told  # 404: the capability is of others
    return status


def _saying(text: str) -> bytes:
    document = {**TASK, "payload": {"text": text}, "target": {**TASK["target"], "capability": "say"}}
    return json.dumps({name: document[name] for name in document if name not in ("replyTo", "outputContract")}).encode()


def _called(text: str) -> Any:
    """What a tool answers that is given a text."""
    from turnwire.sap.transports import mcp

    async def main() -> Any:
        async with _agent() as agent, mcp.Client(mcp.server(agent)) as client:
            return await client._client.call_tool("say", {"text": text})

    return asyncio.run(main())


def served() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text, as a body or in a field of a task."""
    several: dict[str, tuple[Callable[[bytes], Any], bytes]] = {
        "http body": (_posted, GOOD["sap"]),
        "http body in pieces of 16": (lambda data: _posted(data, 16), GOOD["sap"]),
        "http saying": (_text(lambda text: _posted(_saying(text))), b"some text "),
        "mcp saying": (_text(_called), b"some text "),
    }
    for name, (run, good) in several.items():
        yield name, Entry(run, good)
