"""The model of an agent behind each transport: whatever fails on the way, the invariants hold.

One terminal Result for each task of each principal, never a wrong answer, no status that goes backwards, no row of
a task before its principal may have it executed, and nothing hangs. Two agents share a transcript and a cache; they
come and go, callers leave, bodies stall, the broker is killed.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import invariant, precondition, rule, run_state_machine_as_test

from tests.sap.hosts import LIMIT, OVER, SECONDS, TOKENS, Broker, Host
from tests.sap.machine import FAULTS, TASKS, WHO, AgentModel, go_forward
from tests.sap.scenario import task
from turnwire import sap
from turnwire.errors import Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap.spec import TERMINAL
from turnwire.sap.transcripts import RESULT_KIND, TASK_KIND, key_of

pytestmark = pytest.mark.once


class TransportMachine(AgentModel):
    """One transcript and one cache; agents come and go, up to two at a time, behind one transport."""

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
        self.reset()
        self.closings = 0
        self.url = ""
        TransportMachine.number += 1
        self.prefix = f"m{os.getpid()}-{TransportMachine.number}"
        self.enter()

    def enter(self) -> None:
        agent = self.agent(handlers=12, max_result=LIMIT - 1000)

        async def opened() -> Host:
            host = Host(agent, self)
            await asyncio.wait({host.ready, host.task}, return_when="FIRST_COMPLETED")
            if host.task.done():
                host.task.result()
            return host

        self.hosts.append(self.do(opened()))

    def host(self, number: int) -> Host:
        return self.hosts[number % len(self.hosts)]

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
            async def body() -> AsyncIterator[bytes]:
                yield sap.encode(fresh).encode()[:-1]
                if gone:
                    raise ConnectionAbortedError
                await asyncio.sleep(0.3)  # httpx sends the whole body before it reads the answer

            headers = {"Content-Type": "application/json", "Authorization": f"Bearer {TOKENS[one.issuer.agent_id]}"}
            async with httpx.AsyncClient(verify=False) as raw:
                try:
                    answered = await raw.post(f"{self.url}/tasks", content=body(), headers=headers)
                    assert answered.status_code == 408
                except (ConnectionAbortedError, httpx.TransportError):
                    assert gone

        rows = len(self.ledger)
        self.do(stalled())
        assert len(self.ledger) == rows

    @precondition(lambda self: self.transport == "nats")
    @rule(one=TASKS)
    def broker_killed(self, one: sap.Task) -> None:
        async def killed() -> None:
            assert self.broker is not None
            calling = asyncio.ensure_future(self.judged(one, one.issuer.agent_id, self.hosts[0], closing=True))
            await asyncio.sleep(0.01)
            self.broker.kill()
            await asyncio.sleep(0.05)
            self.broker.start()
            calling.cancel()
            await asyncio.wait({calling})
            for _ in range(3):  # while the connections come back
                with contextlib.suppress(Unreachable, Unanswered):
                    await self.judged(one, one.issuer.agent_id, self.hosts[0])
                    return
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
QUICK = {"bus": 8, "http": 2, "mcp": 6, "nats": 2}  # examples; servers cost most of the time
SOAK = os.environ.get("HYPOTHESIS_PROFILE") == "soak"


@pytest.fixture(autouse=True)
def quiet_logs() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


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
