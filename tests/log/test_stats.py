"""Statistics: exact where nothing was folded, bounded in memory; numbers at their edges."""

from __future__ import annotations

import copy
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.engines import GOOD, UPSTREAM
from tests.sap.documents import TASK
from turnwire import nslip
from turnwire.log import stats
from turnwire.read.located import located

pytestmark = pytest.mark.once


def test_the_counts_are_those_of_the_messages() -> None:
    messages = [nslip.decode(line) for line in UPSTREAM.read_bytes().splitlines()]
    found = stats(str(UPSTREAM), wire="nslip")
    scan = turnwire.scan(str(UPSTREAM), wire="nslip")
    list(scan)
    assert found.counts == scan.counts
    assert dict(found.groups["kind"].counts) == Counter(("nslip", message.act.name) for message in messages)
    assert dict(found.groups["sender"].counts) == Counter(("nslip", str(message.src)) for message in messages)
    assert dict(found.groups["receiver"].counts) == Counter(("nslip", str(message.dst)) for message in messages)
    conversations = Counter(("nslip", str(message.conv_id)) for message in messages)
    assert {key: one.records for key, one in found.groups["conversation"].found.items()} == conversations
    assert (
        sum(one.bytes for one in found.groups["conversation"].found.values())
        == found.groups["wire"].total["bytes"]
        == scan.counts.record_bytes
    )
    assert found.groups["conversation"].top(1)[0][1].records == max(conversations.values())
    assert found.groups["conversation"].folded == found.groups["kind"].folded == 0


def test_damage_is_counted_by_reason(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(GOOD + b"\n@a3|f0|c$\n@a3|f0|c$\n@a3|f0\n")
    found = stats(str(tmp_path), wire="nslip")
    assert found.counts.reasons == {"bad_digit": 2, "bad_framing": 1}
    reasons = [row for row in found.rows() if row["stat"] == "reason"]
    assert reasons == [
        {"stat": "reason", "reason": "bad_digit", "rejects": 2},
        {"stat": "reason", "reason": "bad_framing", "rejects": 1},
    ]


def test_lists_say_what_they_leave_out() -> None:
    found = stats(str(UPSTREAM), wire="nslip")
    for stat in ("kind", "sender", "receiver", "conversation"):
        rows = [row for row in found.rows(2) if row["stat"] == stat]
        assert sum(row["records"] for row in rows) == 4356
        assert len(rows) == 3 or stat == "receiver"
        if len(rows) == 3:
            assert (rows[-1][stat], rows[-1]["wire"]) == (None, None)
            assert rows[-1]["others"] > 0


def test_an_empty_log() -> None:
    found = stats(b"", wire="nslip")
    (total,) = found.rows()
    assert total == {
        "stat": "total",
        **dict.fromkeys(("bytes", "record_bytes", "reject_bytes", "text_bytes", "selected_bytes"), 0),
        **dict.fromkeys(("records", "rejects", "selected"), 0),
        "first": None,
        "last": None,
    }


# --- bounded memory -------------------------------------------------------------------------------------------------


def test_many_conversations_are_folded_and_the_busy_ones_kept() -> None:
    def line(conversation: int) -> bytes:
        return nslip.encode(nslip.SlipMessage(conversation, 1, 1, 2, nslip.Act.INFORM, nslip.FrameType.TASK)).encode()

    numbers = [number for number in range(1000) for _ in range(20 if number == 500 else 1)]
    found = stats(b"\n".join(map(line, numbers)), wire="nslip", room=10)
    assert len(found.groups["conversation"].found) <= 20
    assert found.groups["conversation"].folded + sum(
        one.records for one in found.groups["conversation"].found.values()
    ) == len(numbers)
    assert found.groups["conversation"].top(1)[0][0] == ("nslip", "500")
    (rest,) = [row for row in found.rows(5) if row["stat"] == "conversation" and row["wire"] is None]
    assert rest["others"] is None, "how many they were nobody knows any more"


# --- who answers whom -----------------------------------------------------------------------------------------------


def test_real_requests_are_answered() -> None:
    found = stats(str(UPSTREAM), wire="nslip")
    (pairing,) = found.pairings.values()
    assert (pairing.requests, pairing.answered, pairing.waiting) == (1089, 1089, 0)
    assert pairing.latencies.count == 0, "these messages have no time"


# --- rejects ----------------------------------------------------------------------------------------------------------


def task(**changes: str) -> dict[str, Any]:
    document = copy.deepcopy(TASK)
    for name, value in changes.items():
        (document["telemetry"] if name == "deadline" else document)[name] = value
    return document


def test_rejects_that_look_alike_are_each_explained_by_themselves() -> None:
    """The same reason, the same names, another place; names that are written with escapes; and in any order."""
    documents = [task(issuedAt="2026-99-01T00:00:00Z"), task(deadline="2026-99-01T00:00:00Z")]
    paths = ["/issuedAt", "/telemetry/deadline"]
    for order in ((0, 1), (1, 0), (0, 1, 0, 0, 1)):
        data = "".join(f"{json.dumps(documents[number])}\n" for number in order).encode()
        assert [one.error.path for one in located(data) if one.error] == [paths[number] for number in order]
    pressure = json.dumps(task()["constitutionalContext"]["pressure"])
    line = json.dumps(task())
    lines = [line.replace(pressure, f'{{"a\\u00{code}":"x"}}') for code in ("41", "42", "41", "43")]
    found = [one.error.path for one in located("\n".join(lines).encode()) if one.error]
    assert found == [f"/constitutionalContext/pressure/a{letter}" for letter in "ABAC"]
