"""Statistics: exact where nothing was folded, bounded in memory; numbers at their edges."""

from __future__ import annotations

import copy
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as command
from tests.conftest import put
from tests.log.engines import GOOD, UPSTREAM
from tests.sap.documents import TASK
from turnwire import nslip
from turnwire.log import group_by, stats
from turnwire.read.grouping import BY
from turnwire.read.located import located
from turnwire.tokens import load

pytestmark = pytest.mark.once


def test_the_counts_are_those_of_the_messages() -> None:
    messages = [nslip.decode(line) for line in UPSTREAM.read_bytes().splitlines()]
    found = stats(str(UPSTREAM), wire="nslip")
    scan = turnwire.scan(str(UPSTREAM), wire="nslip")
    list(scan)
    assert found.counts == scan.counts
    conversations = Counter(str(message.conv_id) for message in messages)
    for by, values in (
        ("kind", Counter(message.act.name for message in messages)),
        ("sender", Counter(str(message.src) for message in messages)),
        ("receiver", Counter(str(message.dst) for message in messages)),
        ("conversation", conversations),
    ):
        assert {value: one.records for (_, value), one in found.groups[by].found.items()} == values
    assert (
        sum(one.record_bytes for one in found.groups["conversation"].found.values())
        == found.groups["wire"].total["record_bytes"]
        == scan.counts.record_bytes
    )
    assert found.groups["conversation"].top(1)[0][1].records == max(conversations.values())
    assert found.groups["conversation"].folded == found.groups["kind"].folded == 0


def test_bytes_of_interleaved_records_are_their_own() -> None:
    """Lines of two services stand between those of each other."""
    message = ["CSP/1", "FROM A", "TO B", "CTX C0", "INTENT MEM", "", "MEM M", "KEY v"]
    lines = [f"{name} | {line}\n" for line in message for name in ("one", "two")]
    found = stats("".join(lines).encode(), wire="csp")
    assert found.counts.records == 2
    assert found.groups["sender"].found["csp", "A"].record_bytes == found.counts.record_bytes
    assert sum(row["record_bytes"] for row in found.rows() if row["stat"] == "wire") == found.counts.record_bytes


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


# --- records added up by a value of theirs, against a plain loop over the messages ------------------------------------


SSTP = json.dumps(
    {
        "kind": "query",
        "header": {"kind": "query", "actor_id": "a", "schema_id": "ioc.query.v0", "logical_clock": 1},
        "payload": {"question": "q"},
        "model": "m-1",
    }
)


def line(conversation: int, second: int, act: nslip.Act, src: int = 1, dst: int = 2, day: int = 1) -> str:
    message = nslip.SlipMessage(conversation, second, src, dst, act, nslip.FrameType.TASK)
    return f"2026-11-{day:02}T10:00:{second:02}Z {nslip.encode(message)}\n"


