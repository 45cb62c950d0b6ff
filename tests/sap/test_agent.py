"""The agent trusts neither its handler nor its caller: what either does, each task has one right Result."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import CHECKS, task
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.deliveries import REPLY_SECONDS
from turnwire.sap.jobs import SHOWN, STAGES, Stage

pytestmark = pytest.mark.once

PREFER = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


def offering(handler: Callable[..., Any], name: str = "work.do", **settings: Any) -> sap.Agent:
    """An agent with one capability."""
    offered = {key: settings.pop(key) for key in ("schema", "vet", "redeliver") if key in settings}
    agent = sap.Agent("B", **settings)
    agent.capability(name, **offered)(handler)
    return agent


def run(agent: sap.Agent, what: Callable[[sap.Agent], Awaitable[Any]]) -> Any:
    async def main() -> Any:
        async with agent:
            return await what(agent)

    return asyncio.run(asyncio.wait_for(main(), 20))


def do(payload: dict[str, Any] | None = None, **changes: Any) -> sap.Task:
    return task("work.do", payload or {}, **changes)


def test_the_stages_are_one_table() -> None:
    assert set(STAGES) == set(SHOWN) == set(Stage)
    assert not STAGES[Stage.REFUSED] and not STAGES[Stage.DELIVERED]
    assert Stage.ACCEPTED in STAGES[Stage.RECEIVED] and Stage.RUNNING not in STAGES[Stage.FINISHED]
    ends = [stage for stage in Stage if Stage.FINISHED in STAGES[stage]]
    assert ends == [Stage.ACCEPTED, Stage.RUNNING], "whatever is accepted can be finished"


# ---------------------------------------------------------------- frozen


def test_what_a_handler_does_to_its_task_changes_nothing(tmp_path: Path) -> None:
    def take(one: sap.Task, _context: sap.Context) -> Any:
        key = one.payload.pop("key")
        one.task_id = one.correlation_id = "00000000-0000-0000-0000-000000000000"
        one.target.capability = "other"
        return sap.Outcome({"key": key}, alignment="VALID", policy_checks=CHECKS)

    async def what(agent: sap.Agent) -> None:
        for payload in ({"key": 1, "same": 0}, {"key": 2, "same": 0}, {"same": 0, "key": 1}):
            one = do(payload, **PREFER)
            result = await agent.call(one)
            assert (result.task_id, result.correlation_id) == (one.task_id, one.correlation_id)
            assert result.output == {"key": payload["key"]}
        assert result.constitutional_evidence.cache is not None and result.constitutional_evidence.cache.hit
        failing = await agent.call(do({"same": 0}, **PREFER))
        assert failing.error is not None and failing.error.code == "INTERNAL", "no key, and no other one's answer"

    run(offering(take, cache=sap.Cache(tmp_path / "cache"), transcript=Ledger(tmp_path / "t")), what)


def test_what_a_caller_does_to_task_and_result_changes_nothing() -> None:
    seen: list[Any] = []
    gate = asyncio.Event()

    async def wait(one: sap.Task, _context: sap.Context) -> Any:
        await gate.wait()
        seen.append(one.payload)
        return {"list": [1]}

    async def what(agent: sap.Agent) -> None:
        one = do({"a": [1]})
        again = sap.Task.from_dict(one.to_dict())
        assert isinstance(await agent.submit(one), sap.Ack)
        one.payload["a"].append(2)
        gate.set()
        first = await agent.call(again)
        assert seen == [{"a": [1]}]
        first.output["list"].append(2)
        first.status = sap.Status.FAILED
        assert (await agent.call(again)).output == {"list": [1]}
        refused = await agent.submit(one)
        assert isinstance(refused, sap.Nack), "the caller's task is another one now"

    run(offering(wait), what)


def test_an_output_that_the_handler_keeps_is_frozen_when_it_leaves() -> None:
    kept: dict[str, Any] = {"n": 1}

    def give(_task: sap.Task, _context: sap.Context) -> Any:
        return kept

    async def what(agent: sap.Agent) -> None:
        one = do()
        assert (await agent.call(one)).output == {"n": 1}
        kept["n"] = 2
        assert (await agent.call(one)).output == {"n": 1}

    run(offering(give), what)


# ---------------------------------------------------------------- whatever a handler does


class Odd(BaseException):
    pass


async def _cancels_itself() -> Any:
    inner = asyncio.ensure_future(asyncio.sleep(10))
    asyncio.get_running_loop().call_soon(inner.cancel)
    return await inner


def _raising(error: BaseException) -> Callable[..., Any]:
    def plain(_task: sap.Task, _context: sap.Context) -> Any:
        raise error

    async def coroutine(_task: sap.Task, _context: sap.Context) -> Any:
        raise error

    return coroutine if getattr(error, "in_coroutine", False) else plain


async def _inner_cancelled(_task: sap.Task, _context: sap.Context) -> Any:
    return await _cancels_itself()


def _in_coroutine(error: BaseException) -> Callable[..., Any]:
    error.in_coroutine = True  # type: ignore[attr-defined]
    return _raising(error)


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        (_raising(SystemExit(1)), "SystemExit"),
        (_raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (_raising(Odd()), "Odd"),
        (_raising(GeneratorExit()), "GeneratorExit"),
        (_raising(asyncio.CancelledError()), "CancelledError"),
        (_raising(StopIteration()), "StopIteration"),
        (_raising(TimeoutError()), "TimeoutError"),
        (_in_coroutine(SystemExit(1)), "SystemExit"),
        (_in_coroutine(KeyboardInterrupt()), "KeyboardInterrupt"),
        (_in_coroutine(Odd()), "Odd"),
        (_in_coroutine(asyncio.CancelledError()), "CancelledError"),
        (_inner_cancelled, "CancelledError"),
        (lambda task, context: sap.Outcome(status="QUEUED"), "not a terminal status"),
        (lambda task, context: sap.Outcome(1, status="RUNNING"), "not a terminal status"),
        (lambda task, context: sap.Outcome(status="no such"), "ValueError"),
        (lambda task, context: sap.Outcome(alignment="no such"), "ValueError"),
        (lambda task, context: {1, 2}, "no right result"),
        (lambda task, context: float("nan"), "no right result"),
        (lambda: None, "TypeError"),
    ],
)
def test_a_worker_outlives_it(handler: Callable[..., Any], said: str, tmp_path: Path) -> None:
    async def what(agent: sap.Agent) -> None:
        for _ in range(3):  # more than there are workers
            result = await agent.call(do())
            assert result.error is not None and said in (result.error.message or "")
            assert (result.status, result.error.code) == ("FAILED", "INTERNAL")
            assert result.constitutional_evidence.alignment == "ESCALATE"

    run(offering(handler, workers=2), what)


def test_texts_of_enums_are_taken() -> None:
    violations = [{"principle": "p", "severity": "high"}]

    def judge(_task: sap.Task, _context: sap.Context) -> Any:
        return sap.Outcome(1, alignment="NON_CONSTITUTIONAL", violations=violations)

    async def what(agent: sap.Agent) -> None:
        result = await agent.call(do())
        evidence = result.fields["constitutionalEvidence"]
        assert (result.status, evidence["alignment"]) == ("FAILED", "NON_CONSTITUTIONAL")
        assert evidence["violations"] == violations
        assert result.error is not None and result.error.code == "NON_CONSTITUTIONAL"

    run(offering(judge), what)


def test_plain_handlers_over_budget_hold_their_own_threads_only(tmp_path: Path) -> None:
    gate = threading.Event()

    def hang(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("hang"):
            gate.wait(15)
        return "done"

    async def what(agent: sap.Agent) -> None:
        budget = {"telemetry": {"budget": {"seconds": 0.02}}}
        for _ in range(4):
            result = await agent.call(do({"hang": True}, **budget))
            assert result.error is not None and result.error.code == "TIMEOUT"
            if not agent._execution.pool.stuck:
                assert (await agent.call(do(**PREFER))).output == "done"
        refused = await agent.submit(do())
        assert isinstance(refused, sap.Nack)
        assert (refused.reason or "").startswith("RATE_LIMIT: all 4 places for handlers are held")
        gate.set()
        while agent._execution.pool.stuck:
            await asyncio.sleep(0.01)
        assert (await agent.call(do())).output == "done"

    cache, loop = sap.Cache(tmp_path / "cache", unvetted=True), sap.LearningLoop(tmp_path / "loop")
    run(offering(hang, workers=2, handlers=4, cache=cache, learning=loop, transcript=Ledger(tmp_path / "t")), what)


def test_a_coroutine_over_budget_is_cancelled_and_one_that_does_not_heed_it_left_behind() -> None:
    ended: list[str] = []
    gate = asyncio.Event()

    async def sleep(one: sap.Task, _context: sap.Context) -> Any:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            ended.append("cancelled")
            if one.payload.get("stubborn"):
                await gate.wait()
            raise

    async def what(agent: sap.Agent) -> None:
        for payload in ({}, {"stubborn": True}):
            result = await agent.call(do(payload, telemetry={"budget": {"seconds": 0.02}}))
            assert result.error is not None and result.error.code == "TIMEOUT"
        assert ended == ["cancelled"] * 2
        gate.set()

    run(offering(sleep), what)


def test_a_task_without_a_limit_has_the_agents() -> None:
    async def sleep(_task: sap.Task, _context: sap.Context) -> None:
        await asyncio.sleep(10)

    async def what(agent: sap.Agent) -> None:
        result = await agent.call(do())
        assert result.error is not None and result.error.code == "TIMEOUT"

    run(offering(sleep, seconds=0.02), what)


def test_a_task_is_cancelled_by_its_principal_alone() -> None:
    async def sleep(_task: sap.Task, _context: sap.Context) -> None:
        await asyncio.sleep(10)

    async def what(agent: sap.Agent) -> None:
        running, waiting = do(), do()
        for one in (running, waiting):
            assert isinstance(await agent.submit(one, principal="A-prime"), sap.Ack)
        for other in ("mallory", sap.ANONYMOUS, None):
            with pytest.raises(KeyError):
                await agent.cancel(running.task_id, principal=other)
        for one in (waiting, running):
            cancelling = asyncio.create_task(agent.cancel(one.task_id.upper(), principal="A-prime"))
            if one is running:
                assert (await cancelling).status == "CANCELLED"
        assert (await cancelling).status == "CANCELLED"

    run(offering(sleep, workers=1), what)


def test_whoever_is_closed_tells_those_who_wait(tmp_path: Path) -> None:
    async def sleep(_task: sap.Task, _context: sap.Context) -> None:
        await asyncio.sleep(10)

    async def main() -> None:
        agent = offering(sleep, workers=1, transcript=Ledger(tmp_path / "t"))
        async with agent:
            calls = [asyncio.create_task(agent.call(do())) for _ in range(3)]
            while agent.waiting < 2 or agent.unfinished < 3:
                await asyncio.sleep(0.001)
        assert [result.status for result in await asyncio.gather(*calls)] == ["CANCELLED"] * 3
        refused = await agent.submit(do())
        assert isinstance(refused, sap.Nack)
        assert "B is not running" in (refused.reason or "")

    asyncio.run(asyncio.wait_for(main(), 20))


def test_a_receiver_that_hangs_or_breaks_stops_nobody() -> None:
    async def what(agent: sap.Agent) -> None:
        got: list[sap.Result] = []

        async def hangs(_result: sap.Result) -> None:
            await asyncio.sleep(REPLY_SECONDS * 2)

        async def breaks(_result: sap.Result) -> None:
            raise OSError

        async def edits(result: sap.Result) -> None:
            result.output = "edited"
            got.append(result)

        for reply in (hangs, breaks, edits):
            one = do()
            await agent.submit(one, reply)
            assert (await agent.result(one.task_id)).output == "done"
        assert (await agent.result(one.task_id)).output == "done"

    async def main() -> None:
        agent = offering(lambda task, context: "done", workers=1)
        async with agent:
            await what(agent)
            [sending.cancel() for sending in agent._deliveries._tasks]  # the one that hangs

    asyncio.run(asyncio.wait_for(main(), 20))
