"""The agent trusts neither its handler nor its caller: what either does, each task has one right Result."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.sap.scenario import CHECKS, task
from turnwire import sap
from turnwire.errors import Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.access import Principal
from turnwire.sap.agent import REPLY_SECONDS, seconds_left
from turnwire.sap.handlers import Job
from turnwire.sap.spec import TERMINAL, write_time
from turnwire.sap.transcripts import RESULT_KIND

pytestmark = pytest.mark.once
PREFER = {"constitutionalContext__cachePolicy": {"mode": "prefer"}}


def offering(handler: Callable[..., Any], name: str = "work.do", **settings: Any) -> sap.Agent:
    """An agent with one capability."""
    offered = {key: settings.pop(key) for key in ("schema", "vet", "redeliver") if key in settings}
    agent = sap.Agent("B", **settings)
    agent.capability(name, **offered)(handler)
    return agent


class Gate:
    """A handler that tells when it begins, and waits until it may end."""

    def __init__(self) -> None:
        self.begun, self.open = asyncio.Event(), asyncio.Event()

    async def __call__(self, *_: Any) -> None:
        self.begun.set()
        await self.open.wait()


def reason(receipt: Any) -> str:
    """The reason of a Nack."""
    assert isinstance(receipt, sap.Nack)
    return receipt.reason or ""


def do(payload: dict[str, Any] | None = None, **changes: Any) -> sap.Task:
    return task("work.do", payload or {}, **changes)


async def test_what_a_handler_does_to_its_task_changes_nothing(tmp_path: Path) -> None:
    def take(one: sap.Task, _context: sap.Context) -> Any:
        key = one.payload.pop("key")
        one.task_id = one.correlation_id = "00000000-0000-0000-0000-000000000000"
        one.target.capability = "other"
        return sap.Outcome({"key": key}, alignment="VALID", policy_checks=CHECKS)

    async with offering(take, cache=sap.Cache(tmp_path / "cache"), transcript=Ledger(tmp_path / "t")) as agent:
        for payload in ({"key": 1, "same": 0}, {"key": 2, "same": 0}, {"same": 0, "key": 1}):
            one = do(payload, **PREFER)
            result = await agent.call(one)
            assert (result.task_id, result.correlation_id) == (one.task_id, one.correlation_id)
            assert result.output == {"key": payload["key"]}
        assert result.constitutional_evidence.cache is not None and result.constitutional_evidence.cache.hit
        failing = await agent.call(do({"same": 0}, **PREFER))
        assert failing.error is not None and failing.error.code == "INTERNAL", "no key, and no other one's answer"


async def test_what_a_caller_does_to_task_and_result_changes_nothing() -> None:
    seen: list[Any] = []
    gate = asyncio.Event()

    async def wait(one: sap.Task, _context: sap.Context) -> Any:
        await gate.wait()
        seen.append(one.payload)
        return {"list": [1]}

    async with offering(wait) as agent:
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


class Odd(BaseException):
    pass


def raising(error: BaseException, in_coroutine: bool = False) -> tuple[Callable[..., Any], str]:
    """A handler that raises, and the word for that."""

    def plain(*_: Any) -> Any:
        raise error

    async def coroutine(*_: Any) -> Any:
        raise error

    return coroutine if in_coroutine else plain, type(error).__name__


async def inner_cancelled(*_: Any) -> Any:
    inner = asyncio.ensure_future(asyncio.sleep(10))
    asyncio.get_running_loop().call_soon(inner.cancel)
    return await inner


def returning(made: Any, said: str) -> tuple[Callable[..., Any], str]:
    return lambda *_: made, said


@pytest.mark.parametrize(
    ("handler", "said"),
    [
        *map(raising, (SystemExit(1), KeyboardInterrupt(), Odd(), GeneratorExit(), StopIteration(), TimeoutError())),
        *(raising(error, True) for error in (SystemExit(1), KeyboardInterrupt(), Odd(), asyncio.CancelledError())),
        raising(asyncio.CancelledError()),
        (raising(sap.Refusal("MINE", "no", what={1, 2}))[0], "could not be recorded"),
        (inner_cancelled, "CancelledError"),
        *(
            returning(sap.Outcome(1, status=status), "not a terminal status")
            for status in ("QUEUED", "RUNNING", "none")
        ),
        returning(sap.Outcome(alignment="no such"), "ValueError"),
        returning({1, 2}, "wrong_type"),
        returning(float("nan"), "not_finite"),
        (lambda: None, "TypeError"),
    ],
)
async def test_a_worker_outlives_it(handler: Callable[..., Any], said: str) -> None:
    async with offering(handler, workers=2) as agent:
        for _ in range(3):  # more than there are workers
            result = await agent.call(do())
            assert result.error is not None and said in (result.error.message or "")
            assert (result.status, result.error.code) == ("FAILED", "INTERNAL")
            assert result.constitutional_evidence.alignment == "ESCALATE"


async def test_a_coroutine_over_budget_is_cancelled_and_one_that_does_not_heed_it_left_behind() -> None:
    """The budget is the task's, or else the agent's."""
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

    for seconds, limit in ((3600.0, {"telemetry": {"budget": {"seconds": 0.02}}}), (0.02, {})):
        async with offering(sleep, seconds=seconds) as agent:
            for payload in ({}, {"stubborn": True}):
                result = await agent.call(do(payload, **limit))
                assert result.error is not None and result.error.code == "TIMEOUT"
            gate.set()
        gate.clear()
    assert ended == ["cancelled"] * 4


async def test_a_receiver_that_hangs_or_breaks_stops_nobody() -> None:
    async def hangs(_result: sap.Result) -> None:
        await asyncio.sleep(REPLY_SECONDS * 2)

    async def breaks(_result: sap.Result) -> None:
        raise OSError

    async def edits(result: sap.Result) -> None:
        result.output = "edited"

    async with offering(lambda task, context: "done", workers=1) as agent:
        for reply in (hangs, breaks, edits):
            one = do()
            await agent.submit(one, reply)
            for _ in range(2):
                assert (await agent.call(one)).output == "done"
        [sending.cancel() for sending in agent._sending]  # the one that hangs


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
async def test_an_output_that_raises_when_it_is_looked_at_fails_its_task_alone(
    error: BaseException, where: str
) -> None:
    def vet(one: sap.Task, _result: sap.Result) -> Any:
        return sap.Vetting("VALID", CHECKS, [Trap(error)]) if where == "violation" else None

    def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("good"):
            return 1
        return {"output": lambda: Trap(error), "meta": lambda: sap.Outcome(1, meta=Trap(error))}.get(where, int)()

    async with offering(handler, vet=vet, workers=1) as agent:
        for _ in range(2):
            result = await agent.call(do())
            alignment = result.constitutional_evidence.alignment
            assert (result.status, alignment) == ("ESCALATED" if where == "violation" else "FAILED", "ESCALATE")
        assert where == "violation" or (await agent.call(do({"good": True}))).status == "SUCCEEDED"


OWN = ("Agent.", "Batching.")
"""Whose work a handler cancels; that of the test, and of the loop around both, is nobody's to mend."""


