"""The helpers, whose messages are valid and followed by the monitor; and the table of roles, channels and types."""

from __future__ import annotations

import json
import pickle
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import put, raised
from tests.kick.test_envelope import seed
from turnwire import kick
from turnwire.errors import DecodeError, EncodeError
from turnwire.kick import DEFAULT_POLICY, EventKind, Monitor, Policy, Row, channels, check, decode, encode
from turnwire.kick.channels import EnvelopeOptions

AT = "2026-01-01T00:00:00Z"
GROUP = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


def loop(**options: Any) -> list[Any]:
    task = channels.dispatch("T-7", "WePlan", "Write the plan.\n\n- short", **options)
    return [
        task,
        channels.status(task, "Accepted"),
        channels.status(task, "In Progress", "half done"),
        channels.artifact(task, "out/plan.md"),
        channels.status(task, "Completed"),
    ]


def test_everything_built_is_clean(twin: str) -> None:
    task = channels.dispatch("T-7", "WePlan", "x")
    alert = channels.violation("SystemMonitor", "T-7", "too much", correlation_id=GROUP)
    query = channels.context("WePlan", "Dima", "memory", "what is known?")
    built = [
        *loop(),
        channels.stop(task, "no longer needed"),
        channels.resume(task),
        channels.error("WePlan", "T-7", "tool failed"),
        alert,
        channels.escalate(alert, "please decide"),
        channels.escalate(alert, "please decide", receiver="Supervisor"),
        query,
        channels.answer(query, "nothing"),
        channels.decision(channels.escalate(alert, "please decide"), "go on"),
        channels.decision(channels.escalate(alert, "please decide"), "go on", sender="Supervisor"),
    ]
    for envelope in built:
        assert check(envelope) == []
        assert decode(encode(envelope)).to_dict() == envelope.to_dict()
    assert len({envelope.id for envelope in built}) == len(built)


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: channels.dispatch("T 7", "WePlan", "x"), "bad_header"),
        (lambda: channels.escalate(channels.dispatch("T-7", "WePlan", "x"), "x"), "channel_not_allowed"),
        (lambda: channels.decision(channels.dispatch("T-7", "WePlan", "x"), "x"), "channel_not_allowed"),
        (lambda: channels.dispatch("T-7", "WePlan", "x\n⫻forged/x"), "sigil_in_body"),
        (lambda: channels.dispatch("T-7", "WePlan", "x\n"), "trailing_blank"),
        (lambda: channels.artifact(channels.dispatch("T-7", "WePlan", "x"), "out/a.md\r\n"), "trailing_blank"),
        (lambda: channels.artifact(channels.dispatch("T-7", "WePlan", "x"), "out/a\nb.md"), "mismatch"),
        (lambda: channels.artifact(channels.dispatch("T-7", "WePlan", "x"), ""), "mismatch"),
        (lambda: channels.dispatch("T-7", "Broadcast", "x"), "receiver_not_allowed"),
        (lambda: channels.dispatch("T-7", "WePlan", "x", sender="Dima"), "role_not_allowed"),
        (lambda: channels.dispatch("T-7", "WePlan", "x", id="7"), "id_not_uuid4"),
        (lambda: channels.dispatch("T-7", "WePlan", "x", timestamp="now"), "bad_timestamp"),
        (lambda: channels.status(channels.dispatch("T-7", "WePlan", "x"), "Done"), "unknown_status"),
        (lambda: channels.status(loop()[0].replace(content="⫻a\n"), "Accepted"), "bad_header"),
    ],
)  # fmt: skip
def test_refusals(call: Any, reason: str) -> None:
    assert raised(EncodeError, call).reason == reason


def test_an_option_that_is_none_is_refused() -> None:
    with pytest.raises(TypeError, match="corelation_id"):
        channels.dispatch("T-7", "WePlan", "x", corelation_id=GROUP)  # type: ignore[call-arg]


def test_all_options_of_a_channel_at_once() -> None:
    name, other = (str(uuid.UUID(int=number, version=4)) for number in (1, 2))
    policy = kick.DEFAULT_POLICY.with_rows(kick.Row("command/dispatch", "Command", ("Orchestrator",), ("Worker",)))
    given = {"id": name, "timestamp": AT, "index": "007", "policy": policy, "correlation_id": other, "trim": True}
    assert given.keys() == EnvelopeOptions.__annotations__.keys()
    made = channels.dispatch("T-1", "Worker", "do\n\n", **given)
    assert (
        made.content.endswith("\ndo\n")
        and (made.id, made.timestamp, made.correlation_id) == (name, AT, other)
        and "007" in made.content
    )
    with pytest.raises(TypeError, match="other"):
        channels.dispatch("T-1", "Worker", "do", **given, other="x")
    with pytest.raises(EncodeError, match="receiver_not_allowed"):
        channels.dispatch("T-1", "Dima", "do", policy=policy)


