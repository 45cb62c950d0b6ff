"""``turnwire mcp``, tried with the SDK's client: in this process, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
from functools import partial
from typing import Any

import pytest
from mcp import Client

import turnwire
from tests.sap.documents import TASK
from tests.sap.hosts import free_port
from turnwire import tokens
from turnwire.cli.commands import mcp as model_tools
from turnwire.log import group_by
from turnwire.log.scanning import TALLIES
from turnwire.sap.transports import mcp as sap_mcp

pytestmark = pytest.mark.once

LOG = f'noise\n{json.dumps(TASK)}\n@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#\n{{"log":"@a3|f0|c"}}\n'


async def ask(client: Any, tool: str, **arguments: Any) -> Any:
    return await client.call_tool(tool, arguments)


async def try_all(client: Any) -> None:
    listed = await client.list_tools()
    assert [tool.name for tool in listed.tools] == ["scan", "stats", "validate", "tokens", "convert", "extract"]
    scanned = (await ask(client, "scan", text=LOG)).structured_content
    assert (scanned["records"], scanned["wires"]) == (2, {"nslip": 1, "sap": 1})
    assert [one["line"] for one in scanned["found"]] == [2, 3]
    found = turnwire.scan(LOG.encode())
    found.read()
    counts = {**dict(zip(TALLIES, found.counts, strict=False)), "reasons": found.counts.reasons}
    assert {name: scanned[name] for name in counts} == counts and counts["bytes"] == len(LOG)
    for by in ("conversation", "day"):
        grouped = (await ask(client, "stats", text=LOG, by=by)).structured_content
        assert {name: grouped[name] for name in counts} == counts
        assert grouped["groups"] == group_by(LOG.encode(), by).rows() and grouped["more"] == 0
    broken = json.dumps(TASK).replace("2.0", "3.0")
    judged = (await ask(client, "validate", text=broken)).structured_content
    assert (judged["records"], judged["rejects"]) == (0, 1)
    assert judged["faults"][0]["reason"] == "unsupported_version"
    counted = (await ask(client, "tokens", text=LOG)).structured_content
    assert counted["tokens"] == tokens.count(LOG)
    assert counted["records"] == 2
    assert counted["record_tokens"] == sum(map(tokens.count, LOG.splitlines()[1:3]))
    made = (await ask(client, "convert", text=LOG.splitlines()[2], to="csp")).structured_content
    assert len(made["messages"]) + len(made["refused"]) == 1
    found = (await ask(client, "extract", text=f"Look: {json.dumps(TASK)} there")).structured_content
    assert [(one["wire"], one["start"], one["wrapped"]) for one in found["messages"]] == [("sap", 6, "prose")]
    for tool, arguments, said in (
        ("scan", {}, "UNPROCESSABLE: /payload: 'text' is a required property"),
        ("convert", {"text": "", "to": "esperanto"}, "UNPROCESSABLE: /payload/to: 'esperanto' is not one of"),
        ("tokens", {"text": "", "tokenizer": "no such"}, "UNPROCESSABLE: "),
        ("tokens", {"text": "", "tokenizer": "/etc/passwd"}, "UNPROCESSABLE: there is no tokenizer '/etc/passwd'"),
        ("tokens", {"text": "", "tokenizer": "/a/file.json"}, "UNPROCESSABLE: there is no tokenizer '/a/file.json'"),
        ("no such", {}, "NOT_FOUND: "),
    ):
        answer = await client.call_tool(tool, arguments)
        assert answer.is_error
        assert answer.content[0].text.startswith(said), answer.content[0].text


async def test_the_tools_in_this_process() -> None:
    async with model_tools.tools() as agent, Client(sap_mcp.server(agent)) as client:
        await try_all(client)


HALF = "a\ud800b"
"""Half a surrogate pair, which JSON can name and no text in UTF-8 can have."""


HALVES: dict[str, dict[str, Any]] = {
    "text": {"name": "scan", "arguments": {"text": HALF}},
    "wire": {"name": "scan", "arguments": {"text": "", "wire": HALF}},
    "name of an argument": {"name": "scan", "arguments": {"text": "", HALF: 1}},
    "tool": {"name": HALF, "arguments": {}},
    "meta": {"name": "scan", "arguments": {"text": ""}, "_meta": {"urn:ubos:sap/context": {"a": HALF}}},
}


def test_half_a_surrogate_pair_is_an_error_over_stdio() -> None:
    """Each is answered with an error, and the good call behind it is answered, too."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    calls: list[dict[str, Any]] = [
        {"id": "first", "method": "initialize", "params": client},
        {"method": "notifications/initialized"},
    ]
    for name, params in HALVES.items():
        calls.append({"id": name, "method": "tools/call", "params": params})
        good = {"name": "scan", "arguments": {"text": ""}}
        calls.append({"id": f"behind {name}", "method": "tools/call", "params": good})

    async def main() -> dict[str, Any]:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "turnwire", "mcp"), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        answers = {}
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n")
            if "id" in call:
                answer = json.loads(await process.stdout.readline())
                answers[answer["id"]] = answer
        process.stdin.close()
        assert await process.wait() == 0
        return answers

    answers = asyncio.run(asyncio.wait_for(main(), 120))
    for name in HALVES:
        assert "error" in answers[name], name
        assert answers[f"behind {name}"]["result"]["structuredContent"]["records"] == 0, name