async def test_an_agent_outlives_a_handler_that_cancels_everything(tmp_path: Path) -> None:
    async def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("cancel"):
            for other in asyncio.all_tasks() - {asyncio.current_task()}:
                if getattr(other.get_coro(), "__qualname__", "").startswith(OWN):
                    other.cancel()
        return 1

    ledger = Ledger(tmp_path / "t")
    async with offering(handler, workers=2, transcript=ledger) as agent:
        for trace in (False, True, False):
            result = await agent.call(do({"cancel": True}, telemetry={"trace": trace}))
            assert result.status in TERMINAL
        assert (await agent.call(do())).status == "SUCCEEDED"
        assert agent.running
    terminal = [row.key for row in ledger if row.kind == RESULT_KIND and sap.decode(row.body)["status"] in TERMINAL]
    assert len(terminal) == len(set(terminal)) == 4


async def test_what_waits_is_cancelled_or_overdue_at_once_whatever_is_before_it() -> None:
    release = asyncio.Event()

    async def handler(one: sap.Task, _context: sap.Context) -> Any:
        if one.payload.get("hold"):
            await release.wait()
        return 1

    async with offering(handler, workers=1, queue=2) as agent:
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
            assert (await agent.call(one)).status == "SUCCEEDED"
        assert (await held).status == "SUCCEEDED"


async def test_a_full_disk_is_said_and_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(Ledger):
        full = False

        def append_many(self, *values: Any, **options: Any) -> Any:
            if self.full:
                raise OSError(28, "no space left")
            return super().append_many(*values, **options)

    ledger = Full(tmp_path / "t")

    async with offering(lambda one, context: 1, transcript=ledger, queue=1) as agent:
        one = do()
        ledger.full = True
        for _ in range(3):
            assert reason(await agent.submit(one)) == "INTERNAL: the task could not be recorded: OSError"
            assert reason(await agent.submit(do(), principal=None)).startswith("UNAUTHORIZED")
        assert not agent._used
        ledger.full = False
        assert (await agent.call(one)).status == "SUCCEEDED"


async def test_a_bus_gives_the_same_task_to_the_same_agent_and_the_next_to_whoever_has_least_to_do() -> None:
    calls: list[str] = []
    release = asyncio.Event()

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


