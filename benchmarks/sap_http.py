"""CPU and latency of a task over HTTP: bare Starlette, SAP's app, a2a-sdk's server, with a handler that does nothing.

python benchmarks/sap_http.py [tasks] [--json FILE]

Server and client share a process: uvicorn, and a client of plain sockets, the same for all, one request after the other
on one connection. Rounds alternate between the servers; what is printed is the median of the rounds, and the ratio to
bare Starlette. a2a-sdk is left out where it is not installed (``pip install 'a2a-sdk[http-server]'``).
"""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from turnwire import sap
from turnwire.sap.transports import http

ROUNDS = 7
CHECKS = [{"principle": "speed", "status": "PASS"}]


async def _echo(request: Request) -> JSONResponse:
    return JSONResponse(await request.json())


def bare() -> tuple[Any, str, Callable[[int], bytes]]:
    """Starlette that parses a body and writes it again."""
    return Starlette(routes=[Route("/tasks", _echo, methods=["POST"])]), "/tasks", _task


def _task(number: int) -> bytes:
    return sap.encode(sap.make_task("work.nothing", {"n": number}, issuer="A")).encode()


def _agent() -> sap.Agent:
    agent = sap.Agent("B")

    @agent.capability("work.nothing")
    async def nothing(task: sap.Task, _context: sap.Context) -> sap.Outcome:
        return sap.Outcome(task.payload, alignment=sap.Alignment.VALID, policy_checks=CHECKS)

    return agent


def a2a() -> tuple[Any, str, Callable[[int], bytes]] | None:
    """a2a-sdk's JSON-RPC server with its store of tasks in memory; None where it is not installed."""
    try:
        from a2a.helpers import new_text_message
        from a2a.server.agent_execution import AgentExecutor, RequestContext
        from a2a.server.events import EventQueue
        from a2a.server.request_handlers import DefaultRequestHandler
        from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
        from a2a.server.tasks import InMemoryTaskStore
        from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
    except ImportError:
        return None

    class Nothing(AgentExecutor):  # type: ignore[misc]
        async def execute(self, context: RequestContext, event_queue: EventQueue) -> None:
            await event_queue.enqueue_event(new_text_message("done", context_id=context.context_id))

        async def cancel(self, context: RequestContext, event_queue: EventQueue) -> None:
            raise NotImplementedError

    card = AgentCard(
        name="B",
        description="nothing",
        version="1",
        capabilities=AgentCapabilities(),
        default_input_modes=["text"],
        default_output_modes=["text"],
        skills=[AgentSkill(id="nothing", name="nothing", description="nothing", tags=["speed"])],
        supported_interfaces=[
            AgentInterface(protocol_binding="JSONRPC", protocol_version="1.0", url="http://127.0.0.1/")
        ],
    )
    handler = DefaultRequestHandler(agent_executor=Nothing(), task_store=InMemoryTaskStore(), agent_card=card)
    routes = [*create_agent_card_routes(card), *create_jsonrpc_routes(handler, "/")]
    return Starlette(routes=routes), "/", _a2a_message


def _a2a_message(number: int) -> bytes:
    message = {"messageId": str(uuid.uuid4()), "role": "ROLE_USER", "parts": [{"text": str(number)}]}
    body = {"jsonrpc": "2.0", "id": number, "method": "SendMessage", "params": {"message": message}}
    return json.dumps(body).encode()


@asynccontextmanager
async def _served(app: Any) -> AsyncIterator[int]:
    server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="critical", access_log=False))
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


class _Client:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, path: str) -> None:
        self._reader, self._writer, self._path = reader, writer, path

    async def post(self, body: bytes) -> bytes:
        head = f"POST {self._path} HTTP/1.1\r\nHost: x\r\nA2A-Version: 1.0\r\nContent-Type: application/json\r\n"
        self._writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answered = await self._reader.readuntil(b"\r\n\r\n")
        if b" 200 " not in answered.split(b"\r\n", 1)[0]:
            raise RuntimeError(answered.decode())
        length = next(line for line in answered.lower().split(b"\r\n") if line.startswith(b"content-length:"))
        answer = await self._reader.readexactly(int(length.partition(b":")[2]))
        if b'"error"' in answer:
            raise RuntimeError(answer.decode())
        return answer


async def _round(client: _Client, bodies: list[bytes]) -> tuple[float, list[float]]:
    latencies = []
    start = process_time()
    for body in bodies:
        began = perf_counter()
        await client.post(body)
        latencies.append(perf_counter() - began)
    return (process_time() - start) / len(bodies), latencies


async def measure(tasks: int) -> dict[str, Any]:
    """Microseconds of CPU a task, and the latencies, of each server."""
    agent = _agent()
    servers = {"bare starlette": bare(), "turnwire": (http.app(agent), "/tasks", _task)}
    if (other := a2a()) is not None:
        servers["a2a-sdk"] = other
    cpu: dict[str, list[float]] = {name: [] for name in servers}
    latency: dict[str, list[float]] = {name: [] for name in servers}
    async with agent:
        for _ in range(ROUNDS):
            for name, (app, path, body) in servers.items():
                async with _served(app) as port:
                    client = _Client(*await asyncio.open_connection("127.0.0.1", port), path)
                    await _round(client, [body(number) for number in range(20)])
                    seconds, times = await _round(client, [body(number) for number in range(tasks)])
                    client._writer.close()
                cpu[name].append(seconds * 1e6)
                latency[name].append(median(times) * 1e6)
    return {"tasks": tasks, "rounds": ROUNDS, "cpu_us": cpu, "median_latency_us": latency}


def table(found: dict[str, Any]) -> str:
    """The medians as Markdown."""
    lines = ["| server | CPU µs a task | latency µs | throughput of bare starlette |", "|---|---|---|---|"]
    base = median(found["cpu_us"]["bare starlette"])
    for name, rounds in found["cpu_us"].items():
        cpu, latency = median(rounds), median(found["median_latency_us"][name])
        lines.append(f"| {name} | {cpu:.0f} | {latency:.0f} | {base / cpu:.0%} |")
    return "\n".join(lines)


def main() -> None:
    """Prints the table."""
    words = sys.argv[1:]
    path = words.pop(words.index("--json") + 1) if "--json" in words else None
    numbers = [int(word) for word in words if word.isdecimal()]
    found = asyncio.run(measure(numbers[0] if numbers else 1000))
    if path is not None:
        Path(path).write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


if __name__ == "__main__":
    main()
