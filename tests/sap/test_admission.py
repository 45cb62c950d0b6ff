"""Tasks an agent takes, from whom, in which order, and what several agents on one transcript make of it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import task
from tests.sap.test_agent import Gate, do, offering, reason
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.access import ANONYMOUS
from turnwire.sap.handlers import ALLOWANCE, Job, Line, key_of
from turnwire.sap.transcripts import RESULT_KIND, TASK_KIND, Batching, Transcript

pytestmark = pytest.mark.once
RULES = sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))])


async def test_refusals_hold_nothing_and_cost_no_row(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "t")

    async with offering(lambda task, context: 1, access=RULES, transcript=ledger) as agent:
        for who in ("mallory", None, "é" * 200, "🙂" * 200):
            big = do({"text": "x" * 100_000}, issuer={"agentId": "é" * 5000, "agentKind": "agent"})
            receipt = await agent.submit(big, principal=who)
            assert reason(receipt).startswith("UNAUTHORIZED: ")
            assert receipt.correlation_id == big.correlation_id
        assert not agent._jobs and not agent._ended
        assert len(ledger) == 0


async def test_what_strict_writing_refuses_is_a_nack_with_a_pointer() -> None:
    async with offering(lambda task, context: 1) as agent:
        for change, pointer in (
            ({"constitutionalContext__pressureLevel": ...}, "/constitutionalContext/pressureLevel"),
            ({"constitutionalContext__pressure": {"p": 101}}, "/constitutionalContext/pressure/p"),
            ({"issuedAt": "2025-09-28T10:15:23+01:00"}, "/issuedAt"),
        ):
            one = do(**change)
            receipt = await agent.submit(one)
            assert reason(receipt).startswith(f"INVALID_TASK: {pointer}: ")
            assert receipt.correlation_id == one.correlation_id


async def test_payloads_are_judged_by_their_schema() -> None:
    calls: list[Any] = []
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "integer"}, "b": {"items": {"minimum": 1}}},
    }

    async with offering(lambda task, context: calls.append(task), schema=schema) as agent:
        result = await agent.call(do({"a": "x", "b": [1, 0]}))
        assert (result.status, result.error.code) == ("FAILED", "UNPROCESSABLE")
        pointers = [issue["pointer"] for issue in (result.error.details or {})["issues"]]
        assert sorted(pointers) == ["/payload/a", "/payload/b/1"]
        assert not calls
        assert (await agent.call(do({"a": 1}))).status == "SUCCEEDED"
        with pytest.raises(ValueError, match="not a JSON Schema"):
            agent.capability("x", schema={"type": 5})
        with pytest.raises(ValueError, match="redeliver"):
            agent.capability("x", redeliver="perhaps")
        with pytest.raises(TypeError, match="needs a name"):
            agent.capability(len)  # type: ignore[arg-type]


async def test_priority_orders_the_queue_and_nobody_waits_for_ever() -> None:
    order: list[str] = []
    gate, begun = asyncio.Event(), asyncio.Event()

    async def note(one: sap.Task, _context: sap.Context) -> None:
        if one.payload["name"] == "first":
            begun.set()
            await gate.wait()
        order.append(one.payload["name"])

    async with offering(note, workers=1, queue=1000) as agent:
        await agent.submit(do({"name": "first"}))
        await begun.wait()
        sent = [("low", "low"), ("normal", None), ("hinted", "hint"), ("urgent", "urgent")]
        for name, priority in sent:
            change: dict[str, Any] = {"telemetry": {"priority": priority}} if priority not in (None, "hint") else {}
            if priority == "hint":
                change = {"target": {"capability": "work.do", "routingHints": {"priority": "high"}}}
            await agent.submit(do({"name": name}, **change))
        for number in range(300):
            await agent.submit(do({"name": f"u{number}"}, telemetry={"priority": "urgent"}))
        gate.set()
        while len(order) < 305:
            await asyncio.sleep(0.01)
    assert order[:3] == ["first", "urgent", "u0"]
    places = [order.index(name) for name in ("urgent", "hinted", "normal", "low")]
    assert places == sorted(places)
    assert order.index("low") < order.index("u299")


async def test_two_agents_that_share_a_transcript_execute_a_task_once(tmp_path: Path) -> None:
    calls: list[str] = []

    def offered(name: str) -> sap.Agent:
        async def do_it(_task: sap.Task, _context: sap.Context) -> Any:
            calls.append(name)
            await asyncio.sleep(0.1)
            return {"by": name}

        agent = sap.Agent("B", transcript=Ledger(tmp_path / "t"))
        agent.capability("work.do")(do_it)
        return agent

    async with offered("one") as one, offered("two") as two:
        same = do()
        results = await asyncio.gather(*(agent.call(same) for agent in (one, two) * 3))
        assert all(result == results[0] for result in results)
    assert len(calls) == 1
    kinds = [entry.kind for entry in Ledger(tmp_path / "t")]
    assert kinds.count(RESULT_KIND) == 1, "whoever asked in vain left a row as well"


@pytest.mark.parametrize("redeliver", ["again", "fail"])
async def test_a_task_that_was_started_and_never_finished(tmp_path: Path, redeliver: str) -> None:
    ledger = Ledger(tmp_path / "t")
    one = do()
    attempts: list[int] = []

    async with offering(
        lambda _, context: attempts.append(context.attempt), redeliver=redeliver, transcript=ledger
    ) as agent:
        dead = Transcript(ledger, lease=0.1)
        await dead.append((TASK_KIND, sap.encode(one), one.task_id))
        assert (await dead.claim(one.task_id)).mine
        dead.close()
        result = await agent.call(one)
    assert attempts == ([2] if redeliver == "again" else [])
    assert result.status == ("SUCCEEDED" if redeliver == "again" else "FAILED")
    assert result.error is None or "not finished" in (result.error.message or "")


async def test_a_task_that_its_agent_lets_go_is_another_ones_at_once(tmp_path: Path) -> None:
    """Not when the time is over for which it was the first one's: that is an hour."""
    ledger, one, hangs = Ledger(tmp_path / "t"), do(), Gate()
    first = offering(hangs, transcript=ledger, lease=3600)
    await first.__aenter__()
    assert isinstance(await first.submit(one, kept=True), sap.Ack)
    await hangs.begun.wait()
    async with offering(lambda _task, context: context.attempt, transcript=ledger, lease=3600) as second:
        calling = asyncio.ensure_future(second.call(one))
        while not second._jobs or not next(iter(second._jobs.values())).claimed:
            await asyncio.sleep(0.01)
        await first.__aexit__()
        assert (await calling).output == 2


