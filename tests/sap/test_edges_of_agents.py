"""Agents at the edge of what they promise: limits, places, copies, orders, who is asked and who is told."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import CHECKS
from tests.sap.test_agent import do, offering, run
from turnwire import sap
from turnwire.errors import Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.access import Principal
from turnwire.sap.handlers import Overrun, Pool, Stuck
from turnwire.sap.jobs import Job
from turnwire.sap.vetting import GRAVITY

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("quiet_logs")]


@pytest.mark.parametrize("own", [1500, 3000])
@pytest.mark.parametrize("given", [None, 1500, 3000])
def test_a_result_has_the_smaller_of_two_limits(own: int, given: int | None) -> None:
    async def what(agent: sap.Agent) -> None:
        job = await agent.receive(do(), limit=given)
        assert isinstance(job, Job)
        error = (await job.wait()).error
        assert error is not None and error.details is not None
        assert error.details["limit"] == min(own, given or own)

    run(offering(lambda one, context: "x" * 4000, max_result=own), what)


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
def test_whatever_makes_a_result_too_large_what_is_sent_is_small(part: dict[str, Any], status: str) -> None:
    async def what(agent: sap.Agent) -> None:
        result = await agent.call(do())
        assert (result.status, result.error and result.error.code) == ("FAILED", "INTERNAL")
        assert len(sap.encode(result).encode()) <= 1500

    run(offering(lambda one, context: sap.Outcome(status=status, **part), max_result=1500), what)


def test_what_an_output_breaks_stands_beside_what_meta_says() -> None:
    contract = {"outputContract": {"schema": {"required": ["b"]}}}

    async def what(agent: sap.Agent) -> None:
        for one, issues in ((do(**contract), True), (do(), False)):
            meta = (await agent.call(one)).meta or {}
            assert meta.pop("outputIssues", []) != [] if issues else "outputIssues" not in meta
            assert meta == {"mine": 1}

    run(offering(lambda one, context: sap.Outcome({"a": 1}, meta={"mine": 1})), what)


def test_an_error_that_a_handler_keeps_is_not_changed() -> None:
    kept = sap.AgentError(code="NOT_FOUND")

    async def what(agent: sap.Agent) -> None:
        for _ in range(2):
            result = await agent.call(do())
            assert result.error is not None and (result.error.code, result.error.message) == ("NOT_FOUND", "NOT_FOUND")

    run(offering(lambda one, context: sap.Outcome(error=kept)), what)
    assert kept.fields == {"code": "NOT_FOUND"}


WHERE: contextvars.ContextVar[str] = contextvars.ContextVar("where", default="nowhere")


def test_a_plain_handler_has_the_context_of_whoever_runs_the_agent() -> None:
    def plain(_task: sap.Task, _context: sap.Context) -> str:
        found = WHERE.get()
        WHERE.set("changed")
        return found

    async def coroutine(_task: sap.Task, _context: sap.Context) -> str:
        return plain(_task, _context)

    async def main() -> None:
        WHERE.set("here")
        for handler in (plain, coroutine):
            async with offering(handler, workers=1) as agent:
                assert [(await agent.call(do())).output for _ in range(3)] == ["here"] * 3

    asyncio.run(main())
    assert WHERE.get() == "nowhere"


def test_places_of_the_line_come_back_when_an_agent_is_entered_again() -> None:
    """Those of tasks that waited when it was closed, too."""
    gate = asyncio.Event()

    async def wait(_task: sap.Task, _context: sap.Context) -> None:
        await gate.wait()

    async def main() -> None:
        agent = offering(wait, workers=1, queue=2)
        for _ in range(3):
            async with agent:
                tasks = [do() for _ in range(3)]
                receipts = [await agent.submit(tasks[0])]
                while agent.waiting:
                    await asyncio.sleep(0)
                receipts += [await agent.submit(one) for one in (*tasks[1:], do())]
                assert [str(receipt.status) for receipt in receipts] == ["ACK", "ACK", "ACK", "NACK"]

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize("handlers", [1, 2, 3, 4])
def test_as_many_handlers_are_at_work_as_there_are_workers(handlers: int) -> None:
    """Also where fewer were given: each has been begun before one of them ends."""

    async def main() -> None:
        begun, gate = 0, asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> int:
            nonlocal begun
            begun += 1
            if begun == 3:
                gate.set()
            await gate.wait()
            return begun

        async with offering(wait, workers=3, handlers=handlers) as agent:
            results = await asyncio.gather(*(agent.call(do(telemetry={"budget": {"seconds": 5}})) for _ in range(3)))
        assert [result.output for result in results] == [3, 3, 3]

    asyncio.run(asyncio.wait_for(main(), 20))


def test_results_come_in_their_order_however_long_one_takes() -> None:
    got: list[str] = []

    async def slow(result: sap.Result) -> None:
        if str(result.status) != "SUCCEEDED":
            for _ in range(20):
                await asyncio.sleep(0)
        got.append(str(result.status))

    async def what(agent: sap.Agent) -> None:
        await agent.submit(do(telemetry={"trace": True}), slow)
        while len(got) < 3:
            await asyncio.sleep(0)
        assert got == ["QUEUED", "RUNNING", "SUCCEEDED"]

    run(offering(lambda one, context: 1), what)


def test_a_task_may_be_cancelled_more_than_once() -> None:
    gate = asyncio.Event()

    async def wait(_task: sap.Task, _context: sap.Context) -> None:
        await gate.wait()

    async def what(agent: sap.Agent) -> None:
        held, waiting = do(), do()
        for one in (held, waiting):
            await agent.submit(one)
        for one in (waiting, held):
            job = await agent._accepted(sap.ANONYMOUS, one.task_id)
            assert job is not None
            job.cancel()
            job.cancel()
            results = await asyncio.gather(*(agent.cancel(one.task_id) for _ in range(3)))
            assert [str(result.status) for result in results] == ["CANCELLED"] * 3

    run(offering(wait, workers=1), what)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_a_task_is_kept_where_any_of_its_senders_keeps_it(first: bool, second: bool) -> None:
    """Then it has no Result when its agent is closed: it will be sent again."""

    async def main() -> None:
        gate = asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> None:
            await gate.wait()

        agent, one = offering(wait), do()
        async with agent:
            jobs = [await agent.receive(one, kept=kept) for kept in (first, second)]
        assert isinstance(jobs[0], Job) and jobs[0] is jobs[1]
        if first or second:
            with pytest.raises(Unreachable):
                await jobs[0].wait()
        else:
            assert str((await jobs[0].wait()).status) == "CANCELLED"

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_capability_that_is_offered_again_has_what_it_is_offered_with() -> None:
    async def what(agent: sap.Agent) -> None:
        for schema, status in (({"required": ["a"]}, "FAILED"), (None, "SUCCEEDED"), ({"required": ["b"]}, "FAILED")):
            agent.capability("work.do", schema=schema)(lambda one, context: 1)
            assert agent.capabilities["work.do"].schema == schema
            assert str((await agent.call(do())).status) == status

    run(offering(lambda one, context: 1), what)


def test_a_traced_task_that_is_sent_again_is_queued_once(tmp_path: Path) -> None:
    """It was accepted before, by an agent that has ended."""
    ledger = Ledger(tmp_path / "t")
    one = do(telemetry={"trace": True})

    async def main() -> list[str]:
        got: list[str] = []
        begun, gate = asyncio.Event(), asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> None:
            begun.set()
            await gate.wait()

        async def note(result: sap.Result) -> None:
            got.append(str(result.status))

        async with offering(wait, transcript=ledger) as agent:
            await agent.submit(one, note, kept=True)
            await begun.wait()
        return got

    assert [asyncio.run(asyncio.wait_for(main(), 20)) for _ in range(3)] == [["QUEUED", "RUNNING"]] + [["RUNNING"]] * 2


@pytest.mark.parametrize("remembered", [0, 1, 2, 5])
def test_the_newest_tasks_are_remembered(remembered: int) -> None:
    calls: list[str] = []

    async def what(agent: sap.Agent) -> None:
        tasks = [do({"name": str(number)}) for number in range(4)]
        for one in tasks:
            await agent.call(one)
        held = [agent.holds(one.task_id.upper(), sap.ANONYMOUS) for one in tasks]
        assert held == [number >= 4 - remembered for number in range(4)]
        for one in reversed(tasks[4 - min(remembered, 4) :]):
            await agent.call(one)
        assert len(calls) == 4
        assert not agent.holds(tasks[3].task_id, Principal("other"))

    run(offering(lambda one, context: calls.append(one.payload["name"]), remembered=remembered), what)


@pytest.mark.parametrize("own", [None, *GRAVITY])
@pytest.mark.parametrize("said", [None, *GRAVITY])
def test_the_gravest_word_counts_whoever_said_it(own: Any, said: Any) -> None:
    """That of the capability as that of a vetter; its own VALID without a vetter's is none."""
    words = [word for word in (own, said) if word is not None]
    gravest = max(words, key=GRAVITY.index, default=None)

    async def what(agent: sap.Agent) -> None:
        result = await agent.call(do())
        grave = gravest if said is not None or own is not sap.Alignment.VALID else None
        assert result.constitutional_evidence.alignment == (grave or sap.Alignment.ESCALATE)
        asked = said is not None and grave is sap.Alignment.ESCALATE
        assert str(result.status) == ("ESCALATED" if asked else "PARTIAL")

    outcome = sap.Outcome(1, status="PARTIAL", alignment=own, policy_checks=CHECKS)
    run(offering(lambda one, context: outcome, vet=lambda one, result: said), what)


