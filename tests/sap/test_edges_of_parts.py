"""What agents, clients and checklists are made of, by itself, at its edges: names, rules, rows, waiting, folders."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.sap.documents import RESULT, TASK, changed
from tests.sap.scenario import task
from tests.sap.test_agent import do
from turnwire import LIMITS, sap
from turnwire.errors import BadAnswer, CallError, Unanswered, Unreachable
from turnwire.ledger import Ledger
from turnwire.sap import transcripts
from turnwire.sap.access import ANONYMOUS, LONGEST_NAME, Action, Named, Principal, authorise, principal_of
from turnwire.sap.builders import expects_ack
from turnwire.sap.calls import Caller
from turnwire.sap.codec import kind_of
from turnwire.sap.learning import Artifact, Signal, contents, essence_of
from turnwire.sap.lifecycle import Lifecycle
from turnwire.sap.objects import OUTPUT_KIND, Folder, by_reference
from turnwire.sap.transcripts import Batching
from turnwire.sap.waiting import priority_of

pytestmark = [pytest.mark.once, pytest.mark.usefixtures("quiet_logs")]


@pytest.mark.parametrize("size", [0, 1, 2, LONGEST_NAME - 1, LONGEST_NAME, LONGEST_NAME + 1])
def test_a_name_has_so_many_characters(size: int) -> None:
    for letter in ("a", "é", "\U0001f600"):
        if 0 < size <= LONGEST_NAME:
            assert principal_of(letter * size) == Principal(letter * size)
        elif size:
            with pytest.raises(ValueError, match="1 to 200 printable characters"):
                principal_of(letter * size)


@pytest.mark.parametrize("name", ["capabilities", "kinds"])
@pytest.mark.parametrize(("value", "good"), [("[]", True), ('["a"]', True), ("[1]", False), ('["a",1]', False)])
def test_rules_in_toml_have_lists_of_strings(name: str, value: str, good: bool) -> None:
    other = {"capabilities": 'kinds=["agent"]', "kinds": 'capabilities=["*"]'}[name]
    text = f'[[allow]]\nissuer="A"\n{name}={value}\n{other}\n'
    for one in (text, text.replace(f"{name}={value}", f'{name}="a"')):
        if good and one is text:
            assert len(sap.Access.from_toml(one).rules) == 1
        else:
            with pytest.raises(ValueError, match="lists of strings"):
                sap.Access.from_toml(one)


def test_who_has_ended_is_known_of_this_machine_alone() -> None:
    here, dead = transcripts._machine(), 1 << 22
    rows = {f"{here}:{dead + 1}:a": True, f"{here}:{os.getpid()}:a": False, f"elsewhere/1:{dead + 1}:a": False}
    assert {holder: transcripts._is_gone(holder) for holder in rows} == rows


def test_whoever_asks_a_ledger_and_goes_takes_nothing_from_the_others() -> None:
    async def main() -> None:
        rows = Batching(Ledger(":memory:"))
        asked = [asyncio.ensure_future(rows.do(lambda n=n: ([("k", "{}", "")], n))) for n in range(3)]  # type: ignore[misc]
        await asyncio.sleep(0)
        asked[0].cancel()
        assert await asyncio.gather(*asked[1:]) == [1, 2]
        assert await rows.do(lambda: ([], len(rows.ledger))) == 3
        rows.close()

    asyncio.run(asyncio.wait_for(main(), 20))


@pytest.mark.parametrize("error", [Unreachable, Unanswered, BadAnswer])
@pytest.mark.parametrize("retries", [0, 1, 2])
def test_what_got_no_answer_is_sent_again(
    error: type[CallError], retries: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("turnwire.sap.calls.FIRST_PAUSE", 0.0)
    tried: list[str] = []

    class Lost(Caller):
        async def _result_of(self, one: sap.Task) -> sap.Result:
            tried.append(one.task_id)
            raise error("lost")

    with pytest.raises(error):
        asyncio.run(Lost().call(do(), retries=retries))
    assert len(tried) == (1 if error is BadAnswer else 1 + retries) and len(set(tried)) == 1


@pytest.mark.parametrize("of_client", [None, "B", "C"])
@pytest.mark.parametrize("of_task", [None, "B", "C"])
def test_a_result_comes_from_whom_the_task_names_else_from_whom_the_client_names(
    of_client: str | None, of_task: str | None
) -> None:
    one = task("work.do", {}, target={"capability": "work.do"} | ({"agentId": of_task} if of_task else {}))
    result = sap.result_for(one, sap.Outcome(1), "B")
    if (of_task or of_client or "B") == "B":
        assert Caller(producer=of_client).checked(one, result) is result
    else:
        with pytest.raises(BadAnswer, match="C was asked"):
            Caller(producer=of_client).checked(one, result)


def test_a_folder_gives_what_is_in_it_alone(tmp_path: Path) -> None:
    async def main() -> None:
        one, other = Folder(tmp_path / "one"), Folder(tmp_path / "other")
        uris = [await folder.put("a.json", text) for folder, text in ((one, b"1"), (other, b"2"))]
        assert [await one.get(uris[0]), await other.get(uris[1])] == [b"1", b"2"]
        for uri in (uris[1], uris[0].replace("file:", "http:"), uris[0] + "?x", "a.json", "file:///etc/a.json"):
            with pytest.raises(ValueError, match="is not in"):
                await one.get(uri)

    asyncio.run(main())


@pytest.mark.parametrize("before", [None, [], [{"uri": "file:a"}], [{"uri": "file:a"}, {"uri": "file:b"}]])
def test_an_output_by_reference_stands_behind_the_other_artifacts(before: Any, tmp_path: Path) -> None:
    result = sap.result_for(do(), sap.Outcome(1, artifacts=before), "B")
    made = asyncio.run(by_reference(result, Folder(tmp_path)))
    *others, last = made.fields["artifacts"]
    assert others == (before or []) and last["kind"] == OUTPUT_KIND
    assert "output" in result and "output" not in made and result.fields.get("artifacts") == before


def test_how_many_results_a_task_has() -> None:
    """Those that are the same count once, whichever lifecycle follows them."""
    asked = sap.Task.from_dict(TASK)
    said = [changed(RESULT, "/status", status) for status in ("QUEUED", "QUEUED", "RUNNING", "RUNNING", "SUCCEEDED")]
    said[3]["reportedAt"] = "2025-09-28T10:29:13Z"
    for lifecycle in (Lifecycle(), Lifecycle(frozen=True)):
        lifecycle.feed(asked)
        counts = [lifecycle[asked.task_id].results]
        for one in said:
            lifecycle.feed(sap.Result.from_dict(one))
            counts.append(lifecycle[asked.task_id].results)
        assert counts == [0, 1, 1, 2, 3, 4]


def test_a_refused_task_that_is_sent_again_may_have_a_result() -> None:
    nack = sap.Nack(message_id=TASK["taskId"], correlation_id=TASK["correlationId"], reason="RATE_LIMIT: full")
    asked, answer = sap.Task.from_dict(TASK), sap.Result.from_dict(RESULT)
    assert sap.conformance(asked, nack, asked, answer)
    assert sap.conformance(asked, nack, asked, nack, asked, answer)
    for history in ((asked, nack, answer), (asked, nack, asked, nack, answer)):
        assert [fault.line for fault in sap.conformance(*history).line("status").faults] == [len(history)]
    assert sap.conformance(asked, nack, asked).line("processing").open and sap.conformance(asked, nack)


def test_who_is_blamed_stays_so_while_an_operator_says_no() -> None:
    """With a yes nobody is, and a no on what was good is about all."""

    def signal(number: int, source: str, one: int, **fields: Any) -> tuple[int, Signal]:
        told = {"status": "SUCCEEDED", "alignment": "VALID"} if source == "producer" else {}
        ids = f"00000000-0000-4000-8000-{one:012}"
        return number, Signal(source, "c", None, "f", ids, **{**told, **fields})

    pressure = {"p": 50, "q": 60}
    bad = signal(1, "producer", 1, pressure=pressure, violations=({"principle": "p"},))
    good = signal(1, "producer", 1, pressure=pressure)

    def bads(*signals: tuple[int, Signal]) -> list[int]:
        found = {kind: content for kind, content, _ in contents("c", None, signals)}
        return [found["thresholds"]["principles"][name]["bad"] for name in "pq"]

    no, yes = signal(2, "operator", 1, approval=False), signal(3, "operator", 1, approval=True)
    assert bads(bad) == [1, 0] and bads(bad, no) == [1, 0] and bads(bad, yes) == [0, 0]
    assert bads(good) == [0, 0] and bads(good, no) == [1, 1] and bads(good, no, yes) == [0, 0]
    assert bads(bad, yes, signal(4, "operator", 1, rating=1)) == [1, 1]


def test_an_older_row_that_is_aligned_is_found_behind_newer_ones_that_are_not() -> None:
    cache = sap.Cache(":memory:")
    asked = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "prefer"}))
    rows = []
    for risk in ("low", "high", "medium"):
        stored = sap.Task.from_dict(changed(asked.fields, "/constitutionalContext/riskTolerance", risk))
        rows.append(cache.put(stored, sap.Result.from_dict(RESULT)))
    found = cache.get(asked)
    assert isinstance(found, sap.Hit) and found.seq == rows[0]
    asked = sap.Task.from_dict(changed(asked.fields, "/constitutionalContext/constraints", ["another"]))
    missed = cache.get(asked)
    assert isinstance(missed, sap.Miss) and missed.reason == "unaligned"


def test_the_bytes_of_a_row_of_the_cache_are_counted_not_its_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = sap.Cache(":memory:")
    asked = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "prefer"}))
    for letter in ("x", "é", "\U0001f600"):
        answer = sap.Result.from_dict(changed(RESULT, "/output", letter * 100))
        row = cache.row(asked, answer)
        assert row is not None
        size = len(row[1].encode())
        for more in (-1, 0, 1):
            monkeypatch.setattr("turnwire.sap.cache.LIMITS", LIMITS._replace(message=size + more))
            assert (cache.row(asked, answer) is not None) is (more >= 0)
        monkeypatch.undo()


@pytest.mark.parametrize("error", [..., {}, {"code": "TIMEOUT"}, {"message": "m"}, {"code": "TIMEOUT", "message": "m"}])
def test_what_failed_says_why(error: Any) -> None:
    """Section 8: in error.message, whatever the code is."""
    answer = changed(changed(RESULT, "/status", "FAILED"), "/error", {})
    found = sap.check(sap.Result.from_dict(changed(answer, "/error", error)))
    said = error is not ... and "message" in error
    assert [str(issue.where) for issue in found] == ["/error/message"] * (not said)


def test_a_receipt_of_a_correlation_that_several_tasks_have_is_of_none() -> None:
    """Of one task's, it is of that."""
    other = changed(TASK, "/taskId", "00000000-0000-4000-8000-000000000009")
    nack = sap.Nack(message_id="m-1", correlation_id=TASK["correlationId"], reason="RATE_LIMIT: full")
    for tasks, left in (([TASK], 0), ([TASK, other], 2), ([TASK, TASK], 1)):
        history = [*map(sap.Task.from_dict, tasks), nack]
        history = [*history[:1], nack, *history[1:-1]] if tasks == [TASK, TASK] else history
        assert len(sap.conformance(*history).line("processing").open) == left