@pytest.mark.parametrize(
    ("tool", "line", "more"),
    [
        ("scan", '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#', {}),
        ("convert", '@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"refactor_auth"#', {"to": "csp"}),
        ("convert", f'@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"{"x" * 20_000}"#', {"to": "csp", "context": {"conversations": {}}}),
        ("extract", f'@a3|f0|c3|S0|d1|T1|gH|kg|q2|t"{"x" * 20_000}"#', {}),
        ("validate", "@a3|f0|c", {"wire": "nslip"}),
    ],
)
def test_an_answer_is_bounded(tool: str, line: str, more: dict[str, Any]) -> None:
    async def main() -> Any:
        async with model_tools.tools() as agent, Client(sap_mcp.server(agent)) as client:
            return (await ask(client, tool, text=f"{line}\n" * 400, **more)).structured_content

    answer = asyncio.run(asyncio.wait_for(main(), 120))
    lists = [value for value in answer.values() if isinstance(value, list)]
    assert 0 < sum(map(len, lists)) <= model_tools.MOST
    assert len(json.dumps(answer)) <= 2 * model_tools.MOST_BYTES
    assert answer["more"] == 400 - sum(map(len, lists))


def test_over_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Served in a thread of this process: its SDK takes seconds to import."""
    uvicorn = pytest.importorskip("uvicorn")
    port, servers = free_port(), []

    class Server(uvicorn.Server):  # type: ignore[misc,name-defined]
        def __init__(self, config: Any) -> None:
            super().__init__(config)
            servers.append(self)

    async def main() -> None:
        while not (servers and servers[0].started):
            assert serving.is_alive()
            await asyncio.sleep(0.01)
        async with Client(f"http://127.0.0.1:{port}/mcp") as client:
            await try_all(client)

    monkeypatch.setattr(uvicorn, "Server", Server)
    command = partial(model_tools.command.main, ["--http", str(port)], standalone_mode=False)
    serving = threading.Thread(target=command, daemon=True)
    serving.start()
    try:
        asyncio.run(asyncio.wait_for(main(), 120))
    finally:
        for server in servers:
            server.should_exit = True
        serving.join(120)
    assert not serving.is_alive()


PLAN = {"type": "object", "properties": {"plan": {"type": "string"}}, "required": ["plan"]}


@pytest.mark.parametrize("schema", [None, PLAN], ids=["open", "a plan"])
def test_34_tools_cost_a_model_at_most_1500_tokens(schema: dict[str, object] | None) -> None:
    from turnwire import sap

    agent = sap.Agent("B")
    for number in range(34):
        offer = agent.capability(f"work.do{number}", description="Does one thing with a plan.", schema=schema)
        offer(lambda task, context: None)

    async def main() -> list[dict[str, object]]:
        async with agent, Client(sap_mcp.server(agent)) as client:
            return [tool.model_dump(by_alias=True, exclude_none=True) for tool in (await client.list_tools()).tools]

    listed = asyncio.run(asyncio.wait_for(main(), 120))
    assert len(listed) == 34
    assert tokens.count(json.dumps(listed, separators=(",", ":")), "o200k_base") <= 1500
