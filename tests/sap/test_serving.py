"""The agents of a bus behind the other transports: routingHints choose among them as they do on the bus."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import task
from tests.sap.test_transports import nats_url as nats_url
from tests.sap.test_transports import serve
from turnwire import sap
from turnwire.sap.transports import http, mcp, nats

pytestmark = pytest.mark.once


def two(folder: Path) -> sap.Bus:
    bus = sap.Bus(folder / "transcript")
    for name, shard in (("B", "eu"), ("C", "us")):
        agent = sap.Agent(name)

        @agent.capability("work.where", schema={"type": "object"})
        async def where(_task: sap.Task, _context: sap.Context, name: str = name) -> str:
            return name

        if name == "C":
            agent.capability("work.only")(lambda _task, _context: "C alone")
        bus.register(agent, labels={"shard": shard})
    return bus


@asynccontextmanager
async def behind(transport: str, bus: sap.Bus, url: str, opened: AsyncExitStack) -> AsyncIterator[Any]:
    if transport == "http":
        yield await opened.enter_async_context(http.Client(await opened.enter_async_context(serve(http.app(bus)))))
    elif transport == "mcp":
        yield await opened.enter_async_context(mcp.Client(mcp.server(bus)))
    elif transport == "nats":
        names: dict[str, Any] = {"queue": "all", "prefix": f"p{uuid.uuid4().hex[:8]}"}
        await opened.enter_async_context(nats.Worker(bus, url, **names))
        yield await opened.enter_async_context(nats.Client(url, **names))
    else:
        yield bus


@pytest.mark.parametrize("transport", ["bus", "http", "mcp", "nats"])
def test_hints_choose_among_providers_on_every_transport(transport: str, tmp_path: Path, nats_url: str) -> None:
    def to(name: str = "work.where", **target: Any) -> sap.Task:
        return task(name, {}, target={"capability": name, **target})

    async def main() -> None:
        bus = two(tmp_path)
        async with bus, AsyncExitStack() as opened, behind(transport, bus, nats_url, opened) as client:
            for hints, name in (({"shard": "eu"}, "B"), ({"shard": "us"}, "C"), ({"affinity": "C"}, "C")):
                one = to(routingHints=hints)
                result = await client.call(one)
                assert (result.output, result.producer.agent_id) == (name, name)
                assert await client.call(one) == result
            assert (await client.call(to(agentId="C"))).output == "C"
            assert (await client.call(to("work.only"))).output == "C alone"
            assert await client.call("work.where", {}, routing_hints={"shard": "us"}) == "C"
            same = {(await client.call(to(routingHints={"affinity": "customer 7"}))).output for _ in range(4)}
            assert len(same) == 1
            for wrong in (to("work.none"), to(agentId="D"), to("work.only", agentId="B")):
                with pytest.raises(sap.Refused, match="NOT_FOUND"):
                    await client.call(wrong)
            if transport == "http":
                assert await client.result(one.task_id) == result
                with pytest.raises(KeyError):
                    await client.result(str(uuid.uuid4()))
            if transport == "mcp":
                assert await client.capabilities() == ["work.where", "work.only"]

    asyncio.run(asyncio.wait_for(main(), 30))


def test_strangers_and_a_bus_that_is_not_entered_are_refused_in_words(tmp_path: Path) -> None:
    async def main() -> None:
        bus = two(tmp_path)
        one = task("work.where", {}, target={"capability": "work.where"})
        closed = await bus.receive(one)
        assert isinstance(closed, sap.Nack)
        assert (closed.reason or "").startswith("INTERNAL")
        async with bus:
            for name in ("work.none", "work.where"):
                unknown = task(name, {}, target={"capability": name})
                stranger = await bus.receive(unknown, principal=None)
                assert not isinstance(stranger, sap.Nack) or (stranger.reason or "").startswith("UNAUTHORIZED")
                told = await bus.send(unknown, principal=None)
                assert isinstance(told, sap.Nack)
                assert told.reason == "UNAUTHORIZED: the credentials are unknown"
            with pytest.raises(KeyError):
                await bus.look_up(one.task_id)

    asyncio.run(main())
