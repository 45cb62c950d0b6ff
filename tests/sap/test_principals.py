"""Who calls, on all four transports; and what clients do not take from a server."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.conftest import raised
from tests.sap.hosts import OVER, Broker, serve
from tests.sap.scenario import task
from turnwire import sap
from turnwire.errors import BadAnswer, RuleError
from turnwire.ledger import Ledger
from turnwire.sap.access import LONGEST_NAME, principal_of, signed_message, verify_message
from turnwire.sap.transcripts import RESULT_KIND, STARTED_KIND, TASK_KIND
from turnwire.sap.transports import http, identified

pytestmark = pytest.mark.once
RULES = sap.Access([sap.Rule("A-*", ("work.*",)), sap.Rule("M-*", ("work.*",))])
KEYS = {
    name: Ed25519PrivateKey.from_private_bytes(bytes([number]) * 32)
    for number, name in enumerate(("A-prime", "M-allory", "x"))
}
PUBLIC = {name: key.public_key().public_bytes_raw() for name, key in KEYS.items()}


def agent_in(folder: Path, **more: Any) -> sap.Agent:
    agent = sap.Agent("B", **{"transcript": Ledger(folder / "t"), "access": RULES, **more})

    @agent.capability("work.who")
    def who(_task: sap.Task, context: sap.Context) -> Any:
        return {"for": context.principal}

    @agent.capability("work.wait")
    async def wait(one: sap.Task, _context: sap.Context) -> Any:
        await asyncio.sleep(one.payload.get("seconds", 0.1))
        return "x" * one.payload.get("size", 1)

    return agent


@pytest.mark.parametrize("transport", OVER)
async def test_everybody_gets_his_own_and_strangers_nothing(tmp_path: Path, broker: Broker, transport: str) -> None:
    agent = agent_in(tmp_path)
    one = task("work.who", {})
    mine = one.replace(issuer=sap.Issuer(agent_id="M-allory", agent_kind="agent"))
    machine: Any = SimpleNamespace(broker=broker, prefix="everybody", url="")
    async with AsyncExitStack() as opened, OVER[transport](agent, opened, machine) as clients:
        stranger, mallory, prime = clients[None], clients["M-allory"], clients["A-prime"]
        for thief in (stranger, mallory):
            with pytest.raises(sap.Refused, match="UNAUTHORIZED: ") as refused:
                await thief.call(one)
            assert await thief.send(one) == refused.value.nack
        assert (await prime.call(one)).output == {"for": "A-prime"}
        assert (await mallory.call(mine)).output == {"for": "M-allory"}
        assert (await prime.call(one)).output == {"for": "A-prime"}
        with pytest.raises(sap.Refused):
            await mallory.call(one)
        assert await prime.call("work.who", {}, issuer="A-prime") == {"for": "A-prime"}
    kinds = [entry.kind for entry in agent.transcript]
    assert kinds.count(TASK_KIND) == kinds.count(RESULT_KIND) == kinds.count(STARTED_KIND) == 3
    assert len(kinds) == 9


def test_names() -> None:
    assert principal_of(None) is None
    assert principal_of(sap.ANONYMOUS) is principal_of(sap.Principal("")) is sap.ANONYMOUS
    assert principal_of("a") == sap.Principal("a")
    for who, known in ((sap.ANONYMOUS, sap.Principal("anonymous")), (None, None), ("", None)):
        assert asyncio.run(identified(lambda _, who=who: who, None)) == known
    for name in ("", "a\n", "a" * (LONGEST_NAME + 1)):
        raised(ValueError, principal_of, name)
    assert sap.authorise(None, "read") is not None
    assert sap.authorise("a", "read") is None
    raised(TypeError, sap.authorise, "a", "submit")


async def test_results_are_signed_and_clients_see_by_whom(tmp_path: Path) -> None:
    agent = agent_in(tmp_path, access=None, signer=KEYS["A-prime"])
    async with agent, serve(http.app(agent)) as url:
        async with http.Client(url, keys={"B": PUBLIC["A-prime"]}) as client:
            result = await client.call(task("work.who", {}))
            assert verify_message(result, {"B": PUBLIC["A-prime"]}) == "B"
            for change in ({"output": 2}, {"correlation_id": result.task_id}):
                raised(RuleError, verify_message, result.replace(**change), {"B": PUBLIC["A-prime"]})
        async with http.Client(url, keys={"B": PUBLIC["x"]}) as client:
            with pytest.raises(BadAnswer, match="does not match"):
                await client.call(task("work.who", {}))
    bare = task("work.who", {})
    with pytest.raises(RuleError, match="no signature"):
        verify_message(bare, PUBLIC)
    assert verify_message(signed_message(bare, "x", KEYS["x"]), PUBLIC) == "x"
