"""Numbers that rules of SAP go by, each just below, at and above: keys that claim, pressures, deadlines, sizes."""

from __future__ import annotations

import asyncio
import copy
import json
from dataclasses import replace
from typing import Any

import httpx
import pytest

from tests.sap.documents import RESULT, TASK, changed
from tests.sap.scenario import task
from turnwire import LIMITS, sap
from turnwire.errors import BadAnswer, EncodeError
from turnwire.sap.bulk import claims
from turnwire.sap.cache import aligned, within
from turnwire.sap.handlers import Pool
from turnwire.sap.learning import GOOD_RATING, Signal, contents
from turnwire.sap.secrets import SHORTEST, secrets
from turnwire.sap.times import read_time
from turnwire.sap.transports import http

pytestmark = pytest.mark.once
FURTHER = ("taskId", "correlationId", "issuedAt", "reportedAt", "issuer", "producer", "target")


@pytest.mark.parametrize(
    "strong", [(), ("constitutionalContext",), ("constitutionalContext", "constitutionalEvidence")]
)
@pytest.mark.parametrize("versioned", [False, True])
@pytest.mark.parametrize("further", range(5))
@pytest.mark.parametrize("first", [0, 1])
def test_what_claims_to_be_a_task_or_a_result(strong, versioned, further, first):
    names = [*strong, *["protocolVersion"] * versioned, *FURTHER[first : first + further]]
    wanted = bool(strong) and len(names) >= 2
    wanted = wanted or (versioned and (further >= 3 or "taskId" in names))
    assert claims(dict.fromkeys(names, 1)) is wanted


@pytest.mark.parametrize("more", range(4))
def test_what_claims_to_be_a_receipt_has_one_other_key_at_most(more):
    fields = {"messageId": 1, "correlationId": 1, "status": "ACK"}
    others = {f"other{number}": 1 for number in range(more)}
    for status in ("ACK", "NACK"):
        assert claims(fields | others | {"status": status}) is (more <= 1)
    assert not claims(fields | {"status": "DONE"}) and not claims({"messageId": 1, "status": "ACK"})


@pytest.mark.parametrize("threshold", [0, 49, 50, 100])
@pytest.mark.parametrize("more", [-1, -0.5, 0, 0.5, 1])
def test_a_pressure_at_its_threshold_is_within_it(threshold, more):
    asked = {"pressure": {"p": threshold + more}}
    told = within({"p": threshold})(asked, asked)
    assert (told is None) is (more <= 0)
    assert (within({})({"pressure": {"p": 100 + more}}, {"pressure": {"p": 200}}) is None) is (more <= 0)


@pytest.mark.parametrize("name", ["pressureLevel", "riskTolerance"])
def test_levels_in_their_order(name):
    from turnwire.sap import cache as alignment

    order = alignment._LEVELS if name == "pressureLevel" else alignment._RISKS
    for asked, wanted in enumerate(order):
        for stored, found in enumerate(order):
            good = stored >= asked if name == "pressureLevel" else stored <= asked
            assert (aligned({name: wanted}, {name: found}) is None) is good
    assert aligned({name: order[0]}, {name: "no such level"}) is not None


@pytest.mark.parametrize("rating", range(1, 6))
def test_ratings_from_three_on_are_good(rating):
    told = {"status": "SUCCEEDED", "pressure": {"p": 50}, "alignment": "VALID"}
    one = Signal("producer", "c", None, "f", "00000000-0000-4000-8000-000000000001", **told)
    word = replace(one, source="operator", rating=rating)
    found = {kind: content for kind, content, _ in contents("c", None, [(1, one), (2, word)])}
    principle = found["thresholds"]["principles"]["p"]
    assert principle == {"threshold": 100, "good": 1, "bad": 0} if rating >= GOOD_RATING else principle["bad"] == 1


def test_a_field_is_idle_where_answers_stay_as_they_are():
    def signal(number: int, value: str, answer: str) -> tuple[int, Signal]:
        told = {"status": "SUCCEEDED", "alignment": "VALID", "inputs": {"a": value}, "answer": answer}
        return number, Signal("producer", "c", None, "f", f"00000000-0000-4000-8000-{number:012}", **told)

    same = [signal(number, "0", str(number)) for number in range(4)]  # another answer, though nothing changed
    rows = [signal(number + 9, str(number), "z") for number in range(3)]
    kinds = [kind for kind, _, _ in contents("c", None, rows)]
    assert "essence" in kinds
    assert "essence" not in [kind for kind, _, _ in contents("c", None, same)]
    assert "essence" not in [kind for kind, _, _ in contents("c", None, [*rows, signal(20, "5", "other")])]


@pytest.mark.parametrize("size", [-1, 0, 1, 2])
def test_a_pool_has_one_place_at_least(size):
    if size < 1:
        with pytest.raises(ValueError, match="at least one place"):
            Pool(size)
    else:
        assert Pool(size).size == size