async def test_a_task_that_is_admitted_while_its_agent_closes_is_not_begun(tmp_path: Path) -> None:
    """It gets its Result, nobody is hired for it, and its place is free when the agent is entered again."""
    agent = sap.Agent("B", transcript=Ledger(tmp_path / "t"), queue=1)
    begun: list[str] = []

    @agent.capability("work.note")
    async def note(one: sap.Task, _context: sap.Context) -> str:
        begun.append(one.task_id)
        return "done"

    open_again, admitted = asyncio.Event(), asyncio.Event()
    await agent.__aenter__()
    rows = agent._transcript
    known = rows.known

    async def slow(key: str, text: str | None = None) -> Any:
        found = await known(key, text)
        admitted.set()
        await open_again.wait()
        return found

    rows.known = slow  # type: ignore[method-assign]
    calling = asyncio.ensure_future(agent.call(task("work.note", {})))
    await admitted.wait()
    closing = asyncio.ensure_future(agent.__aexit__())
    while agent.running:
        await asyncio.sleep(0)
    open_again.set()
    await asyncio.wait_for(closing, 120)
    assert (await calling).status == "CANCELLED"
    assert not begun
    assert asyncio.all_tasks() == {asyncio.current_task()}
    async with agent:
        assert (await agent.call(task("work.note", {}))).status == "SUCCEEDED"


async def test_a_receiver_that_ignores_its_cancellation_does_not_keep_an_agent_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("turnwire.sap.agent.CLOSING_SECONDS", 0.05)

    over = asyncio.Event()

    async def deaf(_result: sap.Result) -> None:
        while not over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await over.wait()

    agent = offering(lambda one, _context: 1)
    async with agent:
        await agent.submit(one := do(), deaf)
        assert (await agent.call(one)).status == "SUCCEEDED"
    assert not agent.running
    over.set()


async def test_what_an_output_breaks_stands_beside_what_meta_says() -> None:
    contract = {"outputContract": {"schema": {"required": ["b"]}}}

    async with offering(lambda one, context: sap.Outcome({"a": 1}, meta={"mine": 1})) as agent:
        for one, issues in ((do(**contract), True), (do(), False)):
            meta = (await agent.call(one)).meta or {}
            assert meta.pop("outputIssues", []) != [] if issues else "outputIssues" not in meta
            assert meta == {"mine": 1}


WHERE: contextvars.ContextVar[str] = contextvars.ContextVar("where", default="nowhere")


async def test_a_handler_has_the_context_of_whoever_runs_the_agent() -> None:
    def plain(_task: sap.Task, _context: sap.Context) -> str:
        found = WHERE.get()
        WHERE.set("changed")
        return found

    async def coroutine(_task: sap.Task, _context: sap.Context) -> str:
        return plain(_task, _context)

    WHERE.set("here")
    for handler in (plain, coroutine):
        async with offering(handler, workers=1) as agent:
            assert [(await agent.call(do())).output for _ in range(3)] == ["here"] * 3


async def test_places_of_the_line_come_back_when_an_agent_is_entered_again() -> None:
    """Those of tasks that waited when it was closed, too."""
    agent = offering(Gate(), workers=1, queue=2)
    for _ in range(3):
        async with agent:
            tasks = [do() for _ in range(3)]
            receipts = [await agent.submit(tasks[0])]
            while agent.waiting:
                await asyncio.sleep(0)
            receipts += [await agent.submit(one) for one in (*tasks[1:], do())]
            assert [str(receipt.status) for receipt in receipts] == ["ACK", "ACK", "ACK", "NACK"]


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
async def test_a_task_is_kept_where_any_of_its_senders_keeps_it(first: bool, second: bool) -> None:
    """Then it has no Result when its agent is closed: it will be sent again."""
    agent, one = offering(Gate()), do()
    async with agent:
        jobs = [await agent.receive(one, kept=kept) for kept in (first, second)]
    assert isinstance(jobs[0], Job) and jobs[0] is jobs[1]
    if first or second:
        with pytest.raises(Unreachable):
            await jobs[0].wait()
    else:
        assert str((await jobs[0].wait()).status) == "CANCELLED"


@pytest.mark.parametrize("remembered", [0, 1, 2, 5])
async def test_the_newest_tasks_are_remembered(remembered: int) -> None:
    calls: list[str] = []

    async with offering(lambda one, context: calls.append(one.payload["name"]), remembered=remembered) as agent:
        tasks = [do({"name": str(number)}) for number in range(4)]
        for one in tasks:
            await agent.call(one)
        held = [agent.holds(one.task_id.upper(), sap.ANONYMOUS) for one in tasks]
        assert held == [number >= 4 - remembered for number in range(4)]
        for one in reversed(tasks[4 - min(remembered, 4) :]):
            await agent.call(one)
        assert len(calls) == 4
        assert not agent.holds(tasks[3].task_id, Principal("other"))


def test_the_sooner_of_two_limits_counts() -> None:
    late, soon, deadline = (
        {"budget": {"seconds": 100}},
        {"budget": {"seconds": 5}},
        {"deadline": "2026-01-01T00:00:10Z"},
    )
    for telemetry, left in (
        *(({}, None), (late, 100), (soon, 5), (deadline, 10), (late | deadline, 10), (soon | deadline, 5)),
        *(({"budget": {"seconds": seconds}}, 1e9) for seconds in (1e308, 10**400, 10**12)),  # beyond all clocks
    ):
        assert seconds_left(do(telemetry=telemetry), datetime(2026, 1, 1, tzinfo=UTC)) == left
