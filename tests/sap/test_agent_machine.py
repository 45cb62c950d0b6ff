"""A model of an agent, and steps in any order: whatever its handlers, callers and stores do, the invariants hold.

One terminal Result for each task of each principal, never a wrong answer, no status that goes backwards, no row of
a task before its principal may have it executed, and nothing hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule

from tests.sap.machine import TASKS, WHO, AgentModel, go_forward
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.spec import TERMINAL

pytestmark = pytest.mark.once


class AgentMachine(AgentModel):
    """One transcript and one cache; agents come and go, up to two at a time."""

    @initialize()
    def start(self) -> None:
        logging.disable(logging.CRITICAL)
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.ledger = Ledger(Path(self.folder.name) / "t", synchronous="NORMAL")
        self.cache = sap.Cache(Path(self.folder.name) / "c")
        self.agents: list[sap.Agent] = []
        self.reset()
        self.enter()

    def enter(self) -> None:
        agent = self.agent(handlers=6, lease=0.5)
        self.do(agent.__aenter__())
        self.agents.append(agent)

    # ------------------------------------------------------------ steps

    @rule(one=TASKS, who=st.sampled_from([*WHO, None]), agent=st.integers(0, 1), reply=st.booleans())
    def call(self, one: sap.Task, who: str | None, agent: int, reply: bool) -> None:
        self.do(self.judged(one, who, self.agents[agent % len(self.agents)]))

    @rule(some=st.lists(st.tuples(TASKS, st.sampled_from(WHO), st.integers(0, 1)), min_size=2, max_size=6))
    def call_together(self, some: list[tuple[sap.Task, str, int]]) -> None:
        async def all_of_them() -> None:
            calls = (self.judged(one, who, self.agents[agent % len(self.agents)]) for one, who, agent in some)
            await asyncio.gather(*calls)

        self.do(all_of_them())

    @rule(one=TASKS, agent=st.integers(0, 1))
    def cancel(self, one: sap.Task, agent: int) -> None:
        async def begun() -> None:
            chosen = self.agents[agent % len(self.agents)]
            who = one.issuer.agent_id
            calling = asyncio.ensure_future(self.judged(one, who, chosen))
            await asyncio.sleep(0)
            with contextlib.suppress(KeyError):  # refused
                await chosen.cancel(one.task_id, principal=who)
            await calling

        self.do(begun())

    @rule()
    def restart(self) -> None:
        self.do(self.agents.pop(0).__aexit__())
        if not self.agents:
            self.enter()

    @rule()
    def second_agent(self) -> None:
        if len(self.agents) < 2:
            self.enter()

    @rule(one=TASKS)
    def close_in_the_middle(self, one: sap.Task) -> None:
        async def closed() -> None:
            calling = asyncio.ensure_future(self.judged(one, one.issuer.agent_id, self.agents[0]))
            await asyncio.sleep(0.01)
            await self.agents.pop(0).__aexit__()
            await calling

        self.do(closed())
        if not self.agents:
            self.enter()

    # ------------------------------------------------------------ what must hold

    async def judged(self, one: sap.Task, who: str | None, agent: sap.Agent) -> None:
        seen: list[sap.Result] = []

        async def reply(result: sap.Result) -> None:
            seen.append(result)

        before = one.to_dict()
        job = await agent.receive(one, reply, principal=who, limit=self.limit)
        if isinstance(job, sap.Nack):
            assert (job.reason or "").startswith(("INVALID_TASK: another task", "RATE_LIMIT", "INTERNAL: B is not"))
            assert job.correlation_id == one.correlation_id
            return
        result = await job.wait()
        assert sap.check(result, task=one) == [] or result.status != "SUCCEEDED"
        self.is_right(result, one, before, who)
        result.output = result.status = result.correlation_id = "edited"  # type: ignore[assignment]

    @invariant()
    def transcript_is_right(self) -> None:
        if not hasattr(self, "ledger"):
            return
        assert set(self.executions.values()) <= {1}
        for seen in self.statuses():
            assert [status for status in seen if status in TERMINAL] == seen[-1:] or seen[-1] == "RUNNING", seen
            assert go_forward(seen), seen

    def teardown(self) -> None:
        if not hasattr(self, "agents"):
            return
        self.gate.set()
        for agent in self.agents:
            self.do(agent.__aexit__())
        assert self.ledger.verify()
        self.loop.run_until_complete(self.loop.shutdown_default_executor())
        self.loop.close()
        self.folder.cleanup()
        logging.disable(logging.NOTSET)


AgentMachine.TestCase.settings = settings(
    max_examples=12,
    stateful_step_count=12,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
TestAgentMachine = pytest.mark.filterwarnings("ignore::ResourceWarning")(AgentMachine.TestCase)