def test_who_waits_for_another_agent_may_be_cancelled(tmp_path: Path) -> None:
    """It has the task, and goes on; of one that both have there is one Result."""
    one, ledger = do(), Ledger(tmp_path / "t")

    async def main() -> None:
        begun, gate = asyncio.Event(), asyncio.Event()

        async def wait(_task: sap.Task, _context: sap.Context) -> None:
            begun.set()
            await gate.wait()

        async with offering(wait, transcript=ledger) as first, offering(wait, transcript=ledger) as second:
            await first.submit(one)
            await begun.wait()
            await second.submit(one)
            assert str((await second.cancel(one.task_id)).status) == "CANCELLED"
            gate.set()
            assert str((await first.result(one.task_id)).status) == "CANCELLED"

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize("size", [1, 2])
def test_a_pool_whose_places_are_all_held_says_so_at_once(size: int) -> None:
    """By calls that overran their time; as soon as one has ended there is a place."""

    async def main() -> None:
        pool, gate = Pool(size), asyncio.Event()

        async def stubborn() -> None:
            while not gate.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await gate.wait()

        for _ in range(size):
            assert not pool.stuck and await pool.run(lambda: 1, seconds=None) == 1
            with pytest.raises(Overrun):
                await pool.run(stubborn, seconds=0)
        assert pool.stuck
        try:
            for seconds in (0, 20):
                with pytest.raises(Stuck):
                    await pool.run(lambda: 1, seconds=seconds)
        finally:
            gate.set()
        while pool.left_behind:
            await asyncio.sleep(0)
        assert await pool.run(lambda: 1, seconds=None) == 1
        pool.close()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_task_that_is_late_when_its_turn_comes_is_not_begun(tmp_path: Path) -> None:
    """Whatever else could be said of it: not by its payload, not out of the cache, not by its handler."""
    calls: list[sap.Task] = []
    more = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}

    async def what(agent: sap.Agent) -> None:
        assert str((await agent.call(do({"a": 1}, **more))).status) == "SUCCEEDED"
        for payload in ({"a": 1}, {"b": 1}):
            for limit in ({"deadline": "2020-01-01T00:00:00Z"}, {"budget": {"seconds": 0}}):
                result = await agent.call(do(payload, telemetry=limit, **more))
                assert (str(result.status), result.error and result.error.code) == ("FAILED", "TIMEOUT")

    def handler(one: sap.Task, _context: sap.Context) -> Any:
        calls.append(one)
        return sap.Outcome(1, alignment="VALID", policy_checks=CHECKS)

    run(offering(handler, cache=sap.Cache(tmp_path / "c"), schema={"required": ["a"]}), what)
    assert len(calls) == 1
