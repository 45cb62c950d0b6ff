"""The runtime's promises: limits of capabilities, memory and Results, processes, cancelling, words."""

from __future__ import annotations

import asyncio
import copy
import logging
import os
import pickle
import sqlite3
import sys
import threading
import uuid
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

import turnwire
from tests.ledger.intruder import rewrite
from tests.sap.documents import RESULT
from tests.sap.hosts import OVER, Broker, reached, serve
from tests.sap.scenario import CHECKS, task
from tests.sap.test_agent import do, offering, reason
from tests.sap.test_principals import KEYS, PUBLIC
from turnwire import sap
from turnwire.errors import Unanswered
from turnwire.ledger import Ledger
from turnwire.sap.access import verify_message
from turnwire.sap.builders import Refused
from turnwire.sap.handlers import DeadlineExceeded
from turnwire.sap.transports import http

pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
GUARD = 120
BRIEF = {"telemetry": {"budget": {"seconds": 0.3}}}
PREFER = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}


def quick(agent: sap.Agent) -> sap.Agent:
    agent.capability("work.quick")(lambda one, context: one.payload)
    return agent


# ---------------------------------------------------------------- one capability and the others


async def test_calls_that_overran_hold_the_places_of_their_capability_alone() -> None:
    gate = threading.Event()
    agent = quick(sap.Agent("B", workers=1))
    agent.capability("work.hang", handlers=3)(lambda one, context: gate.wait(GUARD))
    async with agent:
        results = await asyncio.gather(*(agent.call(task("work.hang", {}, **BRIEF)) for _ in range(4)))
        codes = [result.error.code for result in results if result.error is not None]
        assert codes == ["TIMEOUT"] * 3 + ["RATE_LIMIT"], "the last one was accepted before the others overran"
        refused = await agent.submit(task("work.hang", {}, **BRIEF))
        assert reason(refused).startswith("RATE_LIMIT: all 3 places for handlers of work.hang ")
        assert (await agent.call(task("work.quick", {"a": 1}))).output == {"a": 1}
        gate.set()


@pytest.mark.parametrize("transport", ["bus", "nats"])
async def test_calls_without_an_end_and_those_behind_them_hold_nobody_else(transport: str, nats_url: str) -> None:
    gate = threading.Event()
    agent = quick(sap.Agent("B", queue=16, workers=2))
    agent.capability("work.hang")(lambda one, context: gate.wait(GUARD) and "done")

    async with reached(transport, agent, nats_url) as client:
        hanging = [task("work.hang", {}, replyTo={"expectAck": False}) for _ in range(30)]
        receipts = await asyncio.gather(*(client.send(one) for one in hanging))
        assert any(isinstance(receipt, sap.Ack) for receipt in receipts)
        for number in range(5):
            assert await client.call("work.quick", {"a": number}) == {"a": number}
        gate.set()


# ---------------------------------------------------------------- processes


def isolated(name: str = "B") -> sap.Agent:
    agent = sap.Agent(name, workers=2)

    @agent.capability("work.apart", isolated=True, handlers=1)
    def apart(one: sap.Task, context: sap.Context) -> Any:
        how = one.payload["how"]
        if how == "loop":
            threading.Event().wait()
        if how == "exit":
            os._exit(7)
        if how == "raise":
            raise ZeroDivisionError("secret detail")
        if how == "refuse":
            raise sap.Refusal("UNPROCESSABLE", "not that", what=[1])
        if how == "refuse in part":
            raise sap.Refusal("UNPROCESSABLE", "not that", what=threading.Lock())
        if how == "nothing":
            return sap.Outcome(alignment="VALID", policy_checks=CHECKS)
        if how == "unwritable":
            return threading.Lock()
        return {"pid": os.getpid(), "who": context.principal}

    @agent.capability("work.apart.coroutine", isolated=True)
    async def coroutine(one: sap.Task, _context: sap.Context) -> Any:
        await asyncio.sleep(0)
        return {"pid": os.getpid()}

    return agent


