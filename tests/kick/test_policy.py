"""The table of roles, channels and types."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import raised
from tests.kick.test_envelope import seed
from turnwire.errors import DecodeError
from turnwire.kick import DEFAULT_POLICY, Policy, Row, check, decode, encode

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
    path = tmp_path / "policy.toml"
    path.write_text(TOML, "utf-8")
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
    path = tmp_path / "policy.toml"
    path.write_bytes(b"roles = ['\xff']")
    caught = raised(DecodeError, Policy.from_toml, path)
    assert (caught.text, caught.path) == ("this is not TOML: byte 10 is not UTF-8", None)
    assert (caught.reason, caught.wire) == ("bad_policy", "kick")