def test_a_task_has_the_correlation_of_its_results_by_value() -> None:
    for correlation, good in ((TASK["correlationId"].upper(), True), (TASK["taskId"], False)):
        lifecycle = Lifecycle(strict=False)
        lifecycle.feed(sap.Result.from_dict(RESULT))
        issues = lifecycle.feed(sap.Task.from_dict(changed(TASK, "/correlationId", correlation)))
        assert [str(issue.reason) for issue in issues] == ["wrong_correlation"] * (not good)
        assert (lifecycle[TASK["taskId"]].task is not None) is good


@pytest.mark.parametrize("given", [None, "00000000-0000-4000-8000-000000000001"])
def test_a_task_below_another_has_its_correlation(given: str | None) -> None:
    parent = sap.make_task("c", {})
    made = sap.make_task("c", {}, parent=parent, correlation_id=given)
    assert (made.parent_task_id, made.correlation_id) == (parent.task_id, given or parent.correlation_id)
    named = sap.make_task("c", {}, parent=parent.task_id, correlation_id=given)
    assert named.parent_task_id == parent.task_id and (named.correlation_id == given or given is None)
    assert named.correlation_id != parent.correlation_id and "parentTaskId" not in parent


@pytest.mark.parametrize("notes", range(4, 8))
def test_the_notes_that_come_most_are_kept(notes: int) -> None:
    told = [f"note {number}" for number in range(notes) for _ in range(number + 1)]
    checks = tuple({"principle": "p", "status": "PASS", "notes": note} for note in told)
    ids = "00000000-0000-4000-8000-000000000001"
    signals = [
        (1, Signal("producer", "c", None, "f", ids, status="SUCCEEDED", alignment="VALID", policy_checks=checks))
    ]
    found = {kind: content for kind, content, _ in contents("c", None, signals)}["checks"]["principles"]["p"]
    assert found["notes"] == [f"note {number}" for number in reversed(range(notes))][:5]