async def test_results_are_found_after_a_restart(tmp_path: Path) -> None:
    one = do(telemetry={"trace": True})
    async with offering(lambda *_: 1, transcript=Ledger(tmp_path / "t")) as agent:
        made = await agent.call(one, principal="A-prime")
    async with offering(lambda *_: 1, transcript=Ledger(tmp_path / "t")) as agent:
        with pytest.raises(KeyError):
            await agent.look_up(one.task_id)
        assert await agent.look_up(one.task_id, principal="A-prime") == made


async def test_what_waits_goes_in_its_order_whatever_is_taken_out():
    for seed in range(40):
        chance = random.Random(seed)
        line = Line(sap.Capability("work.do", lambda *_: None, "", None, queue=0, workers=1))
        keys, came, left = {}, [], []

        async def life(job: Job, line: Line = line, came: Any = came, left: Any = left) -> None:
            async with line.turn(job, None) as its_turn:
                (came if its_turn else left).append(job)

        def begin(priority: str, life: Any = life) -> tuple[Job, asyncio.Task[None]]:
            one = do(telemetry={"priority": priority})
            job = Job(one, sap.encode(one), ANONYMOUS)
            return job, asyncio.create_task(life(job))

        async with line.turn(begin("low")[0], None):
            lives = []
            for number in range(chance.randrange(1, 14)):
                priority = chance.choice(list(ALLOWANCE))
                job, living = begin(priority)
                lives.append(living)
                keys[job] = number + ALLOWANCE[priority], number
            await asyncio.sleep(0)
            gone = chance.sample(list(keys), chance.randrange(len(keys)))
            for job in gone:
                job.cancel()
                del keys[job]
            await asyncio.sleep(0.001)
            assert line.waiting == len(keys) + 1 and set(left) == set(gone)
        await asyncio.gather(*lives)
        assert [job for job in came if job in keys] == sorted(keys, key=keys.__getitem__)
        assert not line.waiting and not line.working


@pytest.mark.parametrize("keys", [["a"], ["a", "b"], ["a", "a"], ["a", "b", "a"], ["a", "a", "a", "b"]])
async def test_what_several_write_at_once_under_one_key_is_seen_by_the_next(keys, tmp_path: Path):
    with Ledger(tmp_path / "ledger") as ledger:
        batching = Batching(ledger)

        def prepare(key: str, n: int) -> Any:
            return [("kind", str(n), key)], [int(entry.body) for entry in ledger.find("kind", key)]

        found = await asyncio.gather(*(batching.do(partial(prepare, key, n), key) for n, key in enumerate(keys)))
        batching.close()
    assert found == [[m for m in range(n - 1, -1, -1) if keys[m] == key] for n, key in enumerate(keys)]


