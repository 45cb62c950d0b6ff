"""A model of an agent, and steps in any order: whatever its handlers, callers and stores do, the invariants hold.

One terminal Result for each task of each principal, never a wrong answer, no status that goes backwards, no row of
a task before its principal may have it executed, and nothing hangs.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import tempfile
import threading
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, rule

from tests.sap.scenario import CHECKS, task
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.spec import TERMINAL, Status
from turnwire.sap.transcripts import RESULT_KIND, TASK_KIND, key_of

FAULTS = ("none", "raise", "exit", "cancel itself", "hang", "hang in thread", "queued", "edit", "unwritable", "huge")
WHO = ("A-prime", "M-allory")
LIMIT = 20_000  # bytes of a Result


class Odd(BaseException):
    pass


def answer(payload: dict[str, Any]) -> dict[str, Any]:
    """What the right output of a payload is."""
    return {"n": payload["n"], "of": payload["who"]}


class AgentMachine(RuleBasedStateMachine):
    """One transcript and one cache; agents come and go, up to two at a time."""

    tasks = Bundle("tasks")

    @initialize()
    def start(self) -> None:
        logging.disable(logging.CRITICAL)
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.gate = threading.Event()
        self.ledger = Ledger(Path(self.folder.name) / "t", synchronous="NORMAL")
        self.cache = sap.Cache(Path(self.folder.name) / "c")
        self.agents: list[sap.Agent] = []
        self.results: dict[str, str] = {}
        self.executions: dict[str, int] = {}
        self.enter()

    def do(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, 10))

    def enter(self) -> None:
        agent = sap.Agent(
            "B",
            transcript=self.ledger,
            cache=self.cache,
            access=sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))]),
            workers=2,
            handlers=6,
            lease=0.5,
        )
        for name, handler in (("work.plain", self.plain), ("work.coroutine", self.coroutine)):
            agent.capability(name)(handler)
        self.do(agent.__aenter__())
        self.agents.append(agent)

    # ------------------------------------------------------------ handlers

    def seen(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        key = f"{one.task_id} {context.principal}"
        self.executions[key] = self.executions.get(key, 0) + 1
        made = sap.Outcome(answer(one.payload), alignment="VALID", policy_checks=CHECKS)
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
            return sap.Outcome("x" * LIMIT)
        if fault == "edit":
            one.payload["n"] = one.payload["who"] = "edited"
            one.task_id = one.correlation_id = "00000000-0000-0000-0000-000000000000"
            one.issuer.agent_id = "nobody"
        return made

    def plain(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        if one.payload["fault"] == "hang in thread":
            self.gate.wait(0.3)
        return self.seen(one, context)

    async def coroutine(self, one: sap.Task, context: sap.Context) -> sap.Outcome:
        if one.payload["fault"].startswith("hang"):
            await asyncio.sleep(60)
        if one.payload["fault"] == "cancel itself":
            inner = asyncio.ensure_future(asyncio.sleep(60))
            inner.cancel()
            await inner
        await asyncio.sleep(0)
        return self.seen(one, context)

    # ------------------------------------------------------------ steps

    @rule(
        target=tasks,
        fault=st.sampled_from(FAULTS),
        capability=st.sampled_from(["work.plain", "work.coroutine"]),
        who=st.sampled_from(WHO),
        n=st.integers(0, 3),
        mode=st.sampled_from(["bypass", "prefer", "only"]),
        trace=st.booleans(),
    )
    def make(self, fault: str, capability: str, who: str, n: int, mode: str, trace: bool) -> sap.Task:
        return task(
            capability,
            {"fault": fault, "who": who, "n": n},
            issuer={"agentId": who, "agentKind": "agent"},
            telemetry={"trace": trace, "budget": {"seconds": 0.05}},
            constitutionalContext__cachePolicy={"mode": mode},
        )

    @rule(target=tasks, one=tasks, upper=st.booleans())
    def again(self, one: sap.Task, upper: bool) -> Any:
        """The same task, perhaps with its ids in other letters; or another one under its id."""
        other = one.replace(task_id=one.task_id.upper() if upper else one.task_id)
        if not upper:
            other.payload = {**other.payload, "n": other.payload["n"] + 10}
        return multiple(other)

    @rule(one=tasks, who=st.sampled_from([*WHO, None]), agent=st.integers(0, 1), reply=st.booleans())
    def call(self, one: sap.Task, who: str | None, agent: int, reply: bool) -> None:
        self.do(self.judged(one, who, self.agents[agent % len(self.agents)]))

    @rule(some=st.lists(st.tuples(tasks, st.sampled_from(WHO), st.integers(0, 1)), min_size=2, max_size=6))
    def call_together(self, some: list[tuple[sap.Task, str, int]]) -> None:
        async def all_of_them() -> None:
            calls = (self.judged(one, who, self.agents[agent % len(self.agents)]) for one, who, agent in some)
            await asyncio.gather(*calls)

        self.do(all_of_them())

    @rule(one=tasks, agent=st.integers(0, 1))
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

    @rule(one=tasks)
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
        job = await agent.receive(one, reply, principal=who, limit=LIMIT)
        if isinstance(job, sap.Nack):
            assert (job.reason or "").startswith(("INVALID_TASK: another task", "RATE_LIMIT", "INTERNAL: B is not"))
            assert job.correlation_id == one.correlation_id
            return
        result = await job.wait()
        assert one.to_dict() == before
        assert result.task_id.lower() == one.task_id.lower()
        assert result.correlation_id == one.correlation_id
        assert sap.check(result, task=one) == [] or result.status != "SUCCEEDED"
        assert result.status in TERMINAL
        if who != one.issuer.agent_id:
            assert result.error is not None and result.error.code == "UNAUTHORIZED"
            assert "output" not in result
            return
        key = key_of(sap.Principal(who), one.task_id)
        text = sap.encode(result)
        assert self.results.setdefault(key, text) == text, "one Result"
        if result.status == "SUCCEEDED":
            assert result.output == answer(one.payload)
            plain = one.target.capability == "work.plain"
            assert one.payload["fault"] in (
                "none",
                "edit",
                *(("cancel itself", "hang", "hang in thread") if plain else ()),
            )
        assert (result.constitutional_evidence.alignment == "VALID") is (result.status == "SUCCEEDED")
        result.output = result.status = result.correlation_id = "edited"  # type: ignore[assignment]

    @invariant()
    def transcript_is_right(self) -> None:
        if not hasattr(self, "ledger"):
            return
        statuses: dict[str, list[str]] = {}
        for entry in self.ledger:
            if entry.kind == TASK_KIND:
                assert entry.key.split()[1] == sap.decode(entry.body).fields["issuer"]["agentId"]
            if entry.kind == RESULT_KIND:
                statuses.setdefault(entry.key, []).append(str(sap.decode(entry.body).fields["status"]))
        assert set(self.executions.values()) <= {1}
        for seen in statuses.values():
            assert [status for status in seen if status in TERMINAL] == seen[-1:] or seen[-1] == "RUNNING", seen
            order = [status for status in seen if status not in TERMINAL]
            assert order == sorted(order, key=["QUEUED", "RUNNING"].index), seen

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