@pytest.mark.parametrize("group", [None, GROUP])
@pytest.mark.parametrize("receiver", ["Human", "Supervisor"])
def test_the_answer_of_a_human_is_the_decision_on_a_violation(twin: str, group: str | None, receiver: str) -> None:
    monitor = Monitor()
    task = channels.dispatch("A", "WePlan", "x", correlation_id=group)
    alert = channels.violation("SystemMonitor", "A", "too much", correlation_id=group)
    order = channels.escalate(alert, "decide", receiver=receiver)
    for envelope in (task, alert, order):
        monitor.feed(envelope)
    other = channels.decision(order, "no", sender="Dima")
    assert all(event.fault and event.task == "A" for event in monitor.feed(other))
    answer = channels.decision(order, "go on\nwith care")
    (event,) = monitor.feed(answer)
    expected = EventKind.DECIDED, "A", answer.id, alert.id, "go on"
    assert (event.kind, event.task, event.envelope_id, event.subject, event.text) == expected
    assert not event.fault and monitor.task("A").paused, "the Orchestrator says what is done"  # type: ignore[union-attr]
    found = kick.conformance(task, alert, order, answer)
    assert not [line.clause.id for line in found if line.faults]


# --- the table of roles, channels and types ---------------------------------------------------------------------------


TOML = """
roles = ["Boss", "Hand"]

[[row]]
channel = "command/audit"
type = "Command"
senders = ["Hand"]
receivers = ["Boss"]

[[row]]
channel = "⫻command/*"
type = "*"
senders = ["*", "!Hand"]
receivers = ["*"]
correlation = true
"""


def test_each_refusal_names_its_row(twin: str) -> None:
    envelope = decode(json.dumps(seed(sender="WePlan", receiver="Broadcast", type="Info")))
    issues = check(envelope)
    assert [(issue.reason, issue.where) for issue in issues] == [
        ("role_not_allowed", "/sender"),
        ("receiver_not_allowed", "/receiver"),
        ("type_channel_mismatch", "/type"),
    ]
    assert all("'command/*'" in issue.text for issue in issues)


@pytest.mark.parametrize("from_file", [False, True])
def test_toml(twin: str, from_file: bool, tmp_path: Path) -> None:
    path = put(tmp_path / "policy.toml", TOML)
    policy = Policy.from_toml(path if from_file else TOML)
    assert policy.rows[1] == Row("command/*", "*", ("*", "!Hand"), ("*",), True)
    assert policy == Policy.from_toml(policy.to_toml()) == pickle.loads(pickle.dumps(policy))
    assert policy != Policy(policy.rows, ("Boss",)) and policy != Policy(policy.rows[:1], policy.roles)
    audit = decode(json.dumps(seed(sender="Hand", receiver="Boss", channel="⫻command/audit")))
    other = decode(json.dumps(seed(sender="Hand", receiver="Boss", type="Info")))
    for _ in range(2):
        assert check(audit, policy) == []
        found = [(issue.reason, issue.where) for issue in check(other, policy)]
        assert found == [("role_not_allowed", "/sender"), ("missing_correlation_id", "/correlation_id")]
    assert check(audit) != []
    assert encode(audit, policy=policy)


def test_remembered_verdicts_still_look_at_the_correlation(twin: str) -> None:
    report = {"sender": "WePlan", "receiver": "Orchestrator", "type": "Info", "channel": "⫻report/status"}
    policy = Policy(DEFAULT_POLICY.rows)
    without = decode(json.dumps(seed(**report)))
    with_it = without.replace(correlation_id="7c9e6679-7425-40de-944b-e07fc1f90ae7")
    for _ in range(2):
        assert [issue.reason for issue in check(without, policy)] == ["missing_correlation_id"]
        assert check(with_it, policy) == []
        assert [issue.reason for issue in check(with_it.replace(correlation_id=""), policy)] == [
            "missing_correlation_id"
        ]
    assert policy.known


def test_rows_in_front(twin: str) -> None:
    policy = DEFAULT_POLICY.with_rows(Row("command/escalate", "Command", ("Orchestrator",), ("Human", "Supervisor")))
    envelope = decode(json.dumps(seed(channel="⫻command/escalate")))
    assert check(envelope) == []
    assert [issue.reason for issue in check(envelope, policy)] == ["receiver_not_allowed"]
    only = Policy((Row("command/stop", "*", ("*",), ("*",)),))
    assert [issue.reason for issue in check(envelope, only)] == ["channel_not_allowed"]


ROW = {"channel": "a/*", "type": "*", "senders": [], "receivers": []}


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ({}, "/row"),
        ({"row": []}, "/row"),
        ({"row": [1]}, "/row/0"),
        ({"row": [{}]}, "/row/0/channel"),
        *(
            ({"row": [ROW | {key: value}]}, f"/row/0/{key}")
            for key, value in [
                ("channel", "command"),
                ("channel", 7),
                ("type", "Order"),
                ("senders", "x"),
                ("receivers", [7]),
                ("correlation", 1),
                ("colour", 1),
            ]
        ),
        ({"row": [ROW], "rows": 1}, "/rows"),
        ({"row": [ROW], "roles": "x"}, "/roles"),
    ],
)
def test_bad_tables(table: dict[str, Any], path: str) -> None:
    caught = raised(DecodeError, Policy.from_dict, table)
    assert (caught.reason, caught.path) == ("bad_policy", path)


def test_bad_toml(tmp_path: Path) -> None:
    with pytest.raises(DecodeError, match="this is not TOML: Invalid value") as caught:
        Policy.from_toml("row = [")
    assert caught.value.path is None
    path = put(tmp_path / "policy.toml", b"roles = ['\xff']")
    caught = raised(DecodeError, Policy.from_toml, path)
    assert (caught.text, caught.path) == ("this is not TOML: byte 10 is not UTF-8", None)
    assert (caught.reason, caught.wire) == ("bad_policy", "kick")