async def test_whoever_asks_a_ledger_and_goes_takes_nothing_from_the_others() -> None:
    rows = Batching(Ledger(":memory:"))
    asked = [asyncio.ensure_future(rows.do(lambda n=n: ([("k", "{}", "")], n))) for n in range(3)]  # type: ignore[misc]
    await asyncio.sleep(0)
    asked[0].cancel()
    assert await asyncio.gather(*asked[1:]) == [1, 2]
    assert await rows.do(lambda: ([], len(rows.ledger))) in (2, 3)
    rows.ledger.close()
    with pytest.raises(sqlite3.ProgrammingError):  # and nobody waits for ever
        await rows.do(lambda: ([], 1))
    rows.close()


def test_a_capability_is_allowed_by_any_rule_that_knows_its_issuer() -> None:
    rules = sap.Access([sap.Rule("A-*", ("a.*", "b.*")), sap.Rule("A-1", ("c.*",)), sap.Rule("B", ("d.*",), ("user",))])
    for issuer, kind, allowed in (("A-1", "agent", "abc"), ("A-2", "agent", "ab"), ("B", "user", "d")):
        for letter in "abcd":
            asked = task(f"{letter}.x", {}, issuer={"agentId": issuer, "agentKind": kind})
            denial = rules.refusal(asked)
            assert (None if denial is None else str(denial[0])) == (None if letter in allowed else "FORBIDDEN")
    for issuer, kind in (("B", "agent"), ("C", "user"), ("a-1", "agent")):
        denial = rules.refusal(task("d.x", {}, issuer={"agentId": issuer, "agentKind": kind}))
        assert denial is not None and str(denial[0]) == "UNAUTHORIZED"


async def test_a_traced_task_that_is_sent_again_is_queued_once(tmp_path: Path) -> None:
    """It was accepted before, by an agent that has ended."""
    ledger, one, got = Ledger(tmp_path / "t"), do(telemetry={"trace": True}), list[str]()

    async def note(result: sap.Result) -> None:
        got.append(str(result.status))

    for _ in range(3):
        wait = Gate()
        async with offering(wait, transcript=ledger) as agent:
            await agent.submit(one, note, kept=True)
            await wait.begun.wait()
    assert got == ["QUEUED"] + ["RUNNING"] * 3


async def test_who_waits_for_another_agent_may_be_cancelled(tmp_path: Path) -> None:
    """It has the task, and goes on; of one that both have there is one Result."""
    one, ledger, wait = do(), Ledger(tmp_path / "t"), Gate()
    async with offering(wait, transcript=ledger) as first, offering(wait, transcript=ledger) as second:
        await first.submit(one)
        await wait.begun.wait()
        await second.submit(one)
        assert str((await second.cancel(one.task_id)).status) == "CANCELLED"
        wait.open.set()
        assert str((await first.call(one)).status) == "CANCELLED"


async def test_what_was_accepted_is_acknowledged_out_of_the_transcript() -> None:
    """By the correlation of the task."""

    ledger, one = Ledger(":memory:"), do()
    ledger.append(TASK_KIND, sap.encode(one), key=key_of(ANONYMOUS, one.task_id))
    async with offering(lambda *_: 1, transcript=ledger) as agent:
        found = await agent.look_up(one.task_id)
    assert (found.correlation_id, isinstance(found, sap.Ack)) == (one.correlation_id, True)
    return found


DIES = """
import asyncio, os, sys
from turnwire.ledger import Ledger
from turnwire.sap.transcripts import Transcript
async def main():
    assert (await Transcript(Ledger(sys.argv[1]), lease=3600).claim(sys.argv[2])).mine
    os.kill(os.getpid(), 9)
asyncio.run(main())
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="this system does not tell which process is gone")
async def test_the_task_of_a_killed_process_is_another_ones_at_once(tmp_path: Path) -> None:
    """Not when its lease is over: that is an hour."""
    one = do()
    killed = subprocess.run([sys.executable, "-c", DIES, tmp_path / "t", one.task_id])
    assert killed.returncode == -9
    async with offering(lambda _task, context: context.attempt, transcript=Ledger(tmp_path / "t")) as agent:
        assert (await agent.call(one)).output == 2
