"""What handlers and vetters do to the agent around them, and what waits behind them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import CHECKS, task
from tests.sap.test_agent import do, offering, run
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.spec import TERMINAL
from turnwire.sap.times import write_time
from turnwire.sap.transcripts import RESULT_KIND


@pytest.fixture(autouse=True)
def quiet_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL)


class Trap(dict[str, Any]):
    """An output that raises when it is looked at."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(a=1)
        self.error = error

    def items(self) -> Any:
        raise self.error

    def __iter__(self) -> Iterator[str]:
        raise self.error


TRAPS = (SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit(), StopIteration(), ValueError())


@pytest.mark.parametrize("error", TRAPS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("where", ["output", "meta", "violation"])
def test_an_output_that_raises_when_it_is_looked_at_fails_its_task_alone(error: BaseException, where: str) -> None:
    def vet(one: sap.Task, _result: sap.Result) -> Any:
        return sap.Vetting("VALID", CHECKS, [Trap(error)]) if where == "violation" else None

    def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("good"):
            return 1
        return {"output": lambda: Trap(error), "meta": lambda: sap.Outcome(1, meta=Trap(error))}.get(where, int)()

    async def what(agent: sap.Agent) -> None:
        for _ in range(2):
            result = await agent.call(do())
            alignment = result.constitutional_evidence.alignment
            assert (result.status, alignment) == ("ESCALATED" if where == "violation" else "FAILED", "ESCALATE")
        assert where == "violation" or (await agent.call(do({"good": True}))).status == "SUCCEEDED"

    run(offering(handler, vet=vet, workers=1), what)


OWN = ("Agent.", "Batching.", "Deliveries.", "Execution.")
"""Whose work a handler cancels; that of the test, and of the loop around both, is nobody's to mend."""


def test_an_agent_outlives_a_handler_that_cancels_everything(tmp_path: Path) -> None:
    async def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("cancel"):
            for other in asyncio.all_tasks() - {asyncio.current_task()}:
                if getattr(other.get_coro(), "__qualname__", "").startswith(OWN):
                    other.cancel()
        return 1

    async def what(agent: sap.Agent) -> None:
        for trace in (False, True, False):
            result = await agent.call(do({"cancel": True}, telemetry={"trace": trace}))
            assert result.status in TERMINAL
        assert (await agent.call(do())).status == "SUCCEEDED"
        assert agent.running

    ledger = Ledger(tmp_path / "t")
    run(offering(handler, workers=2, transcript=ledger), what)
    terminal = [row.key for row in ledger if row.kind == RESULT_KIND and sap.decode(row.body)["status"] in TERMINAL]
    assert len(terminal) == len(set(terminal)) == 4


def test_what_waits_is_cancelled_or_overdue_at_once_whatever_is_before_it() -> None:
    release = asyncio.Event()

    async def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("hold"):
            await release.wait()
        return 1

    async def what(agent: sap.Agent) -> None:
        held = asyncio.ensure_future(agent.call(do({"hold": True})))
        while agent.waiting or not agent.unfinished:
            await asyncio.sleep(0)
        first, second = do(), do()
        assert [(await agent.submit(one)).status for one in (first, second)] == ["ACK", "ACK"]
        assert (await agent.cancel(first.task_id)).status == "CANCELLED"
        late = do(telemetry={"deadline": write_time(datetime.now(UTC) + timedelta(seconds=1))})
        result = await agent.call(late)
        assert (result.status, result.error and result.error.code) == ("FAILED", "TIMEOUT")
        assert agent.waiting == 1
        assert not held.done()
        third = do()
        assert (await agent.submit(third)).status == "ACK", "those who left gave their places back"
        assert isinstance(await agent.submit(do()), sap.Nack)
        release.set()
        for one in (second, third):
            assert (await agent.result(one.task_id)).status == "SUCCEEDED"
        assert (await held).status == "SUCCEEDED"

    run(offering(handler, workers=1, queue=2), what)


def test_a_full_disk_is_said_and_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Ledger):
        full = False

        def append_many(self, *values: Any, **options: Any) -> Any:
            if self.full:
                raise OSError(28, "no space left")
            return super().append_many(*values, **options)

    ledger = Full(tmp_path / "t")

    async def what(agent: sap.Agent) -> None:
        one = do()
        ledger.full = True
        for _ in range(3):
            answer = await agent.submit(one)
            assert isinstance(answer, sap.Nack)
            assert answer.reason == "INTERNAL: the task could not be recorded: OSError"
            refused = await agent.submit(do(), principal=None)
            assert isinstance(refused, sap.Nack)
            assert (refused.reason or "").startswith("UNAUTHORIZED")
        ledger.full = False
        assert (await agent.call(one)).status == "SUCCEEDED"

    run(offering(lambda one, context: 1, transcript=ledger, queue=1), what)


