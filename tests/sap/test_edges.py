"""Numbers that agents and what they learn count by, each just below, at and above; and what comes in no usual order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sap.documents import RESULT, TASK, changed
from tests.sap.scenario import task
from tests.sap.test_http_bodies import Streaming
from turnwire import sap
from turnwire.errors import BadAnswer
from turnwire.ledger import Ledger
from turnwire.sap.execution import size_of
from turnwire.sap.learning import HIGHEST, Signal, contents
from turnwire.sap.transcripts import Batching
from turnwire.sap.transports import http
from turnwire.sap.transports.bus import Mailbox, Provider, provider_for
from turnwire.sap.waiting import ALLOWANCE, PriorityQueue

pytestmark = pytest.mark.once


def signal(number: int, **fields: Any) -> tuple[int, Signal]:
    told = {"status": "SUCCEEDED", "alignment": "VALID"} | fields
    return number, Signal("producer", "c", None, "f", f"00000000-0000-4000-8000-{number:012}", **told)


def kinds(*signals: tuple[int, Signal]) -> dict[str, Any]:
    return {kind: content for kind, content, _ in contents("c", None, signals)}


@pytest.mark.parametrize(
    ("good", "threshold"),
    [
        ([50, 50], 49),
        ([50, 50, 50], HIGHEST),
        ([49, 49, 49], 49),
        ([51, 51, 51], HIGHEST),
        ([49, 50, 51], 49),
        ([50, 49, 51, 50], HIGHEST),
    ],
)
def test_a_bad_outcome_is_outweighed_by_three_good_ones_at_its_pressure_or_more(good, threshold):
    bad = signal(0, alignment="NON_CONSTITUTIONAL", pressure={"p": 50})
    later = [signal(number, pressure={"p": pressure}) for number, pressure in enumerate(good, 1)]
    found = kinds(bad, *later)["thresholds"]["principles"]["p"]
    assert found == {"threshold": threshold, "good": len(good), "bad": 1}
    before = kinds(*[signal(number, pressure={"p": 50}) for number in range(1, 9)], bad)
    assert before["thresholds"]["principles"]["p"]["threshold"] == 49  # what was good before outweighs nothing


@pytest.mark.parametrize("pressure", [0, 0.5, 1, 50, 50.5, 99.9, 100, 101])
def test_a_threshold_lies_below_what_was_bad(pressure):
    found = kinds(signal(0, alignment="NON_CONSTITUTIONAL", pressure={"p": pressure}))["thresholds"]
    threshold = found["principles"]["p"]["threshold"]
    assert 0 <= threshold <= HIGHEST and (threshold < pressure or pressure == 0)
    assert threshold + 1 >= min(pressure, HIGHEST)


def test_what_is_alone_in_its_group_shows_nothing_of_a_field():
    """Only values that changed while all else stayed as it was count, and three of them are enough."""
    alone = [signal(number, inputs={"a": str(number), "b": str(number)}, answer="z") for number in range(5)]
    assert "essence" not in kinds(*alone)
    pairs = [signal(number, inputs={"a": str(number), "b": str(number // 2)}, answer="z") for number in range(2)]
    assert "essence" not in kinds(*pairs) and "essence" not in kinds(*pairs, *alone[2:])
    three = [signal(number, inputs={"a": str(number), "b": "0"}, answer="z") for number in range(3)]
    assert kinds(*three)["essence"] == {"leave_out": ["a"]}
    two = [signal(number, inputs={"a": str(number), "b": str(number // 2)}, answer="z") for number in range(4)]
    assert kinds(*two)["essence"] == {"leave_out": ["a"]}  # two groups of two


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\u20ac", "\U0001f600"])
@pytest.mark.parametrize("number", [0, 1, 24, 25, 26, 33, 34, 50, 51, 99, 100, 101])
def test_a_size_is_exact_beyond_the_limit(letter, number):
    text, exact = letter * number, number * len(letter.encode())
    for limit in (99, 100, 101):
        found = size_of(text, limit)
        assert found == exact or (found <= limit and exact <= limit)


def test_what_waits_goes_in_its_order_whatever_is_taken_out():
    async def main(seed: int) -> None:
        chance, line = random.Random(seed), PriorityQueue[tuple[int, ...]]()
        keys = {}
        for number in range(chance.randrange(1, 14)):
            item, priority = (number, seed), chance.choice(list(ALLOWANCE))
            line.add(item, priority)
            keys[item] = number + ALLOWANCE[priority], number
        for item in chance.sample(sorted(keys), chance.randrange(len(keys))):
            assert line.remove(item) and not line.remove(item)
            del keys[item]
        assert line.qsize() == len(keys)
        assert [await line.next() for _ in range(line.qsize())] == sorted(keys, key=keys.__getitem__)

    for seed in range(300):
        asyncio.run(main(seed))


def test_lines_of_results_are_bounded_each_alone():
    one = task("work.who", {})
    said = [sap.Outcome("x" * 300, status="RUNNING")] * 4 + [sap.Outcome("y" * 298)]
    texts = [sap.encode(sap.result_for(one, outcome, "B")).encode() for outcome in said]
    data, longest = b"\n".join(texts), max(map(len, texts))

    def answered(step: int, most: int) -> list[str]:
        async def chunks() -> AsyncIterator[bytes]:
            for at in range(0, len(data), step):
                yield data[at : at + step]

        async def main() -> list[str]:
            async with httpx.AsyncClient(transport=Streaming(chunks())) as raw:
                client = http.Client("http://b", client=raw, max_body=most)
                return [str(result.status) async for result in client.statuses(one)]

        return asyncio.run(main())

    for step in (1, 10, longest // 2, longest, longest + 1, len(data)):
        for more in (0, 1):
            assert answered(step, longest + more) == ["RUNNING"] * 4 + ["SUCCEEDED"]
        with pytest.raises(BadAnswer, match="has more than"):
            answered(step, longest - 1)


async def posted(content: str, **headers: str) -> httpx.Response:
    agent = sap.Agent("B")
    agent.capability("work.who")(lambda task, context: {"x": 1})
    async with agent:
        transport = httpx.ASGITransport(http.app(agent))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            return await client.post("/tasks", content=content, headers=headers)


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("application/json", 200),
        ("Application/JSON", 200),
        (" application/json ", 200),
        ("application/json; charset=utf-8", 200),
        ("APPLICATION/JSON;charset=UTF-8", 200),
        ("application/jsonx", 415),
        ("text/json", 415),
        ("", 415),
    ],
)
def test_types_of_bodies(kind, status):
    response = asyncio.run(posted(sap.encode(task("work.who", {})), **{"Content-Type": kind}))
    assert response.status_code == status


UUID = "00000000-0000-4000-8000-000000000001"


@pytest.mark.parametrize(
    ("said", "told"), [(UUID, UUID), (UUID[:-1], None), (f"{UUID}x", None), ("no uuid", None), ("", None)]
)
def test_a_refusal_names_the_correlation_that_the_request_names(said, told):
    response = asyncio.run(posted("x", **{"Content-Type": "text/plain", http.CORRELATION: said}))
    assert response.status_code == 415 and response.json()["nack"].get("correlationId") == told


def test_of_two_agents_with_a_capability_the_first_one_describes_it():
    bus = sap.Bus()
    for name in ("first", "second"):
        agent = sap.Agent(name)
        agent.capability("c", description=name)(lambda task, context: {})
        bus.register(agent)
    assert bus.capabilities["c"].description == "first"


@pytest.mark.parametrize("keys", [["a"], ["a", "b"], ["a", "a"], ["a", "b", "a"], ["a", "a", "a", "b"]])
def test_what_several_wrote_at_once_under_one_key_is_read_again(keys, tmp_path: Path):
    async def main() -> None:
        with Ledger(tmp_path / "ledger") as ledger:
            batching = Batching(ledger)
            asked = [
                batching.do(lambda key=key, n=n: ([("kind", str(n), key)], f"made {n}"), lambda n=n: f"read {n}")
                for n, key in enumerate(keys)
            ]
            found = await asyncio.gather(*asked)
            batching.close()
        assert found == [f"{'read' if keys.count(key) > 1 else 'made'} {n}" for n, key in enumerate(keys)]

    asyncio.run(main())


@pytest.mark.parametrize("error", [None, ("X", "y")])
@pytest.mark.parametrize("alignment", ["VALID", "NON_CONSTITUTIONAL", "ESCALATE", None])
def test_what_an_error_and_an_alignment_make_of_a_result(error, alignment):
    """An error fails, whatever the alignment is."""
    found = sap.result_for(task("work.who", {}), sap.Outcome(error=error, alignment=alignment), "B")
    if error is not None:
        assert str(found.status) == "FAILED" and found.error.code == "X"
    elif alignment == "ESCALATE":
        assert str(found.status) == "ESCALATED"
    elif alignment == "NON_CONSTITUTIONAL":
        assert str(found.status) in ("FAILED", "ESCALATED")
    else:
        assert str(found.status) == "SUCCEEDED"


@pytest.mark.parametrize("number", range(6))
def test_what_a_mailbox_drops_is_counted(number):
    async def main() -> int:
        box = Mailbox(2)
        for one in range(number):
            box.put(one)
        return box.dropped

    assert asyncio.run(main()) == max(number - 2, 0)


@pytest.mark.parametrize(
    ("now", "age"), [(1000.0, 0), (1999.9, 0), (2000.0, 0), (2000.9, 0), (2001.0, 1), (5000.0, 3000)]
)
def test_an_age_is_never_below_0_though_the_clock_goes_back(now, age):
    cache = sap.Cache(":memory:")
    asked = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "prefer"}))
    assert cache.put(asked, sap.Result.from_dict(RESULT), now=2000.0) == 1
    assert cache.get(asked, now=now).age_sec == age


class Routed:
    """An agent as routing sees it."""

    def __init__(self, name: str, unfinished: int, *capabilities: str) -> None:
        self.agent_id, self.unfinished, self.capabilities = name, unfinished, set(capabilities)

    def holds(self, *_: Any) -> bool:
        return False


def routed(hints: dict[str, Any], *providers: Provider) -> str | None:
    document = changed(changed(TASK, "/target/routingHints", hints), "/target/agentId", ...)
    found = provider_for(sap.Task.from_dict(document), {one.agent.agent_id: one for one in providers})
    return found and found.agent_id


def test_a_priority_is_no_label_of_an_agent():
    name = TASK["target"]["capability"]
    for busy, idle in (({"priority": "high"}, {}), ({}, {"priority": "low"}), ({}, {})):
        both = Provider(Routed("busy", 5, name), busy), Provider(Routed("idle", 0, name), idle)
        assert routed({"priority": "high"}, *both) == "idle"
    labelled = Provider(Routed("busy", 5, name), {"zone": "a"}), Provider(Routed("idle", 0, name), {"zone": "b"})
    assert routed({"zone": "a"}, *labelled) == "busy"


def test_who_lacks_the_capability_is_not_asked_whatever_the_hints_are():
    name = TASK["target"]["capability"]
    providers = [Provider(Routed(agent, 9, name), {}) for agent in ("able", "able too")]
    providers.append(Provider(Routed("other", 0, "another"), {"zone": "a"}))
    hints: tuple[dict[str, Any], ...] = (
        {},
        {"zone": "a"},
        {"affinity": "x"},
        {"affinity": "other"},
        {"priority": "low"},
    )
    for some in (providers, providers[1:], providers[::-1]):
        assert all(str(routed(one, *some)).startswith("able") for one in hints)
    assert routed({"affinity": "able too"}, *providers) == "able too"


@pytest.mark.parametrize("priority", list(ALLOWANCE))
def test_so_many_later_tasks_go_before_one(priority):
    async def main() -> int:
        line = PriorityQueue[Any]()
        line.add("own", priority)
        for number in range(ALLOWANCE[priority] + 10):
            line.add(number, "urgent")
        return [await line.next() for _ in range(line.qsize())].index("own")

    assert asyncio.run(main()) == max(ALLOWANCE[priority] - 1, 0)
    assert ALLOWANCE == {"urgent": 0, "high": 16, "normal": 64, "low": 256}
