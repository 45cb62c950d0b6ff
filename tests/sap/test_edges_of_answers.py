"""Results on their way, at their edges: what outweighs what, who vouches for them, how they are asked for again."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from tests.sap.documents import RESULT, TASK, changed
from tests.sap.scenario import task
from tests.sap.test_agent import do, offering
from tests.sap.test_principals import KEYS, PUBLIC
from turnwire import LIMITS, sap
from turnwire.errors import BadAnswer, DecodeError, Unanswered
from turnwire.ledger import Ledger
from turnwire.sap.access import ANONYMOUS
from turnwire.sap.builders import NOBODY
from turnwire.sap.cache import without
from turnwire.sap.calls import Caller
from turnwire.sap.execution import Execution, seconds_left
from turnwire.sap.handlers import Cancelled, Overrun, Pool
from turnwire.sap.learning import Artifact, LearningLoop, from_operator
from turnwire.sap.learning import Folder as Library
from turnwire.sap.lifecycle import Lifecycle
from turnwire.sap.objects import OUTPUT_KIND, Folder, output_of, reference_of
from turnwire.sap.signing import signed_message, verify_message
from turnwire.sap.transcripts import STARTED_KIND, TASK_KIND, Claim, Known, Transcript, key_of
from turnwire.sap.transports import bus, http, mcp, nats
from turnwire.sap.transports.bus import Provider, provider_for
from turnwire.sap.vetting import vetted

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("quiet_logs")]
CHECKS = [{"principle": "honesty", "status": "PASS"}]


@pytest.mark.parametrize("budget", [None, 5, 100])
@pytest.mark.parametrize("deadline", [None, 10])
def test_the_sooner_of_two_limits_counts(budget: int | None, deadline: int | None) -> None:
    telemetry: dict[str, Any] = {} if budget is None else {"budget": {"seconds": budget}}
    if deadline is not None:
        telemetry["deadline"] = f"2026-01-01T00:00:{deadline}Z"
    limits = [one for one in (budget, deadline) if one is not None]
    found = seconds_left(do(telemetry=telemetry), datetime(2026, 1, 1, tzinfo=UTC))
    assert found == (min(limits) if limits else None)


def test_an_error_that_is_given_stands_though_the_output_is_not_constitutional() -> None:
    for error, code in ((None, "NON_CONSTITUTIONAL"), (("UNPROCESSABLE", "why"), "UNPROCESSABLE")):
        outcome = sap.Outcome(1, status="SUCCEEDED", alignment="NON_CONSTITUTIONAL", error=error)
        result = sap.result_for(do(), outcome, "B")
        assert result.error is not None and (str(result.status), result.error.code) == ("FAILED", code)


def test_what_is_to_be_done_next_is_what_the_outcome_says_else_a_review() -> None:
    async def asked(_vetter: Any, _task: Any, _result: Any) -> Any:
        return "ESCALATE"

    review = {"action": "review", "taskId": do().task_id, "capability": "work.do"}
    for given, next_actions in ((None, [review]), ([{"action": "rest"}], [{"action": "rest"}])):
        outcome = sap.Outcome(1, next_actions=given)
        one = do(taskId=review["taskId"])
        made = asyncio.run(vetted(outcome, sap.result_for(one, outcome, "B"), (print,), asked, one))  # type: ignore[arg-type]
        assert made.next_actions == next_actions


@pytest.mark.parametrize("ends", [Cancelled, Overrun])
def test_a_task_that_ends_while_it_is_vetted_is_not_vetted(ends: type[Exception]) -> None:
    async def ending(_vetter: Any, _task: Any, _result: Any) -> Any:
        raise ends

    outcome = sap.Outcome(1)
    with pytest.raises(ends):
        asyncio.run(vetted(outcome, sap.result_for(do(), outcome, "B"), (print,), ending, do()))  # type: ignore[arg-type]


def test_pauses_between_tries_are_doubled_up_to_the_longest(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    class Lost(Caller):
        async def _result_of(self, one: sap.Task) -> sap.Result:
            raise Unanswered("lost")

    monkeypatch.setattr("turnwire.sap.calls.asyncio", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr("turnwire.sap.calls.random", SimpleNamespace(random=lambda: 0.5))
    with pytest.raises(Unanswered):
        asyncio.run(Lost().call(do(), retries=8))
    assert pauses == [one * 1.25 for one in (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0)]


@pytest.mark.parametrize("producer", [None, "B"])
def test_who_made_a_result_has_signed_it(producer: str | None) -> None:
    one = do()
    result = sap.result_for(one, sap.Outcome(1), "B")
    keys = {"B": PUBLIC["A-prime"], "C": PUBLIC["M-allory"]}
    caller = Caller(producer=producer, keys=keys)
    good = signed_message(result, "B", KEYS["A-prime"])
    assert caller.checked(one, good) is good is caller.vouched(good)
    with pytest.raises(BadAnswer, match="C signed a Result of B"):
        caller.vouched(signed_message(result, "C", KEYS["M-allory"]))


@pytest.mark.parametrize("stored", [True, False])
def test_a_large_result_is_signed_as_it_leaves(stored: bool, tmp_path: Path) -> None:
    """Its output by reference, or failed."""

    async def main() -> sap.Result:
        objects = Folder(tmp_path) if stored else None
        async with offering(lambda *_: "x" * 5000, signer=KEYS["A-prime"], max_result=2000, objects=objects) as agent:
            return await agent.call(do())

    result = asyncio.run(main())
    assert (reference_of(result) is not None) is stored and ("output" in result) is False
    assert verify_message(result, {"B": PUBLIC["A-prime"]}) == "B"


def test_an_output_that_is_there_is_not_fetched() -> None:
    artifact = {"uri": "file:///x", "kind": OUTPUT_KIND, "digest": "sha256:0"}
    result = sap.result_for(do(), sap.Outcome(1, artifacts=[artifact]), "B")
    assert asyncio.run(output_of(result, None)) == 1


def test_fields_that_are_left_out_name_an_essence_in_their_order() -> None:
    names = "hgfedcba"
    assert without(names, 1).name == without(reversed(names), 1).name == "payload-without:a,b,c,d,e,f,g,h/1"


def test_what_an_operator_says_has_the_pressure_of_the_task() -> None:
    one = sap.Task.from_dict(TASK)
    assert from_operator(one, rating=5).pressure == TASK["constitutionalContext"]["pressure"]
    one = sap.Task.from_dict(changed(TASK, "/constitutionalContext/pressure", ...))
    assert from_operator(one, rating=5).pressure == {}


def test_what_is_learned_without_a_territory_belongs_to_none() -> None:
    with LearningLoop(":memory:") as loop:
        for territory in (..., "EUFM"):
            one = sap.Task.from_dict(changed(TASK, "/constitutionalContext/territory", territory))
            loop.judge(one, rating=1, note="shorter", approval=False)
        made = loop.derive()
        assert {artifact.territory for artifact in made} == {None, "EUFM"}
        assert all(loop.latest(one.kind, one.capability, one.territory) == one for one in made)


@pytest.mark.parametrize("size", [1, 59, 60, 61, 5000])
def test_the_name_of_a_file_is_bounded(size: int, tmp_path: Path) -> None:
    artifact = Artifact("checks", "c" * size, None, 1, {}, (), "sha256:0")
    name = Library.name_of(artifact)
    assert name.split("-")[1] == ("c" * size + "@").replace("@", "_").strip("_")[:60]
    Library(tmp_path).emit(artifact)
    assert [one.name for one in tmp_path.iterdir()] == [name]


def test_a_lifecycle_forgets_a_task_whatever_the_case_of_its_id() -> None:
    for write in (str.lower, str.upper):
        lifecycle = Lifecycle()
        lifecycle.feed(sap.Task.from_dict(TASK))
        lifecycle.forget(write(TASK["taskId"]))
        assert TASK["taskId"] not in lifecycle and not list(lifecycle)


def test_a_receipt_alone_answers_no_task_that_could_be_missed() -> None:
    receipt = sap.Ack(message_id="7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a")
    other = sap.Task.from_dict({**TASK, "taskId": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0c"})
    assert not sap.conformance(receipt).line("correlation").faults
    assert sap.conformance(receipt, other).line("correlation").faults


@pytest.mark.parametrize("status", ["SUCCEEDED", "PARTIAL", "FAILED"])
def test_an_output_that_was_computed_is_told_where_only_the_cache_may_answer(status: str) -> None:
    one = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "only"}))
    found = sap.conformance(one, sap.Result.from_dict({**RESULT, "status": status})).line("cache").faults
    assert [fault.text for fault in found] == ['the output was computed although the mode is "only"'] * (
        status != "FAILED"
    )


def test_limits_bound_what_is_read_in_one_go_too() -> None:
    text = sap.encode(sap.Task.from_dict(TASK))
    assert sap.decode(text, limits=LIMITS._replace(message=len(text.encode()))) == sap.decode(text)
    with pytest.raises(DecodeError, match="too_large"):
        sap.decode(text, limits=LIMITS._replace(message=len(text.encode()) - 1))


# ---------------------------------------------------------------- agents


def test_a_pool_that_was_closed_has_threads_again() -> None:
    async def main() -> None:
        pool = Pool(2)
        for _ in range(3):
            assert await pool.run(lambda: 1, seconds=5) == 1
            while not pool._idle:  # the thread says so behind its call
                await asyncio.sleep(0)
            pool.close()

    asyncio.run(asyncio.wait_for(main(), 20))


def test_who_let_go_of_a_task_has_it_no_more() -> None:
    async def main() -> None:
        ledger = Ledger(":memory:")
        transcript = Transcript(ledger)
        assert (await transcript.claim("k")).mine
        for _ in range(2):
            await transcript.let_go("k")
            assert [entry.kind for entry in ledger] == [STARTED_KIND] * 2
        again = await transcript.claim("k")
        assert (again.mine, again.attempt) == (True, 1)

    asyncio.run(main())


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_a_task_that_was_begun_before_may_have_its_result(attempt: int) -> None:
    async def main() -> str | None:
        transcript: Any = SimpleNamespace(claim=claim, known=known)
        return await Execution._claimed(Execution.__new__(Execution), SimpleNamespace(key="k"), transcript)  # type: ignore[arg-type]

    async def claim(_key: str) -> Claim:
        return Claim(True, attempt, 0.0)

    async def known(_key: str) -> Known:
        return Known(b"", "c", "text")

    assert asyncio.run(main()) == (None if attempt == 1 else "text")


def test_what_was_accepted_is_acknowledged_out_of_the_transcript() -> None:
    """By the correlation of the task."""

    async def main() -> sap.Result | sap.Ack:
        ledger, one = Ledger(":memory:"), do()
        ledger.append(TASK_KIND, sap.encode(one), key=key_of(ANONYMOUS, one.task_id))
        async with offering(lambda *_: 1, transcript=ledger) as agent:
            found = await agent.look_up(one.task_id)
        assert (found.correlation_id, isinstance(found, sap.Ack)) == (one.correlation_id, True)
        return found

    asyncio.run(main())


def test_the_same_shard_goes_to_the_same_of_two_agents_however_much_they_do() -> None:
    chosen = set()
    for busy in (0, 1):
        providers = {}
        for number in (0, 1):
            agent = SimpleNamespace(
                capabilities={"work.do": 1},
                holds=lambda *_: False,
                unfinished=int(number == busy),
                agent_id=f"agent {number}",
            )
            providers[str(number)] = Provider(agent, {})  # type: ignore[arg-type]
        found = provider_for(
            task("work.do", {}, target={"capability": "work.do", "routingHints": {"shard": "7"}}), providers
        )
        assert found is not None
        chosen.add(found.agent_id)
    assert len(chosen) == 1


def test_labels_are_those_of_the_registration() -> None:
    line, labels = bus.Bus(":memory:"), {"zone": "eu"}
    line.register(offering(lambda *_: 1), labels=labels)
    labels["zone"] = "us"
    assert [one.labels for one in line._providers.values()] == [{"zone": "eu"}]


# ---------------------------------------------------------------- transports


def test_of_headers_that_come_twice_the_first_counts() -> None:
    async def main() -> list[int]:
        agent = offering(lambda *_: 1)
        transport = httpx.ASGITransport(http.app(agent))
        async with agent, httpx.AsyncClient(transport=transport, base_url="http://t") as client:
            found = []
            for prefer in (("respond-async", "x"), ("x", "respond-async")):
                headers = [("Content-Type", "application/json"), *(("Prefer", value) for value in prefer)]
                answer = await client.post("/tasks", content=sap.encode(do()), headers=headers)
                found.append(answer.status_code)
            return found

    assert asyncio.run(asyncio.wait_for(main(), 20)) == [202, 200]


def answering(status: int, text: str, kind: str = "application/json") -> httpx.AsyncClient:
    def answer(_request: httpx.Request) -> httpx.Response:
        return httpx.Response(status, headers={"Content-Type": kind} if kind else {}, text=text)

    return httpx.AsyncClient(transport=httpx.MockTransport(answer))


@pytest.mark.parametrize("status", ["QUEUED", "RUNNING", "SUCCEEDED"])
def test_a_result_that_is_not_the_last_one_is_none_yet(status: str) -> None:
    result = sap.Result.from_dict({**RESULT, "status": status})
    client = http.Client("http://b", client=answering(200, sap.encode(result)))
    assert asyncio.run(client.result(RESULT["taskId"])) == (result if status == "SUCCEEDED" else None)


@pytest.mark.parametrize("status", [200, 202, 204, 400, 500])
def test_an_answer_without_content_is_an_ack_only_where_a_task_was_accepted(status: int) -> None:
    sent = http.Client("http://b", client=answering(status, "", "")).send(do())
    if status == 202:
        assert isinstance(asyncio.run(sent), sap.Ack)
    else:
        with pytest.raises(BadAnswer, match=f"HTTP {status}"):
            asyncio.run(sent)


def test_a_receipt_of_mcp_is_asked_for_by_the_word_true() -> None:
    async def main() -> None:
        agent = offering(lambda *_: 1)
        async with agent, mcp.Client(mcp.server(agent)) as client:
            for said in (True, 1, "true", "false", False, None):
                answer = await client._client.call_tool("work.do", {}, meta={mcp.RECEIPT: said})
                assert answer.meta is not None and (mcp.ACK in answer.meta) is (said is True), said

    asyncio.run(asyncio.wait_for(main(), 20))


def test_the_issuer_of_a_call_of_nobody_is_nobody() -> None:
    params: Any = SimpleNamespace(name="work.do", arguments={})
    for caller in (None, ANONYMOUS):
        made = mcp._task_of(sap.Agent("B"), params, caller, None, {})
        assert isinstance(made, sap.Task) and made.issuer == NOBODY


@pytest.mark.parametrize(
    ("subject", "good"),
    [("sap.replies.a", True), *((one, False) for one in ("sap.replies.", "sap.replies.a.b", "sap.replies.*", "a"))],
)
def test_a_reply_goes_to_one_name_below_replies(subject: str, good: bool) -> None:
    sent = []

    async def publish(to: str, _data: bytes, headers: Any) -> None:
        sent.append(to)

    worker = nats.Worker(sap.Agent("B"), "nats://x", queue="b")
    worker._link.connection = SimpleNamespace(publish=publish)
    going = worker._route(f"nats:{subject}", sap.Result.from_dict(RESULT))
    if good:
        asyncio.run(going)
    else:
        with pytest.raises(PermissionError):
            asyncio.run(going)
    assert sent == [subject] * good


@pytest.mark.parametrize("write", [str.lower, str.upper])
def test_a_kept_result_is_asked_for_in_either_case(write: Any) -> None:
    async def get_last_msg(_stream: str, _subject: str) -> Any:
        return SimpleNamespace(data=sap.encode(sap.Result.from_dict(RESULT)).encode())

    client = nats.Client("nats://x", queue="b")
    client._link.stream = SimpleNamespace(get_last_msg=get_last_msg)
    assert asyncio.run(client.result(write(RESULT["taskId"]))) == sap.Result.from_dict(RESULT)