def test_a_bus_gives_the_same_task_to_the_same_agent_and_the_next_to_whoever_has_least_to_do() -> None:
    calls: list[str] = []
    release = asyncio.Event()

    async def main() -> None:
        bus = sap.Bus()
        for name in ("B", "C"):
            agent = sap.Agent(name, transcript=Ledger(":memory:"))

            @agent.capability("work.do")
            async def handler(one: sap.Task, _context: sap.Context, name: str = name) -> Any:
                calls.append(name)
                await release.wait()
                return name

            bus.register(agent)
        async with bus:
            same = task("work.do", {}, target={"capability": "work.do"})
            waiting = [asyncio.ensure_future(bus.call(same)) for _ in range(5)]
            others = [bus.call(task("work.do", {}, target={"capability": "work.do"})) for _ in range(3)]
            waiting += [asyncio.ensure_future(other) for other in others]
            while len(calls) < 4:
                await asyncio.sleep(0.001)
            release.set()
            made = [result.output for result in await asyncio.gather(*waiting)]
            assert (await bus.call(same)).output == made[0]
        assert made[:5] == ["B"] * 5
        assert sorted(made[4:]) == ["B", "B", "C", "C"]
        assert len(calls) == 4

    asyncio.run(asyncio.wait_for(main(), 30))


@pytest.mark.once
def test_a_task_that_is_admitted_while_its_agent_closes_is_not_begun(tmp_path: Path) -> None:
    """It gets its Result, nobody is hired for it, and its place is free when the agent is entered again."""
    agent = sap.Agent("B", transcript=Ledger(tmp_path / "t"), queue=1)
    begun: list[str] = []

    @agent.capability("work.note")
    async def note(one: sap.Task, _context: sap.Context) -> str:
        begun.append(one.task_id)
        return "done"

    async def main() -> None:
        open_again, admitted = asyncio.Event(), asyncio.Event()
        await agent.__aenter__()
        rows = agent._execution.transcript
        assert rows is not None
        admit = rows.admit

        async def slow(key: str, text: str) -> Any:
            found = await admit(key, text)
            admitted.set()
            await open_again.wait()
            return found

        rows.admit = slow  # type: ignore[method-assign]
        calling = asyncio.ensure_future(agent.call(task("work.note", {})))
        await admitted.wait()
        closing = asyncio.ensure_future(agent.__aexit__())
        while agent.running:
            await asyncio.sleep(0)
        open_again.set()
        await asyncio.wait_for(closing, 10)
        assert (await calling).status == "CANCELLED"
        assert not begun
        assert asyncio.all_tasks() == {asyncio.current_task()}
        async with agent:
            assert (await agent.call(task("work.note", {}))).status == "SUCCEEDED"

    asyncio.run(main())


def test_a_receiver_that_ignores_its_cancellation_does_not_keep_an_agent_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwire.sap.agent.CLOSING_SECONDS", 0.05)

    async def main() -> None:
        over = asyncio.Event()

        async def deaf(_result: sap.Result) -> None:
            while not over.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await over.wait()

        agent = offering(lambda one, _context: 1)
        async with agent:
            await agent.submit(one := do(), deaf)
            assert (await agent.result(one.task_id)).status == "SUCCEEDED"
        assert not agent.running
        over.set()

    asyncio.run(asyncio.wait_for(main(), 30))
