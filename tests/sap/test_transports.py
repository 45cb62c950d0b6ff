"""The same scenario over all four transports, with real servers on loopback; the bus, MCP, and who is chosen."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import threading
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tests.sap.hosts import Broker, reached
from tests.sap.scenario import EXPECTED, make_agent, play, summary, task
from tests.sap.test_agent import do, offering, reason
from turnwire import sap
from turnwire.errors import Unanswered
from turnwire.ledger import Ledger
from turnwire.sap.transcripts import RESULT_KIND, STARTED_KIND, TASK_KIND
from turnwire.sap.transports import bus, http, mcp, nats
from turnwire.sap.transports.bus import Provider, provider_for

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


async def test_the_same_scenario_gives_the_same_results_on_every_transport(tmp_path: Path, nats_url: str) -> None:
    made = {}
    for name in ("bus", "http", "mcp over http", "nats"):
        (tmp_path / name).mkdir()
        async with reached(name, make_agent(tmp_path / name), nats_url) as client:
            made[name] = await play(client)
        assert made[name] == made["bus"], name
    assert summary(made["bus"]) == EXPECTED
    assert [one["kept"] for one in made["bus"] if "kept" in one] == [True] * 3
    assert made["bus"][0]["metrics"] == made["bus"][1]["metrics"] == {"calls": 1, "traced": False}
    missed = made["bus"][3]["constitutionalEvidence"]["cache"]
    assert (missed.pop("hit"), missed) == (False, {"cacheKey": mock.ANY})
    assert made["bus"][4]["constitutionalEvidence"]["cache"]["hit"] is True
    assert made["bus"][4]["output"] == made["bus"][3]["output"]
    assert "outputIssues" in made["bus"][13]["meta"]
    assert "secret detail" not in json.dumps(made["bus"])


async def test_the_transcript_holds_tasks_and_results_and_the_history_conforms(tmp_path: Path) -> None:
    """Each Result goes to replyTo as well."""
    agent, states = make_agent(tmp_path), ["QUEUED", "RUNNING", "SUCCEEDED"]
    async with reached("bus", agent) as line:
        mailbox = line.subscribe("bus:inproc:prime")
        one = task("work.add", {"a": 1, "b": 2}, telemetry={"trace": True}, replyTo={"endpoint": "bus:inproc:prime"})
        assert isinstance(await line.send(one), sap.Ack)
        envelopes = [await mailbox.get() for _ in states]
    assert {envelope.correlation_id for envelope in envelopes} == {one.correlation_id}
    assert [str(envelope.result.status) for envelope in envelopes] == states
    assert agent.transcript is not None and agent.transcript.verify()
    kinds = [entry.kind for entry in agent.transcript]
    assert kinds == [TASK_KIND, RESULT_KIND, STARTED_KIND, RESULT_KIND, RESULT_KIND]
    logged = [sap.decode(entry.body) for entry in agent.transcript if entry.kind != STARTED_KIND]
    assert logged[0] == one
    assert [str(result.status) for result in logged[1:]] == states
    checklist = sap.conformance(*logged, learning=agent.learning)
    assert checklist, str(checklist)


async def test_the_bus_refuses_what_may_not_be_written(tmp_path: Path) -> None:
    async with reached("bus", make_agent(tmp_path)) as line:
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


async def test_mcp_lists_capabilities_and_refuses_strange_calls(tmp_path: Path) -> None:
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


async def test_a_bus_or_an_agent_that_nobody_entered_says_so(tmp_path: Path) -> None:
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


async def test_a_stranger_who_is_refused_teaches_the_loop_nothing(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    agent.access = sap.Access([sap.Rule("A-*", ("work.*",))])
    agent.learning = sap.LearningLoop(tmp_path / "learned.ledger")
    async with agent:
        await agent.call(task("work.add", {"a": 1, "b": 1}))
        before = [artifact.content for artifact in agent.learning.derive()]
        with pytest.raises(sap.Refused, match="UNAUTHORIZED: "):
            await agent.call(task("work.add", {}, issuer={"agentId": "Mallory", "agentKind": "agent"}))
        assert before
        assert [artifact.content for artifact in agent.learning.derive()] == before


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


@pytest.mark.parametrize("transport", ["bus", "http", "mcp", "nats"])
async def test_hints_choose_among_providers_on_every_transport(transport: str, tmp_path: Path, nats_url: str) -> None:
    def to(name: str = "work.where", **target: Any) -> sap.Task:
        return task(name, {}, target={"capability": name, **target})

    bus = two(tmp_path)
    async with reached(transport, bus, nats_url) as client:
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


async def test_strangers_and_a_bus_that_is_not_entered_are_refused_in_words(tmp_path: Path) -> None:
    bus = two(tmp_path)
    one = task("work.where", {}, target={"capability": "work.where"})
    assert reason(await bus.receive(one)).startswith("INTERNAL")
    async with bus:
        for name in ("work.none", "work.where"):
            unknown = task(name, {}, target={"capability": name})
            stranger = await bus.receive(unknown, principal=None)
            assert not isinstance(stranger, sap.Nack) or (stranger.reason or "").startswith("UNAUTHORIZED")
            assert reason(await bus.acting(None).send(unknown)) == "UNAUTHORIZED: the credentials are unknown"
        with pytest.raises(KeyError):
            await bus.result(one.task_id)


async def test_the_payload_of_a_whole_task_stands_for_arguments_that_are_not_there(tmp_path: Path) -> None:
    agent = make_agent(tmp_path)
    async with agent, mcp.Client(mcp.server(agent)) as client:
        for arguments, good in (({}, True), (None, True), ({"a": 1, "b": 2}, True), ({"a": 1, "b": 3}, False)):
            whole = task("work.add", {"a": 1, "b": 2}).to_dict()
            answer = await client._client.call_tool("work.add", arguments, meta={mcp.TASK: whole})
            assert answer.is_error is not good and answer.meta is not None
            if good:
                assert answer.structured_content == {"sum": 3}
            else:
                assert answer.meta[mcp.NACK]["reason"].startswith("INVALID_TASK: /payload: ")


@pytest.mark.parametrize(
    ("labels", "chosen"),
    [
        ([{"zone": "eu"}, {"zone": "us"}], 1),
        ([{"zone": "eu"}, {}], 1),  # whoever has another value is left out
        ([{}, {"zone": "us"}], 1),  # that label and value rather than none
        ([{"zone": "eu"}, {"zone": "asia"}], 0),  # unless nobody is left then
        ([{"zone": "us", "gpu": 1}, {"zone": "us"}], 0),
        ([{"zone": "us", "gpu": 2}, {"zone": "us"}], 1),
        ([{"zone": "us", "gpu": 2}, {}], 1),  # what is right of those that are left out counts for nobody
        ([{"gpu": 1}, {"zone": "eu", "gpu": 1}], 0),
    ],
)
def test_whom_a_hint_prefers(labels: list[dict[str, Any]], chosen: int) -> None:
    providers = {}
    for number, each in enumerate(labels):
        agent = SimpleNamespace(capabilities={"work.do": 1}, holds=lambda *_: False, unfinished=number, agent_id=number)
        providers[str(number)] = Provider(agent, each)  # type: ignore[arg-type]
    hints = {"priority": "low", "zone": "us", **({"gpu": 1} if "gpu" in str(labels) else {})}
    one = task("work.do", {}, target={"capability": "work.do", "routingHints": hints})
    found = provider_for(one, providers)
    assert found is not None and found.agent_id == chosen


async def test_mcp_gives_receipts_and_progress_before_the_work_is_done_and_cancels() -> None:
    told: list[Any] = []

    async def progress(done: float, _total: float | None, text: str | None) -> None:
        told.append((done, text))

    async def wait(one: sap.Task, _context: sap.Context) -> str:
        await asyncio.sleep(one.payload["seconds"])
        return "done"

    agent = offering(wait, access=sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("anonymous", ("work.*",))]))
    async with agent, mcp.Client(mcp.server(agent)) as client:
        one = do({"seconds": 0.5})
        receipt = await client.send(one)
        assert isinstance(receipt, sap.Ack) and receipt.correlation_id == one.correlation_id
        assert (await agent.look_up(one.task_id)).status == "ACK"
        for expected in (True, False):
            sent = do({"seconds": 0.05}, replyTo={"expectAck": expected}).to_dict()
            told.clear()
            call = client._client.call_tool
            answer = await call("work.do", sent["payload"], meta={mcp.TASK: sent}, progress_callback=progress)
            assert told == [(0.0, "accepted")] * expected + [(0.5, "RUNNING")]
            assert answer.structured_content == {"output": "done"} and answer.meta[mcp.RESULT]["status"] == "SUCCEEDED"
        assert (await client.call(one)).output == "done"
        for refused, code in (
            (do(issuer={"agentId": "X", "agentKind": "agent"}), "UNAUTHORIZED"),
            (task("work.none", {}), "NOT_FOUND"),
        ):
            assert reason(await client.send(refused)).startswith(code)
        calling = asyncio.create_task(client._client.call_tool("work.do", {"seconds": 30}))
        while not (jobs := [job for job in agent._jobs.values() if job.task.payload["seconds"] == 30]):
            await asyncio.sleep(0)
        calling.cancel()
        assert (await jobs[0].wait()).status == "CANCELLED"


async def test_a_receipt_of_mcp_is_asked_for_by_the_word_true() -> None:
    agent = offering(lambda *_: 1)
    async with agent, mcp.Client(mcp.server(agent)) as client:
        for said in (True, 1, "true", "false", False, None):
            answer = await client._client.call_tool("work.do", {}, meta={mcp.RECEIPT: said})
            assert answer.meta is not None and (mcp.ACK in answer.meta) is (said is True), said


# --- replyTo.expectAck bounds the wait for an Ack on every transport, whatever the other side does --------------------


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
