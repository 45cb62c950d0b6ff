"""What the models of an agent share, called directly or behind a transport: handlers that do anything, tasks for them,
and what every Result must be."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Iterable
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule

from tests.sap.scenario import CHECKS, task
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.spec import TERMINAL, Status
from turnwire.sap.transcripts import RESULT_KIND, TASK_KIND, key_of

FAULTS = (
    *("none", "none", "raise", "exit", "cancel itself", "hang", "hang in thread", "swallow", "queued", "edit"),
    *("unwritable", "huge"),
)
_PLAIN_IGNORES = ("cancel itself", "hang", "hang in thread", "swallow")
"""Faults after which a plain handler may succeed all the same."""
WHO = ("A-prime", "M-allory")
TASKS = Bundle("tasks")


class Odd(BaseException):
    pass


class AgentModel(RuleBasedStateMachine):
    """A transcript, a cache, and agents that share them. limit: bytes of a Result; seconds: what a step may take at
    most; budget: seconds of a task."""

    limit = 20_000
    seconds = 10.0
    budget = 0.05
    loop: asyncio.AbstractEventLoop
    ledger: Ledger
    cache: sap.Cache

    def reset(self) -> None:
        """Forgets what was seen, for a new run."""
        self.gate = threading.Event()
        self.results: dict[str, str] = {}
        self.executions: dict[str, int] = {}
        self.injected: set[tuple[str, str]] = set()  # what handlers were told to do
        self.begun: set[str] = set()  # ids of tasks that handlers have got

    def do(self, work: Awaitable[Any]) -> Any:
        return self.loop.run_until_complete(asyncio.wait_for(work, self.seconds))

    def agent(self, **options: Any) -> sap.Agent:
        """An agent with both handlers, not entered."""
        agent = sap.Agent(
            "B",
            transcript=self.ledger,
            cache=self.cache,
            access=sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))]),
            workers=2,
            **options,
        )
        for name, handler in (("work.plain", self.plain), ("work.coroutine", self.coroutine)):
            agent.capability(name)(handler)
        return agent

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
        return task(
            capability,
            {"fault": fault, "who": who, "n": n},
            issuer={"agentId": who, "agentKind": "agent"},
            telemetry={"trace": trace, "budget": {"seconds": self.budget}},
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


def go_forward(statuses: list[str]) -> bool:
    """Whether no status that is not terminal goes back."""
    order = [status for status in statuses if status not in TERMINAL]
    return order == sorted(order, key=["QUEUED", "RUNNING"].index)


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    """What the right output of a payload is."""
    return {"n": payload["n"], "of": payload["who"]}