def test_the_shortest_secret_is_one():
    from tests.sap.test_codec import SECRET_VALUES
    from turnwire.sap.secrets import _VALUE

    starts = [value[:size] for value in SECRET_VALUES for size in range(len(value) + 1)]
    shortest = min((start for start in starts if _VALUE.search(start)), key=len)
    assert len(shortest) == SHORTEST
    assert [where for where, _ in secrets({"a": shortest}, "")] == ["/a"]
    assert list(secrets({"a": shortest[:-1]}, "")) == []


MOMENT = "2025-09-28T11:00:00"


@pytest.mark.parametrize(
    ("reported", "late"), [("10:59:59.999999", False), ("11:00:00", False), ("11:00:00.000001", True)]
)
def test_a_result_at_the_deadline_is_in_time(reported, late):
    asked = changed(TASK, "/telemetry/deadline", f"{MOMENT}Z")
    answer = changed(RESULT, "/reportedAt", f"2025-09-28T{reported}Z")
    found = sap.conformance(json.dumps(asked), json.dumps(answer)).line("deadline")
    assert bool(found.faults) is late


@pytest.mark.parametrize(
    ("now", "late"), [(f"{MOMENT}Z", False), ("2025-09-28T11:00:01Z", True), ("2025-09-28T10:59:59Z", False)]
)
def test_a_task_without_a_result_is_late_behind_its_deadline(now, late):
    """By the latest moment in the log: those of other messages, in any order."""
    asked = changed(TASK, "/telemetry/deadline", f"{MOMENT}Z")
    other = changed(changed(TASK, "/taskId", "00000000-0000-4000-8000-000000000009"), "/issuedAt", now)
    earlier = changed(changed(other, "/taskId", "00000000-0000-4000-8000-000000000008"), "/issuedAt", TASK["issuedAt"])
    for texts in ((asked, other), (asked, other, earlier), (asked, earlier, other)):
        found = sap.conformance(*map(json.dumps, texts)).line("deadline")
        assert bool([fault for fault in found.faults if asked["taskId"] in fault.text]) is late


async def posted(content: bytes, most: int) -> int:
    agent = sap.Agent("B")
    agent.capability("work.who")(lambda task, context: {"x": 1})

    async def pieces():
        for at in range(0, len(content), 100):
            yield content[at : at + 100]

    async with agent:
        transport = httpx.ASGITransport(http.app(agent, max_body=most))
        async with httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            headers = {"Content-Type": "application/json"}
            whole = await client.post("/tasks", content=content, headers=headers)
            parts = await client.post("/tasks", content=pieces(), headers=headers)
    assert whole.status_code == parts.status_code
    return whole.status_code


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_body_of_just_the_limit_is_read(more):
    content = sap.encode(task("work.who", {})).encode()
    assert asyncio.run(posted(content, len(content) + more)) == (200 if more >= 0 else 413)


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_an_answer_of_just_the_limit_is_read(more):
    one = task("work.who", {})
    text = sap.encode(sap.result_for(one, sap.Outcome("x" * 300), "B")).encode()

    async def main() -> Any:
        def answer(request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"Content-Type": "application/json"}, content=text)

        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as raw:
            return await http.Client("http://b", client=raw, max_body=len(text) + more).result(one.task_id)

    if more >= 0:
        assert asyncio.run(main()).output == "x" * 300
    else:
        with pytest.raises(BadAnswer, match="has more than"):
            asyncio.run(main())


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


def test_a_result_that_is_too_large_for_a_cache_is_not_kept():
    assert LIMITS.message > 1 << 20
    cache = sap.Cache(":memory:")
    one = task("work.who", {}, constitutionalContext__cachePolicy={"mode": "prefer"})
    answer = sap.result_for(
        one, sap.Outcome(alignment="VALID", policy_checks=[{"principle": "p", "status": "PASS"}]), "B"
    )
    kept = []
    for size in (10, LIMITS.message - 2000, LIMITS.message):
        answer.output = "x" * size
        kept.append(cache.put(one, answer) is not None)
    assert kept == [True, True, False]


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_are_told(number):
    """Of a message that was made, in each place that takes numbers."""
    asked, answer = sap.Task.from_dict(copy.deepcopy(TASK)), sap.Result.from_dict(copy.deepcopy(RESULT))
    asked.constitutional_context.pressure = {"p": number}
    answer["constitutionalEvidence"]["pressureReadings"] = {"p": number}
    for message in (asked, answer):
        assert {"not_finite", "wrong_type"} & {str(issue.reason) for issue in sap.check(message)}
        with pytest.raises(EncodeError):
            sap.encode(message)


STAMP = "2025-09-28T10:15:23Z"


@pytest.mark.parametrize("place", range(len(STAMP) + 1))
def test_moments_of_which_one_letter_is_another(place):
    """They are told where they are none, however quickly they are looked at."""
    for sign in "-:TZtz0129 /.+x\u00e9":
        for stamp in (STAMP[:place] + sign + STAMP[place + 1 :], STAMP[:place] + sign + STAMP[place:], STAMP[:place]):
            message = sap.Task.from_dict({**copy.deepcopy(TASK), "issuedAt": stamp})
            found = read_time(stamp)
            good = found is not None and found[1]
            assert ("/issuedAt" in [issue.where for issue in sap.check(message)]) is not good, stamp