LOG = "".join(
    line(number % 7, number % 60, nslip.Act(number % 11), number % 3, number % 4, 1 + number // 60)
    for number in range(240)
)


def records(data: str) -> list[dict[str, Any]]:
    found = []
    for batch in turnwire.scan(data.encode()):
        days = batch["time"].view("datetime64[us]").astype("datetime64[D]").astype(str)
        for row in range(len(batch)):
            one = {name: batch[name][row] for name in ("wire", "kind", "sender", "receiver", "conversation")}
            one["day"] = str(days[row]) if batch.valid("time")[row] else None
            found.append({**one, "record_bytes": int(batch["length"][row]), "raw": bytes(batch.raw(row)).decode()})
    return found


@pytest.mark.parametrize("by", [name for name in BY if name not in ("model", "tool")])
@pytest.mark.parametrize("batch_bytes", [300, 1 << 20])
def test_sums_are_those_of_a_loop(by: str, batch_bytes: int) -> None:
    counter = load("o200k_base")
    data = LOG + SSTP + "\n"
    expected: dict[Any, list[int]] = defaultdict(lambda: [0, 0, 0])
    for one in records(data):
        wire = () if by in ("wire", "day") else (one["wire"],)
        key = None if one[by] is None else (*wire, one[by])
        for place, amount in enumerate((1, one["record_bytes"], counter.count(one["raw"]))):
            expected[key][place] += amount
    found = group_by(data.encode(), by, tokenizer=counter, batch_bytes=batch_bytes)
    rows = found.rows()
    for row in rows:
        key = None if "without" in row else tuple(row[name] for name in ("wire", by)[by in ("wire", "day") :])
        assert [row[name] for name in ("records", "record_bytes", "tokens")] == expected.pop(key)
    assert not expected
    tokens = [row["tokens"] for row in rows if "without" not in row]
    assert tokens == sorted(tokens, reverse=True) and found.counts.records == 241


def test_times_and_answers_of_each_value() -> None:
    data = "".join(
        [
            line(1, 0, nslip.Act.ASK, 1, 2),
            line(1, 4, nslip.Act.INFORM, 2, 1),
            line(2, 10, nslip.Act.ASK, 3, 2),
            line(2, 12, nslip.Act.INFORM, 2, 3),
            line(2, 20, nslip.Act.ASK, 3, 2),
            line(2, 50, nslip.Act.INFORM, 2, 3),
        ]
    ).encode()
    rows = {row["conversation"]: row for row in group_by(data, "conversation").rows()}
    assert [(rows[name]["answers"], rows[name]["first"], rows[name]["last"]) for name in ("1", "2")] == [
        (1, "2026-11-01T10:00:00.000000Z", "2026-11-01T10:00:04.000000Z"),
        (2, "2026-11-01T10:00:10.000000Z", "2026-11-01T10:00:50.000000Z"),
    ]
    assert (rows["1"]["p50"], rows["1"]["p95"]) == (4.0, 4.0)
    assert rows["2"]["p50"] == pytest.approx(2.0, rel=0.1) and rows["2"]["p95"] == 30.0
    by_sender = {row["sender"]: row["answers"] for row in group_by(data, "sender").rows()}
    assert by_sender == {"1": 1, "2": 0, "3": 2}, "of those who asked"
    assert [row["answers"] for row in group_by(data, "day").rows()] == [3]
    assert [row["answers"] for row in group_by(data, "wire").rows()] == [3]


def test_models_are_what_json_says() -> None:
    data = f"{SSTP}\n{SSTP.replace('m-1', 'm-2')}\n{SSTP}\n{LOG}".encode()
    rows = [(row["model"], row["records"]) for row in group_by(data, "model").rows()]
    assert rows == [("m-1", 2), ("m-2", 1), (None, 240)]


def test_what_is_rare_is_folded() -> None:
    data = "".join(line(number, 0, nslip.Act.INFORM) for number in range(500)) + line(3, 1, nslip.Act.INFORM) * 30
    found = group_by(data.encode(), "conversation", room=10, batch_bytes=500)
    assert len(found.groups.found) <= 20 and found.groups.top(1)[0][1].records == 31
    *rows, rest = found.rows(2)
    assert len(rows) == 2 and rest["conversation"] is None and rest["others"] is None
    assert sum(row["records"] for row in (*rows, rest)) == 530


def test_names_that_there_are_not() -> None:
    with pytest.raises(turnwire.errors.UnknownName, match="conversation"):
        group_by(b"", "converation")
    assert group_by(b"", "day").rows() == []


@pytest.mark.parametrize("by", [name for name in BY if name != "tool"])
def test_the_commands(by: str, tmp_path: Any) -> None:
    path = put(tmp_path / "a.log", LOG + SSTP + "\n")
    done = command("stats", path, "--by", by, "--top", "2", "--json")
    rows = [json.loads(row) for row in done.out.splitlines()]
    assert done.code == 0 and rows == group_by(path, by).rows(2)
    counted = command("tokens", path, "--by", by, "--top", "2", "--json")
    expected = group_by(path, by, tokenizer="o200k_base").rows(2)
    assert [json.loads(row) for row in counted.out.splitlines()] == [
        {"tokenizer": "o200k_base", **row} for row in expected
    ]
    for name in ("stats", "tokens"):
        shown = command(name, path, "--by", by, "--top", "2").out.decode()
        assert by in shown.splitlines()[0]
        for word, mark in (("(others)", "others"), ("(none)", "without")):
            assert (word in shown) == any(mark in row for row in rows)
    assert command("tokens", path, "--by", by, "--max", "3").code == 1


def test_tokens_of_each_value_have_a_price(tmp_path: Any) -> None:
    path = put(tmp_path / "a.log", LOG)
    rows = [
        json.loads(row)
        for row in command("tokens", path, "--by", "sender", "--price", "2.5", "--json").out.splitlines()
    ]
    assert len(rows) == 3 and all(row["cost"] == pytest.approx(row["tokens"] * 2.5 / 1e6, abs=1e-6) for row in rows)
    assert "cost" in command("tokens", path, "--by", "sender", "--price", "2.5").out.decode().splitlines()[0]
    assert command("tokens", path, "--by", "sender", "--price", "2.5", "--advise").code == 2
