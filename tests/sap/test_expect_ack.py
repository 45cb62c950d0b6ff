"""replyTo.expectAck bounds the wait for an Ack on every transport, whatever the other side does or leaves undone."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.sap.hosts import Broker, reached
from tests.sap.scenario import task
from turnwire import sap
from turnwire.errors import Unanswered
from turnwire.ledger import Ledger
from turnwire.sap.transports import http, mcp, nats

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
PATIENT = 600  # seconds of every other bound: only that of the Ack can end a wait
GUARD = 300
SOON = 0.2


def expecting(expected: bool = True) -> sap.Task:
    return task("work.note", {}, replyTo={"expectAck": expected})


async def listened(client: Any, one: sap.Task) -> list[sap.Result]:
    return [result async for result in client.statuses(one)]


async def answered(client: Any, one: sap.Task) -> sap.Result:
    """The Result of a task that is asked for until its Ack comes soon enough, which on a slow disk it may not."""
    while True:
        with suppress(Unanswered):
            result: sap.Result = await client.call(one)
            return result


# ---------------------------------------------------------------- servers that say nothing


@asynccontextmanager
async def sockets(answer: bytes) -> AsyncIterator[str]:
    """A server that sends ``answer`` byte by byte, and goes on with its last byte for ever."""

    talking: set[asyncio.Task[Any]] = set()

    async def talk(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        current = asyncio.current_task()
        assert current is not None
        talking.add(current)
        with suppress(ConnectionError, asyncio.CancelledError):
            for place in range(1_000_000):
                writer.write(answer[place : place + 1] or answer[-1:])
                await writer.drain()
                await asyncio.sleep(0.02)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for each in talking:
            each.cancel()
        await asyncio.gather(*talking)


@pytest.mark.parametrize(
    "answer",
    [b"", b"HTTP/1.1 202 Accepted\r\nX: a", b"HTTP/1.1 202 Accepted\r\nContent-Length: 9999\r\n\r\n "],
    ids=["nothing", "a header without end", "a body without end"],
)
async def test_http_servers_without_an_end(answer: bytes) -> None:
    async with sockets(answer) as url, http.Client(url, timeout=PATIENT, ack_seconds=SOON) as client:
        for expected in (True, False):
            with pytest.raises(Unanswered, match=r"within 0\.2 seconds"):
                await client.send(expecting(expected))
        with pytest.raises(Unanswered):
            await listened(client, expecting())
    async with sockets(answer) as url, http.Client(url, timeout=SOON, ack_seconds=PATIENT) as client:
        with pytest.raises(Unanswered):
            await client.call(expecting())


async def test_mcp_servers_that_never_answer() -> None:
    from mcp.server.lowlevel import Server

    async def tools(*_: Any) -> Any:
        raise NotImplementedError

    async def never(*_: Any) -> Any:
        await asyncio.sleep(PATIENT)

    silent: Server[Any] = Server("silent", version="1", on_list_tools=tools, on_call_tool=never)
    async with mcp.Client(silent, timeout=PATIENT, ack_seconds=SOON) as client:
        with pytest.raises(Unanswered):
            await client.send(expecting())


async def test_nats_queues_without_a_worker_and_a_server_that_stopped(broker: Broker) -> None:
    names: dict[str, Any] = {"queue": "b", "prefix": "silent", "timeout": PATIENT, "ack_seconds": SOON}
    async with nats.Client(broker.url, **names) as client:
        for work in (client.send, client.call):
            with pytest.raises(Unanswered, match="no worker accepted task"):
                await work(expecting())
        with pytest.raises(Unanswered):
            await listened(client, expecting())
        assert isinstance(await client.send(expecting(False)), sap.Ack)  # the queue's word is enough
        os.kill(broker.process.pid, signal.SIGSTOP)
        try:
            with pytest.raises(Unanswered):
                await client.send(expecting())
        finally:
            os.kill(broker.process.pid, signal.SIGCONT)


# ---------------------------------------------------------------- agents that cannot say anything yet


@pytest.mark.parametrize("transport", ["bus", "http", "mcp", "nats"])
async def test_an_agent_whose_transcript_stands_still(transport: str, tmp_path: Path, broker: Broker) -> None:
    """Whoever expects an Ack hears that there is none; the task goes its way, and is executed once."""
    goes_on, done = threading.Event(), list[str]()
    agent = sap.Agent("B", transcript=Ledger(tmp_path / "t"))
    agent.capability("work.note")(lambda one, _context: done.append(one.task_id))
    patient = {} if transport == "bus" else {"timeout": PATIENT}
    async with reached(transport, agent, broker.url, ack_seconds=SOON, **patient) as client:
        assert agent._transcript is not None
        agent._transcript._thread.submit(goes_on.wait, GUARD)  # a disk that answers to nothing
        some = [expecting(), expecting()]
        for one, work in zip(some, (client.send, lambda one: listened(client, one)), strict=True):
            if work is client.send or transport != "mcp":  # where statuses are notifications, bounded by the timeout
                with pytest.raises(Unanswered):
                    await work(one)
        goes_on.set()
        results = [await answered(client, one) for one in some]
    assert [str(result.status) for result in results] == ["SUCCEEDED"] * 2
    assert sorted(done) == sorted(one.task_id for one in some)
