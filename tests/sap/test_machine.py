"""The model of an agent behind each transport: whatever fails on the way, the invariants hold.

One terminal Result for each task of each principal, never a wrong answer, no status that goes backwards, no row of
a task before its principal may have it executed, and nothing hangs. Two agents share a transcript and a cache; they
come and go, callers leave, bodies stall, the broker is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Awaitable, Iterable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from tests.conftest import SOAK
from tests.sap.hosts import LIMIT, OVER, SECONDS, TOKENS, Broker, Host
from tests.sap.scenario import CHECKS, task
from turnwire import sap
from turnwire.errors import Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.handlers import key_of
from turnwire.sap.spec import TERMINAL, Status
from turnwire.sap.transcripts import RESULT_KIND, TASK_KIND

pytestmark = pytest.mark.once
FAULTS = (
    *("none", "none", "raise", "exit", "cancel itself", "hang", "hang in thread", "swallow", "queued", "edit"),
    *("unwritable", "huge"),
)
_PLAIN_IGNORES = ("cancel itself", "hang", "hang in thread", "swallow")
"""Faults after which a plain handler may succeed all the same."""


_ENDLESS = ("hang", "hang in thread", "swallow", "queued")
"""Faults after which only its budget ends a task."""


WHO = ("A-prime", "M-allory")
TASKS = Bundle("tasks")


class Odd(BaseException):
    pass


def go_forward(statuses: list[str]) -> bool:
    """True if no status that is not terminal goes back."""
    order = [status for status in statuses if status not in TERMINAL]
    return order == sorted(order, key=["QUEUED", "RUNNING"].index)


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    """The right output of a payload."""
    return {"n": payload["n"], "of": payload["who"]}


class TransportMachine(RuleBasedStateMachine):
    """One transcript and one cache; agents come and go, up to two at a time, behind one transport.

    limit: bytes of a Result; seconds: what a step may take at most; budget: seconds of a task that would not end.
    """

    transport = "bus"
    broker: Broker | None = None
    number = 0
    limit, seconds, budget = LIMIT, SECONDS, 0.1

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.ledger = Ledger(Path(self.folder.name) / "t", synchronous="NORMAL")
        self.cache = sap.Cache(Path(self.folder.name) / "c")
        self.hosts: list[Host] = []
        self.closings = 0
        self.url = ""
        TransportMachine.number += 1
        self.prefix = f"m{os.getpid()}-{TransportMachine.number}"
        self.gate = threading.Event()
        self.results: dict[str, str] = {}
        self.executions: dict[str, int] = {}
        self.injected: set[tuple[str, str]] = set()  # what handlers were told to do
        self.begun: set[str] = set()  # ids of tasks that handlers have got
        self.enter()

    def do(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, self.seconds))

    def enter(self) -> None:
        """One more agent with both handlers."""
        access = sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))])
        shared = {"transcript": self.ledger, "cache": self.cache, "access": access}
        agent = sap.Agent("B", workers=2, handlers=12, max_result=LIMIT - 1000, **shared)
        for name, handler in (("work.plain", self.plain), ("work.coroutine", self.coroutine)):
            agent.capability(name)(handler)

        async def opened() -> Host:
            host = Host(agent, self)
            await asyncio.wait({host.ready, host.task}, return_when="FIRST_COMPLETED")
            if host.task.done():
                host.task.result()
            return host

        self.hosts.append(self.do(opened()))

    def host(self, number: int) -> Host:
        return self.hosts[number % len(self.hosts)]

    # ------------------------------------------------------------ handlers

    def seen(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        key = f"{one.task_id} {context.principal}"
        self.executions[key] = self.executions.get(key, 0) + 1
        made = sap.Outcome(_answer(one.payload), alignment="VALID", policy_checks=CHECKS)
        fault = one.payload["fault"]
        if fault == "raise":
            raise ZeroDivisionError
        if fault == "exit":
            raise (SystemExit if one.payload["n"] % 2 else Odd)
        if fault == "queued":
            return sap.Outcome(status=Status.QUEUED)
        if fault == "unwritable":
            return sap.Outcome({1})
        if fault == "huge":
            return sap.Outcome("x" * self.limit)
        if fault == "edit":
            one.payload["n"] = one.payload["who"] = "edited"
            one.task_id = one.correlation_id = "00000000-0000-0000-0000-000000000000"
            one.issuer.agent_id = "nobody"
        return made

    def plain(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        self.injected.add(("work.plain", one.payload["fault"]))
        self.begun.add(one.task_id)
        if one.payload["fault"] == "hang in thread":
            self.gate.wait(0.3)
        return self.seen(one, context)

    async def coroutine(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        fault = one.payload["fault"]
        self.injected.add(("work.coroutine", fault))
        self.begun.add(one.task_id)
        if fault.startswith("hang"):
            await asyncio.sleep(60)
        if fault == "swallow":
            for _ in range(30):  # cancelled or not, it stays
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.01)
        if fault == "cancel itself":
            inner = asyncio.ensure_future(asyncio.sleep(60))
            inner.cancel()
            await inner
        await asyncio.sleep(0)
        return self.seen(one, context)

    # ------------------------------------------------------------ tasks

    @rule(
        target=TASKS,
        fault=st.sampled_from(FAULTS),
        capability=st.sampled_from(["work.plain", "work.coroutine"]),
        who=st.sampled_from(WHO),
        n=st.integers(0, 3),
        mode=st.sampled_from(["bypass", "prefer", "only"]),
        trace=st.booleans(),
    )
    def make(self, fault: str, capability: str, who: str, n: int, mode: str, trace: bool) -> sap.Task:
        seconds = self.budget if fault in _ENDLESS else self.seconds / 2  # enough for a busy machine
        return task(
            capability,
            {"fault": fault, "who": who, "n": n},
            issuer={"agentId": who, "agentKind": "agent"},
            telemetry={"trace": trace, "budget": {"seconds": seconds}},
            constitutionalContext__cachePolicy={"mode": mode},
        )

    @rule(target=TASKS, one=TASKS, upper=st.booleans())
    def again(self, one: sap.Task, upper: bool) -> sap.Task:
        """The same task with its ids in other letters; or another one under its id."""
        other = one.replace(task_id=one.task_id.upper() if upper else one.task_id)
        if not upper:
            other.payload = {**other.payload, "n": other.payload["n"] + 10}
        return other

    # ------------------------------------------------------------ what must hold

    def is_right(self, result: sap.Result, one: sap.Task, before: dict[str, Any], who: str | None) -> None:
        """The terminal Result that ``who`` got for a task, which was ``before`` when it was called."""
        assert one.to_dict() == before
        assert result.task_id.lower() == one.task_id.lower()
        assert result.correlation_id == one.correlation_id
        assert result.status in TERMINAL
        if who != one.issuer.agent_id:
            assert result.error is not None and result.error.code == "UNAUTHORIZED"
            assert "output" not in result
            return
        key = key_of(sap.Principal(who), one.task_id)
        text = sap.encode(result)
        assert self.results.setdefault(key, text) == text, "one Result"
        if result.status == "SUCCEEDED":
            assert result.output == _answer(one.payload)
            plain = one.target.capability == "work.plain"
            assert one.payload["fault"] in ("none", "edit", *(_PLAIN_IGNORES if plain else ()))
        assert (result.constitutional_evidence.alignment == "VALID") is (result.status == "SUCCEEDED")

    def statuses(self) -> Iterable[list[str]]:
        """The statuses of each task in the transcript, which has no row of a task that is not its issuer's."""
        found: dict[str, list[str]] = {}
        for entry in self.ledger:
            if entry.kind == TASK_KIND:
                assert entry.key.split()[1] == sap.decode(entry.body).fields["issuer"]["agentId"]
            if entry.kind == RESULT_KIND:
                found.setdefault(entry.key, []).append(str(sap.decode(entry.body).fields["status"]))
        return found.values()

    # ------------------------------------------------------------ steps

    @rule(one=TASKS, who=st.sampled_from([*WHO, None]), number=st.integers(0, 1), stream=st.booleans())
    def call(self, one: sap.Task, who: str | None, number: int, stream: bool) -> None:
        self.do(self.judged(one, who, self.host(number), stream=stream))

    @rule(some=st.lists(st.tuples(TASKS, st.sampled_from(WHO), st.integers(0, 1)), min_size=2, max_size=5))
    def call_together(self, some: list[tuple[sap.Task, str, int]]) -> None:
        async def all_of_them() -> None:
            await asyncio.gather(*(self.judged(one, who, self.host(number)) for one, who, number in some))

        self.do(all_of_them())

    @rule(one=TASKS, number=st.integers(0, 1))
    def send(self, one: sap.Task, number: int) -> None:
        async def sent() -> None:
            receipt = await self.host(number).clients[one.issuer.agent_id].send(one)
            assert receipt.correlation_id == one.correlation_id
            if isinstance(receipt, sap.Nack):
                assert (receipt.reason or "").startswith("INVALID_TASK: another task")
                return
            await self.judged(one, one.issuer.agent_id, self.host(number))

        self.do(sent())

    @rule(one=TASKS, number=st.integers(0, 1), pause=st.sampled_from([0.0, 0.001, 0.02]))
    def leave(self, one: sap.Task, number: int, pause: float) -> None:
        """The caller goes away while it waits; the task has one Result all the same, or never was accepted."""

        async def left() -> None:
            calling = asyncio.ensure_future(self.judged(one, one.issuer.agent_id, self.host(number)))
            await asyncio.sleep(pause)
            calling.cancel()
            await asyncio.wait({calling})
            if not calling.cancelled():
                calling.result()
            await self.judged(one, one.issuer.agent_id, self.host(number))

        self.do(left())

    @rule(one=TASKS, number=st.integers(0, 1))
    def cancel(self, one: sap.Task, number: int) -> None:
        async def begun() -> None:
            host, who = self.host(number), one.issuer.agent_id
            calling = asyncio.ensure_future(self.judged(one, who, host))
            await asyncio.sleep(0.005)
            with contextlib.suppress(KeyError):  # it is with the other agent, or not there yet
                await host.agent.cancel(one.task_id, principal=who)
            await calling

        self.do(begun())

    async def cancelled(self, one: sap.Task) -> None:
        """A task that is surely at work is cancelled by its principal, and by nobody else."""
        host, who = self.hosts[0], one.issuer.agent_id
        calling = asyncio.ensure_future(self.judged(one, who, host))
        while one.task_id not in self.begun:
            await asyncio.sleep(0.005)
        for stranger in (*set(WHO) - {who}, None):
            with pytest.raises(KeyError):
                await host.agent.cancel(one.task_id, principal=stranger)
        for each in self.hosts:  # a queue chooses the worker
            with contextlib.suppress(KeyError):
                assert (await each.agent.cancel(one.task_id, principal=who)).status == "CANCELLED"
        await calling

    @rule()
    def restart(self) -> None:
        self.close(self.hosts.pop(0))

    @rule()
    def second_agent(self) -> None:
        if len(self.hosts) < 2:
            self.enter()

    @rule(one=TASKS)
    def close_in_the_middle(self, one: sap.Task) -> None:
        host = self.hosts.pop(0)

        async def closed() -> None:
            calling = asyncio.ensure_future(self.judged(one, one.issuer.agent_id, host, closing=True))
            await asyncio.sleep(0.01)
            await host.stop_serving()
            if self.transport != "nats" or self.hosts:
                await calling
            else:  # its queue keeps the task for whoever comes
                calling.cancel()
                await asyncio.wait({calling})

        self.closings += 1
        self.do(closed())
        self.close(host)
        self.do(self.judged(one, one.issuer.agent_id, self.hosts[0]))

    def close(self, host: Host) -> None:
        self.closings += 1
        self.do(host.end())
        if not self.hosts:
            self.enter()

    @precondition(lambda self: self.transport == "http")
    @rule(one=TASKS, gone=st.booleans())
    def slow_body(self, one: sap.Task, gone: bool) -> None:
        """A body that stalls is told so, one whose sender goes away is dropped; neither leaves a row."""
        fresh = one.replace(task_id=task("work.plain", {}).task_id)

        async def stalled() -> None:
            url, body = httpx.URL(self.url), sap.encode(fresh).encode()
            lines = ("POST /hurried/tasks HTTP/1.1", "Host: b", "Content-Type: application/json")
            token = f"Authorization: Bearer {TOKENS[one.issuer.agent_id]}"
            head = "\r\n".join((*lines, token, f"Content-Length: {len(body)}", "", ""))
            reader, writer = await asyncio.open_connection(url.host, url.port)
            writer.write(head.encode() + body[:-1])
            await writer.drain()
            if not gone:
                assert b" 408 " in await reader.readline()
            writer.close()

        rows = len(self.ledger)
        self.do(stalled())
        assert len(self.ledger) == rows

    @precondition(lambda self: self.transport == "nats")
    @rule(one=TASKS)
    def broker_killed(self, one: sap.Task) -> None:
        async def killed() -> None:
            calling = asyncio.ensure_future(self.judged(one, one.issuer.agent_id, self.hosts[0], closing=True))
            await asyncio.sleep(0.01)
            self.broker.kill()
            await asyncio.sleep(0.05)
            self.broker.start()
            calling.cancel()
            await asyncio.wait({calling})
            for _ in range(100):  # while the connections come back
                with contextlib.suppress(Unreachable, Unanswered):
                    await self.judged(one, one.issuer.agent_id, self.hosts[0])
                    return
                await asyncio.sleep(0.1)
            raise AssertionError("the queue did not come back")

        self.do(killed())

    # ------------------------------------------------------------ what must hold

    async def judged(
        self, one: sap.Task, who: str | None, host: Host, *, stream: bool = False, closing: bool = False
    ) -> None:
        before = one.to_dict()
        client, seen = host.clients[who], []
        try:
            if stream:
                seen = [result async for result in client.statuses(one)]
                result = seen[-1]
            else:
                result = await client.call(one)
        except sap.Refused as refused:
            return self.refused_rightly(refused.nack, one, who)
        except (Unreachable, Unanswered, RuntimeError):
            if closing:
                return
            raise
        assert go_forward([str(each.status) for each in seen])
        self.is_right(result, one, before, who)

    def refused_rightly(self, nack: sap.Nack, one: sap.Task, who: str | None) -> None:
        reason = nack.reason or ""
        assert reason.startswith("UNAUTHORIZED" if who != one.issuer.agent_id else _REFUSALS), reason
        assert nack.correlation_id == one.correlation_id

    @invariant()
    def transcript_is_right(self) -> None:
        # at least once: what was started and not finished when its agent closed is executed again by a queue
        assert all(times <= 1 + self.closings for times in self.executions.values())
        assert self.transport == "nats" or set(self.executions.values()) <= {1}
        for seen in self.statuses():
            assert sum(status in TERMINAL for status in seen) <= 1, seen
            assert go_forward(seen) or self.closings, seen

    def teardown(self) -> None:
        self.gate.set()
        for host in self.hosts:
            self.do(host.end())
        assert self.ledger.verify()
        finals = {entry.key for entry in self.ledger if entry.kind == RESULT_KIND and _final(entry.body)}
        accepted = {entry.key for entry in self.ledger if entry.kind == TASK_KIND}
        assert self.transport == "nats" or accepted == finals, "every accepted task has its Result"
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()


