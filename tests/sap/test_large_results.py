"""Results have a bound; receipts come before the work is done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.sap.hosts import reached
from tests.sap.scenario import CHECKS, task
from tests.sap.test_agent import do, offering
from tests.sap.test_principals import KEYS, PUBLIC
from turnwire import sap
from turnwire.ledger import Ledger
from turnwire.sap.signing import verify_message
from turnwire.sap.transports import mcp

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("quiet_logs")]


def agent_of(folder: Path, **more: Any) -> sap.Agent:
    agent = sap.Agent("B", transcript=Ledger(folder / "t"), cache=sap.Cache(folder / "c"), **more)

    @agent.capability("work.size")
    async def size(one: sap.Task, _context: sap.Context) -> Any:
        return sap.Outcome("ä" * one.payload["size"], alignment="VALID", policy_checks=CHECKS)

    @agent.capability("work.stubborn")
    async def stubborn(one: sap.Task, _context: sap.Context) -> Any:
        end = asyncio.get_running_loop().time() + one.payload["seconds"]
        while asyncio.get_running_loop().time() < end:
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue
        return "late"

    return agent


@pytest.mark.parametrize("transport", ["bus", "http", "mcp over http"])
async def test_a_result_has_a_bound_on_every_transport(transport: str, tmp_path: Path) -> None:
    agent = agent_of(tmp_path, max_result=4000)
    async with reached(transport, agent) as client:
        for size, status in ((100, "SUCCEEDED"), (1000, "SUCCEEDED"), (2000, "FAILED"), (100_000, "FAILED")):
            one = task("work.size", {"size": size}, constitutionalContext__cachePolicy={"mode": "prefer"})
            result = await client.call(one)
            assert (str(result.status), len(sap.encode(result).encode()) <= 4000) == (status, True)
            assert await client.call(one) == result
            if status == "FAILED":
                assert result.error.details["limit"] == 4000
                assert result.constitutional_evidence.alignment == "ESCALATE"


async def test_a_result_larger_than_messages_may_be_fails_in_words(tmp_path: Path) -> None:
    agent = agent_of(tmp_path)
    async with agent:
        one = task("work.size", {"size": 9 << 20}, constitutionalContext__cachePolicy={"mode": "prefer"})
        result = await agent.call(one)
        assert result.error is not None and "bytes" in (result.error.message or "")
        assert sap.decode(sap.encode(result)) == result
        assert agent.cache is not None and not len(agent.cache.ledger)  # where nobody could read it


async def test_receipts_of_mcp_come_before_the_work_is_done(tmp_path: Path) -> None:
    access = sap.Access([sap.Rule("A-*", ("work.*",))])
    agent = agent_of(tmp_path, access=access)
    async with agent, mcp.Client(mcp.server(agent)) as client:
        one = task("work.stubborn", {"seconds": 1.0})
        receipt = await client.send(one)
        assert isinstance(receipt, sap.Ack) and receipt.correlation_id == one.correlation_id
        assert (await agent.look_up(one.task_id)).status == "ACK"
        told: list[Any] = []

        async def progress(done: float, _total: float | None, text: str | None) -> None:
            told.append((done, text))

        for expected in (True, False):
            made = task("work.stubborn", {"seconds": 0.05}, replyTo={"expectAck": expected})
            sent = made.to_dict()
            told.clear()
            await client._client.call_tool(
                "work.stubborn", sent["payload"], meta={mcp.TASK: sent}, progress_callback=progress
            )
            assert told == [(0.0, "accepted")] * expected + [(0.5, "RUNNING")]
        assert (await client.call(one)).output == "late"
        refused = await client.send(task("work.size", {}, issuer={"agentId": "X", "agentKind": "agent"}))
        assert isinstance(refused, sap.Nack) and (refused.reason or "").startswith("UNAUTHORIZED")
        unknown = await client.send(task("work.none", {}))
        assert isinstance(unknown, sap.Nack) and (unknown.reason or "").startswith("NOT_FOUND")


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
async def test_whatever_makes_a_result_too_large_what_is_sent_is_small(part: dict[str, Any], status: str) -> None:
    async with offering(lambda one, context: sap.Outcome(status=status, **part), max_result=1500) as agent:
        result = await agent.call(do())
        assert (result.status, result.error and result.error.code) == ("FAILED", "INTERNAL")
        assert len(sap.encode(result).encode()) <= 1500


async def test_a_large_result_is_signed_as_it_leaves() -> None:
    async with offering(lambda *_: "x" * 5000, signer=KEYS["A-prime"], max_result=2000) as agent:
        result = await agent.call(do())
    assert result.status == "FAILED"
    assert verify_message(result, {"B": PUBLIC["A-prime"]}) == "B"


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001f600"])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_result_of_just_the_limit_is_given(letter, more):
    async def main(most: int | None) -> sap.Result:
        agent = sap.Agent("B", **({} if most is None else {"max_result": most}))
        agent.capability("work.who")(lambda task, context: {"x": letter * 30_000})
        async with agent:
            one = task("work.who", {})
            one.task_id = one.correlation_id = "00000000-0000-4000-8000-000000000001"
            return await (await agent.receive(one)).wait()

    exact = len(sap.encode(asyncio.run(main(None))).encode())
    found = asyncio.run(main(exact + more))
    assert str(found.status) == ("SUCCEEDED" if more >= 0 else "FAILED")