@pytest.mark.parametrize("version", [1, 2, 7])
def test_an_essence_that_was_learned_has_its_version_in_its_name(version: int) -> None:
    artifact = Artifact("essence", "c", None, version, {"leave_out": ["b", "a"]}, (), "")
    assert essence_of(artifact).name == f"payload-without:a,b/{version}"
    assert essence_of(artifact._replace(content={"leave_out": []})).name == "payload/1"


@pytest.mark.parametrize(
    "where",
    ["/replyTo/endpoint", "/constitutionalContext/references/0", "/attachments/0/uri"],
)
@pytest.mark.parametrize(("uri", "told"), [("https://u:p@h/x", True), ("https://u@h", True), ("https://h/@x", False)])
def test_credentials_in_any_uri_of_a_task_are_told(where: str, uri: str, told: bool) -> None:
    asked = changed(changed(TASK, "/attachments", [{"uri": "https://h"}]) if "attach" in where else TASK, where, uri)
    found = [str(issue.where) for issue in sap.check(sap.Task.from_dict(asked))]
    assert found == [where] * told


def test_a_capability_is_allowed_by_any_rule_that_knows_its_issuer() -> None:
    rules = sap.Access([sap.Rule("A-*", ("a.*", "b.*")), sap.Rule("A-1", ("c.*",)), sap.Rule("B", ("d.*",), ("user",))])
    for issuer, kind, allowed in (("A-1", "agent", "abc"), ("A-2", "agent", "ab"), ("B", "user", "d")):
        for letter in "abcd":
            asked = task(f"{letter}.x", {}, issuer={"agentId": issuer, "agentKind": kind})
            denial = rules.refusal(asked)
            assert (None if denial is None else str(denial[0])) == (None if letter in allowed else "FORBIDDEN")
    for issuer, kind in (("B", "agent"), ("C", "user"), ("a-1", "agent")):
        denial = rules.refusal(task("d.x", {}, issuer={"agentId": issuer, "agentKind": kind}))
        assert denial is not None and str(denial[0]) == "UNAUTHORIZED"