async def test_an_isolated_handler_is_ended() -> None:
    agent = isolated()
    async with reached("http", agent) as client:  # whose sockets the process must not keep open
        for _ in range(2):  # more than it has places
            result = await client.call(task("work.apart", {"how": "loop"}, **BRIEF))
            assert (result.status, result.error.code) == ("FAILED", "TIMEOUT")
            while agent._lines["work.apart"].left_behind:  # on a busy machine
                await asyncio.sleep(0.01)
        for how, code, said in (
            ("exit", "INTERNAL", "exit code 7"),
            ("raise", "INTERNAL", "ZeroDivisionError"),
            ("refuse", "UNPROCESSABLE", "not that"),
            ("refuse in part", "UNPROCESSABLE", "not that"),
            ("unwritable", "INTERNAL", "TypeError"),
        ):
            result = await client.call(task("work.apart", {"how": how}))
            assert result.error.code == code and said in result.error.message
            assert "secret" not in result.error.message
            assert result.error.details == ({"what": [1]} if how == "refuse" else None)
        nothing = await client.call(task("work.apart", {"how": "nothing"}))
        assert nothing.status == "SUCCEEDED" and "output" not in nothing
        assert nothing.constitutional_evidence.alignment == "VALID"
        pids = {(await client.call(name, {"how": "well"}))["pid"] for name in ("work.apart", "work.apart.coroutine")}
        assert len(pids) == 2 and os.getpid() not in pids