def _final(body: bytes) -> bool:
    return sap.decode(body).fields["status"] in TERMINAL


_REFUSALS = ("INVALID_TASK: another task", "RATE_LIMIT", "INTERNAL: B is not")
QUICK = {"bus": 5, "http": 2, "mcp": 3, "nats": 1}  # examples; servers cost most of the time


@pytest.fixture(params=OVER)
def machine(request: pytest.FixtureRequest) -> type[TransportMachine]:
    """The machine of a transport."""
    transport: str = request.param
    members: dict[str, Any] = {"transport": transport}
    if transport == "nats":
        members["broker"] = request.getfixturevalue("broker")
    return type(f"{transport.title()}Machine", (TransportMachine,), members)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """Of two servers of uvicorn in one process each puts back what it found when it began, which may be the other's:
    tests behind these send themselves signals."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_each_fault_is_injected(machine: type[TransportMachine]) -> None:
    """All of them in a fixed order, so that none is left to chance on any transport."""
    run = machine()
    run.second_agent()
    both, faults = ("work.plain", "work.coroutine"), dict.fromkeys(FAULTS)

    def made(fault: str = "none", capability: str = both[1], **more: Any) -> sap.Task:
        given = {"who": WHO[0], "n": 1, "mode": "bypass", "trace": True, **more}
        one: sap.Task = run.make(fault=fault, capability=capability, **given)
        return one

    for capability in both:
        for number, fault in enumerate(faults):
            one = made(fault, capability, n=number % 2)
            run.call(one=one, who=WHO[0], number=number, stream=bool(number % 2))
            if fault == "huge":
                assert "bytes" in run.results[key_of(sap.Principal(WHO[0]), one.task_id)]
    assert run.injected == {(capability, fault) for capability in both for fault in faults}
    one = made()
    run.call_together(some=[(one, who, number) for who in WHO for number in (0, 1)])  # two workers, a foreign identity
    for who in (*WHO, None):  # a replay, a foreign one, one of somebody unknown
        run.call(one=one, who=who, number=1, stream=False)
    for upper in (True, False):  # its ids in other letters; another task under its id
        run.call(one=run.again(one=one, upper=upper), who=WHO[0], number=0, stream=False)
    run.do(run.cancelled(made("hang").replace(telemetry={})))
    run.send(one=made(), number=0)
    run.leave(one=made("hang in thread", both[0]), number=0, pause=0.02)
    if run.transport == "http":
        for gone in (False, True):
            run.slow_body(one=one, gone=gone)
    if run.transport == "nats":
        run.broker_killed(one=made("hang"))
    run.close_in_the_middle(one=made("hang"))
    run.restart()
    run.call(one=one, who=WHO[0], number=0, stream=False)
    run.transcript_is_right()
    run.teardown()


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")
def test_whatever_happens_on_the_way(machine: type[TransportMachine]) -> None:
    effort = settings(
        max_examples=int(os.environ.get("SOAK_EXAMPLES") or 1000) if SOAK else QUICK[machine.transport],
        stateful_step_count=30 if SOAK else 8,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine, settings=effort)