@pytest.mark.parametrize(
    ("reply", "expected"),
    [(..., True), ({}, True), ({"endpoint": "x:y"}, True), ({"expectAck": True}, True), ({"expectAck": False}, False)],
)
def test_an_ack_is_expected_unless_it_is_said_not_to_be(reply: Any, expected: bool) -> None:
    """Section 4.1: true by default."""
    assert expects_ack(sap.Task.from_dict(changed(TASK, "/replyTo", reply))) is expected


def test_a_hit_has_the_checks_of_its_row_else_one_that_says_when() -> None:
    asked = sap.Task.from_dict(changed(TASK, "/constitutionalContext/cachePolicy", {"mode": "prefer"}))
    for checks in (..., [], RESULT["constitutionalEvidence"]["policyChecks"]):
        cache = sap.Cache(":memory:")
        cache.put(asked, sap.Result.from_dict(changed(RESULT, "/constitutionalEvidence/policyChecks", checks)))
        found = cache.get(asked)
        assert isinstance(found, sap.Hit)
        evidence = found.result(asked, "B")["constitutionalEvidence"]
        assert evidence["alignment"] == "VALID"
        told = [check["principle"] for check in evidence["policyChecks"]]
        assert told == ([check["principle"] for check in checks] if checks not in (..., []) else ["constitution"])


@pytest.mark.parametrize(
    ("said", "hinted", "found"),
    [("low", "urgent", "low"), (None, "urgent", "urgent"), ("x", "high", "high"), (None, None, "normal")],
)
def test_what_telemetry_says_counts_before_a_hint(said: str | None, hinted: str | None, found: str) -> None:
    fields = changed(TASK, "/telemetry", {} if said is None else {"priority": said})
    hints = {} if hinted is None else {"priority": hinted}
    assert priority_of(sap.Task.from_dict(changed(fields, "/target/routingHints", hints))) == found


@pytest.mark.parametrize("status", ["ACK", "NACK", "MAYBE", 1])
def test_a_receipt_is_a_refusal_only_where_it_says_so(status: Any) -> None:
    assert kind_of({"messageId": "x", "status": status}) is (sap.Nack if status == "NACK" else sap.Ack)


@pytest.mark.parametrize(("who", "may"), [(ANONYMOUS, True), ("B", True), ("A", False), (None, False)])
def test_a_result_is_delivered_by_who_made_it(who: Named, may: bool) -> None:
    """By anybody where nobody is authenticated."""
    result = sap.decode(json.dumps(changed(RESULT, "/producer/agentId", "B")))
    assert isinstance(result, sap.Result) and (authorise(who, Action.DELIVER, result) is None) is may