async def test_what_an_isolated_handler_raises_is_logged_by_its_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the process of the agent, whose handlers of logging may need its threads and sockets."""
    told: list[logging.LogRecord] = []
    monkeypatch.setattr(logging.getLogger("turnwire.sap"), "handle", told.append)
    agent = isolated()
    async with agent:
        for how in ("raise", "refuse in part", "refuse"):
            await agent.call(task("work.apart", {"how": how}))
    assert [("secret detail" in one.getMessage(), "pickle" in one.getMessage()) for one in told] == [
        (True, False),
        (False, True),
    ]


@pytest.mark.parametrize("same", [lambda one: pickle.loads(pickle.dumps(one)), copy.copy, copy.deepcopy])
def test_a_refusal_is_pickled_and_copied(same: Callable[[sap.Refusal], sap.Refusal]) -> None:
    for one in (sap.Refusal("UNPROCESSABLE", "not that", what=[1]), DeadlineExceeded("late")):
        other = same(one)
        assert (type(other), str(other), other.outcome) == (type(one), str(one), one.outcome)


async def test_the_process_of_a_cancelled_or_closed_task_is_gone() -> None:
    agent = isolated()
    async with agent:
        one, other = (task("work.apart", {"how": "loop"}) for _ in range(2))
        calling = asyncio.ensure_future(agent.call(one))
        await agent.submit(other)
        line = agent._lines["work.apart"]
        while len(_children()) < 2:
            await asyncio.sleep(0.01)
        await agent.cancel(one.task_id)
        assert (await calling).status == "CANCELLED"
        while len(_children()) > 1 or line.left_behind:
            await asyncio.sleep(0.01)
    while _children():
        await asyncio.sleep(0.01)


def _children() -> list[Any]:
    import multiprocessing

    return [child for child in multiprocessing.active_children() if child.is_alive()]


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("transport", ["bus", "http", "nats"])
async def test_what_an_agent_has_in_its_hands_is_bounded(transport: str, nats_url: str) -> None:
    """Tasks beyond that are refused, or stay in their queue, and none that was acknowledged is lost."""
    gate = asyncio.Event()
    agent = quick(sap.Agent("B", memory=1_000_000, queue=1000, workers=1))

    @agent.capability("work.wait")
    async def wait(one: sap.Task, _context: sap.Context) -> int:
        await gate.wait()
        return len(one.payload["text"])

    async with reached(transport, agent, nats_url) as client:
        some = [task("work.wait", {"text": "x" * 90_000}, replyTo={"expectAck": False}) for _ in range(30)]
        receipts = [await client.send(one) for one in some]
        assert agent._used <= 1_000_000
        accepted = [one for one, receipt in zip(some, receipts, strict=True) if isinstance(receipt, sap.Ack)]
        for receipt in receipts:
            assert isinstance(receipt, sap.Ack) or (receipt.reason or "").startswith("RATE_LIMIT: ")
        assert 5 <= len(accepted) <= 11 or transport == "nats"
        gate.set()
        for one in accepted:
            assert (await client.call(one, retries=9)).output == 90_000
        assert await client.call("work.quick", {"text": "x" * 90_000}, retries=9) == {"text": "x" * 90_000}
        assert agent._used <= 1_000_000


async def test_bodies_that_are_read_count_too() -> None:
    agent = quick(sap.Agent("B", memory=500_000))
    async with agent, serve(http.app(agent)) as url, httpx.AsyncClient() as raw:
        stop = asyncio.Event()

        async def body() -> Any:
            yield b'{"a": "' + b"x" * 300_000
            await stop.wait()

        headers = {"Content-Type": "application/json"}
        holding = asyncio.ensure_future(raw.post(f"{url}/tasks", content=body(), headers=headers))
        while agent._used < 300_000:
            await asyncio.sleep(0.01)
        large = sap.encode(task("work.quick", {"text": "x" * 300_000}))
        answer = await raw.post(f"{url}/tasks", content=large, headers=headers)
        assert answer.status_code == 429 and answer.json()["nack"]["reason"].startswith("RATE_LIMIT: ")
        stop.set()
        assert (await holding).status_code == 400
        assert (await raw.post(f"{url}/tasks", content=large, headers=headers)).status_code == 200
    assert agent._used == sum(job.held for job in agent._ended.values())


async def test_a_result_without_room_fails_in_words_and_old_ones_give_way() -> None:
    agent = sap.Agent("B", memory=200_000)
    agent.capability("work.size")(lambda one, context: "x" * one.payload["size"])
    async with agent:
        for _ in range(5):  # more than there is room for together
            first = task("work.size", {"size": 60_000})
            assert len((await agent.call(first)).output) == 60_000
        again = await agent.call(first)
        assert len(again.output) == 60_000
        large = await agent.call(task("work.size", {"size": 250_000}))
        assert large.status == "FAILED" and "bytes" in large.error.message
        assert agent._used <= 200_000


@pytest.mark.parametrize("transport", ["bus", "http", "mcp over http"])
async def test_a_result_has_a_bound_on_every_transport(transport: str) -> None:
    agent = sap.Agent(
        "B", transcript=Ledger(":memory:"), cache=sap.Cache(":memory:"), max_result=4000, signer=KEYS["x"]
    )
    agent.capability("work.size")(
        lambda one, _: sap.Outcome("ä" * one.payload["size"], alignment="VALID", policy_checks=CHECKS)
    )
    async with reached(transport, agent) as client:
        for size, status in ((100, "SUCCEEDED"), (1000, "SUCCEEDED"), (2000, "FAILED"), (100_000, "FAILED")):
            one = task("work.size", {"size": size}, **PREFER)
            result = await client.call(one)
            assert (str(result.status), len(sap.encode(result).encode()) <= 4000) == (status, True)
            assert await client.call(one) == result and verify_message(result, {"B": PUBLIC["x"]}) == "B"
            if status == "FAILED":
                assert result.error.details["limit"] == 4000 and "bytes" in result.error.message
                assert result.constitutional_evidence.alignment == "ESCALATE"


LARGE = "x" * 5000


@pytest.mark.parametrize(
    "part",
    [
        {"output": LARGE},
        {"artifacts": [{"uri": LARGE}]},
        {"metrics": {"a": LARGE}},
        {"next_actions": [{"a": LARGE}]},
        {"meta": {"a": LARGE}},
        {"citations": [LARGE]},
        {"violations": [{"evidence": LARGE}]},
        {"policy_checks": [{"notes": LARGE}]},
        {"pressure_readings": {LARGE: 1}},
    ],
    ids=lambda part: str(*part),
)
@pytest.mark.parametrize("status", ["SUCCEEDED", "PARTIAL", "CANCELLED"])
async def test_whatever_makes_a_result_too_large_what_is_sent_is_small(part: dict[str, Any], status: str) -> None:
    async with offering(lambda one, context: sap.Outcome(status=status, **part), max_result=1500) as agent:
        result = await agent.call(do())
        assert (result.status, result.error and result.error.code) == ("FAILED", "INTERNAL")
        assert len(sap.encode(result).encode()) <= 1500


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001f600"])
async def test_a_result_of_just_the_limit_is_given(letter: str) -> None:
    """By its bytes."""

    async def made(limit: int) -> sap.Result:
        async with offering(lambda *_: {"x": letter * 30_000}, max_result=limit) as agent:
            one = do(taskId=RESULT["taskId"], correlationId=RESULT["correlationId"])
            return await agent.call(one)

    exact = len(sap.encode(await made(1 << 20)).encode())
    found = [str((await made(exact + more)).status) for more in (-1, 0, 1)]
    assert found == ["FAILED", "SUCCEEDED", "SUCCEEDED"]


# ---------------------------------------------------------------- leaving


@pytest.mark.parametrize("recorded", [False, True])
@pytest.mark.parametrize("pause", [None, 0, 0.01])
def test_leaving_right_after_a_submit_is_quiet(recorded: bool, pause: float | None, capfd: Any) -> None:
    told: list[Any] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        agent = sap.Agent("B", workers=2, transcript=Ledger(":memory:") if recorded else None)

        @agent.capability("work.wait")
        async def wait(one: sap.Task, _context: sap.Context) -> None:
            await asyncio.sleep(GUARD)

        async with agent:
            receipts = [await agent.submit(task("work.wait", {})) for _ in range(5)]
            if pause is not None:
                await asyncio.sleep(pause)
        assert [str(receipt.status) for receipt in receipts] == ["ACK"] * 5
        assert not agent.unfinished
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
    assert told == [] and capfd.readouterr() == ("", "")


# ---------------------------------------------------------------- what a newcomer is told


async def test_a_miss_is_seen_and_why_nothing_is_stored_is_told_once(capfd: Any) -> None:
    cache = sap.Cache(":memory:")
    agent = sap.Agent("B", cache=cache)
    agent.capability("work.plain")(lambda one, context: 1)
    agent.capability("work.vetted", vet=lambda one, result: "VALID")(lambda one, context: 2)

    @agent.capability("work.refuses")
    def refuses(one: sap.Task, _context: sap.Context) -> None:
        raise sap.Refusal("UNPROCESSABLE", "no")

    async with agent:
        for name, hits in (("plain", [False] * 3), ("vetted", [False, True]), ("refuses", [False] * 2)):
            for hit in hits:
                one = task(f"work.{name}", {"a": 1}, **PREFER)
                evidence = (await agent.call(one)).constitutional_evidence.cache
                assert evidence is not None and (evidence.hit, evidence.cache_key) == (hit, cache.key(one))
        assert (await agent.call(task("work.plain", {}))).constitutional_evidence.cache is None
    told = [line for line in capfd.readouterr().err.splitlines() if "not cached" in line]
    assert len(told) == 1 and "work.plain" in told[0] and "nobody vetted" in told[0]


async def test_a_handler_that_makes_its_result_is_told_what_to_return() -> None:
    agent = sap.Agent("B")
    agent.capability("work.result")(lambda one, context: sap.result_for(one, sap.Outcome(1), "B"))
    agent.capability("work.task")(lambda one, context: one)
    async with agent:
        for name, kind in (("work.result", "Result"), ("work.task", "Task")):
            error = (await agent.call(task(name, {}))).error
            assert error is not None and error.code == "INTERNAL"
            assert f"returned a {kind}" in (error.message or "") and "Outcome" in (error.message or "")


@pytest.mark.parametrize("transport", ["bus", "nats"])
async def test_a_locked_transcript_is_a_nack_within_the_tasks_time(
    transport: str, tmp_path: Path, nats_url: str
) -> None:
    path, rules = tmp_path / "t", sap.Access([sap.Rule("A-*", ("work.*",))])
    agent = quick(sap.Agent("B", transcript=Ledger(path, timeout=10 * GUARD), access=rules))
    one = task("work.quick", {}, **BRIEF)
    foreign = task("work.quick", {}, issuer={"agentId": "X", "agentKind": "agent"}, **BRIEF)

    async with reached(transport, agent, nats_url) as client:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            for each, code in ((one, "INTERNAL"), (foreign, "UNAUTHORIZED")):
                receipt = await client.send(each)
                assert reason(receipt).startswith(f"{code}: ")
        finally:
            other.execute("ROLLBACK")
            other.close()
        assert (await client.call(task("work.quick", {}))).status == "SUCCEEDED"


# ---------------------------------------------------------------- cancelling


@pytest.mark.parametrize("transport", OVER)
async def test_a_task_is_cancelled_by_who_issued_it_alone(transport: str, broker: Broker) -> None:
    begun: list[str] = []

    agent = sap.Agent("B")

    @agent.capability("work.wait")
    async def wait(one: sap.Task, _context: sap.Context) -> None:
        begun.append(one.task_id)
        await asyncio.sleep(GUARD)

    machine: Any = SimpleNamespace(broker=broker, prefix=f"c{uuid.uuid4().hex[:8]}", url="")
    async with AsyncExitStack() as opened, OVER[transport](agent, opened, machine) as clients:
        one, prime = task("work.wait", {}), clients["A-prime"]
        calling = asyncio.ensure_future(prime.call(one))
        while not begun:
            await asyncio.sleep(0.01)
        for who in ("M-allory", None):
            if transport == "nats":
                clients[who]._timeout = 0.3
            with pytest.raises((KeyError, Unanswered, sap.Refused)):
                await clients[who].cancel(one.task_id)
        assert not calling.done()
        ended = await prime.cancel(one.task_id.upper())
        assert ended.status == "CANCELLED" and await calling == ended
        assert await prime.cancel(one.task_id) == ended
        assert await prime.result(one.task_id) == ended
        if transport != "nats":  # whose task may still be on its way
            with pytest.raises(KeyError):
                await prime.cancel(str(uuid.uuid4()))


async def test_a_task_that_is_still_in_the_queue_ends_when_its_turn_comes(nats_url: str) -> None:
    from turnwire.sap.transports import nats

    names: dict[str, Any] = {"queue": "b", "prefix": f"c{uuid.uuid4().hex[:8]}"}

    done: list[str] = []
    agent = sap.Agent("B")
    agent.capability("work.note")(lambda one, context: done.append(one.task_id))
    async with nats.Client(nats_url, **names) as client:
        async with agent, nats.Worker(agent, nats_url, **names) as worker:
            assert await client.call("work.note", {}) is None  # the queue is there
            one = task("work.note", {}, replyTo={"expectAck": False})
            cancelling = asyncio.ensure_future(client.cancel(one.task_id))
            while not worker._cancels:
                await asyncio.sleep(0.01)
            await client.send(one)
            assert (await cancelling).status == "CANCELLED"
        assert one.task_id not in done


async def test_a_signed_wish_ends_a_task_and_one_with_another_signature_does_not(nats_url: str) -> None:
    from turnwire.sap.transports import nats

    names: dict[str, Any] = {"queue": "b", "prefix": f"c{uuid.uuid4().hex[:8]}", "principal": "A-prime"}
    begun: list[str] = []

    agent = sap.Agent("B")

    @agent.capability("work.wait")
    async def wait(one: sap.Task, _context: sap.Context) -> None:
        begun.append(one.task_id)
        await asyncio.sleep(GUARD)

    where = {key: names[key] for key in ("queue", "prefix")}
    identify = nats.signed({"A-prime": PUBLIC["A-prime"]})
    async with (
        agent,
        nats.Worker(agent, nats_url, identify=identify, **where),
        nats.Client(nats_url, signer=KEYS["A-prime"], **names) as prime,
        nats.Client(nats_url, signer=KEYS["x"], timeout=0.3, **names) as forger,
    ):
        one = task("work.wait", {})
        calling = asyncio.ensure_future(prime.call(one))
        while not begun:
            await asyncio.sleep(0.01)
        with pytest.raises(Unanswered):
            await forger.cancel(one.task_id)
        assert not calling.done()
        assert (await prime.cancel(one.task_id)).status == "CANCELLED" == (await calling).status


# ---------------------------------------------------------------- how far a task goes


@pytest.mark.skipif(turnwire.backend == "pure", reason="the twin in Python is files of its own")
def test_a_task_over_http_is_decoded_once_encoded_once_and_enters_few_files() -> None:
    ways: list[set[str]] = []
    calls = {"encode": 0, "decode": 0}

    def note(frame: Any, event: str, _argument: Any) -> None:
        name = frame.f_code.co_filename
        if event == "call" and f"{os.sep}turnwire{os.sep}" in name and f"{os.sep}tests{os.sep}" not in name:
            ways[-1].add(name.rpartition(f"{os.sep}turnwire{os.sep}")[2])
            if name.endswith(f"sap{os.sep}codec.py") and frame.f_code.co_name in calls:
                calls[frame.f_code.co_name] += 1

    async def main() -> None:
        agent = quick(sap.Agent("B"))
        transport = httpx.ASGITransport(http.app(agent))
        async with agent, httpx.AsyncClient(transport=transport, base_url="http://b") as raw:
            for profiled in (False, True, True, True):  # what is imported or made once does not count
                text = sap.encode(sap.make_task("work.quick", {"a": 1}))
                ways.append(set())
                sys.setprofile(note if profiled else None)
                try:
                    answer = await raw.post("/tasks", content=text, headers={"Content-Type": "application/json"})
                finally:
                    sys.setprofile(None)
                assert answer.json()["output"] == {"a": 1}

    asyncio.run(main())
    least = min(ways[1:], key=len)  # on a busy machine a task may wait, which enters one more
    assert len(least) <= 10, " ".join(sorted(least))
    assert calls == {"encode": 3, "decode": 3}


# ---------------------------------------------------------------- rows that somebody rewrote


EVIL = ("UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'good', 'evil') AS BLOB) WHERE kind = ?",)


async def test_a_rewritten_row_is_named_and_never_answers(tmp_path: Path) -> None:
    transcript = Ledger(tmp_path / "t")
    told = "is not the one that was appended"

    def serving() -> sap.Agent:
        agent = sap.Agent("B", cache=sap.Cache(tmp_path / "c"), transcript=transcript, vet=lambda one, made: "VALID")
        agent.capability("work.do")(lambda one, context: "good")
        return agent

    first = task("work.do", {"n": 1}, **PREFER)
    async with reached("bus", serving()) as client:
        assert (await client.call(first)).output == "good"
        hit = await client.call(task("work.do", {"n": 1}, **PREFER))
        assert hit.constitutional_evidence.cache.hit is True
        rewrite(tmp_path / "c", *EVIL, "sap.cache")
        refused = await client.call(task("work.do", {"n": 1}, **PREFER))
        assert (refused.status, refused.error.code) == ("FAILED", "INTERNAL")
        assert f"entry 1 {told}" in refused.error.message
    rewrite(tmp_path / "t", *EVIL, "sap.result")
    async with reached("bus", serving()) as client:
        for ask in (client.call(first), client.result(first.task_id)):
            with pytest.raises(Refused, match=f"INTERNAL: .*{told}"):
                await ask
