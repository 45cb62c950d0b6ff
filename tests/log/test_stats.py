"""What logs are made of: exact where nothing was folded, bounded in memory, answers paired as the table says."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import turnwire
from tests.log.engines import GOOD, UPSTREAM
from turnwire import nslip, registry
from turnwire.log import stats
from turnwire.pairs import Message
from turnwire.read.pairing import Latencies, Pairing
from turnwire.read.stats import LONGEST, Tally

pytestmark = pytest.mark.once


def test_the_counts_are_those_of_the_messages() -> None:
    messages = [nslip.decode(line) for line in UPSTREAM.read_bytes().splitlines()]
    found = stats(str(UPSTREAM), wire="nslip")
    scan = turnwire.scan(str(UPSTREAM), wire="nslip")
    list(scan)
    assert found.counts == scan.counts
    assert dict(found.kinds.counts) == Counter(("nslip", message.act.name) for message in messages)
    assert dict(found.senders.counts) == Counter(("nslip", str(message.src)) for message in messages)
    assert dict(found.receivers.counts) == Counter(("nslip", str(message.dst)) for message in messages)
    conversations = Counter(("nslip", str(message.conv_id)) for message in messages)
    assert {key: one.records for key, one in found.conversations.items()} == conversations
    assert sum(one.bytes for one in found.conversations.values()) == found.wires["nslip"] == scan.counts.records
    assert found.busiest(1)[0][1].records == max(conversations.values())
    assert found.folded == found.kinds.folded == 0


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
        **dict.fromkeys(("bytes", "record_bytes", "reject_bytes", "text_bytes", "wanted_bytes"), 0),
        **dict.fromkeys(("records", "rejects", "wanted"), 0),
        "first": None,
        "last": None,
    }


# --- bounded memory -------------------------------------------------------------------------------------------------


def test_many_conversations_are_folded_and_the_busy_ones_kept() -> None:
    def line(conversation: int) -> bytes:
        return nslip.encode(nslip.SlipMessage(conversation, 1, 1, 2, nslip.Act.INFORM, nslip.FrameType.TASK)).encode()

    numbers = [number for number in range(1000) for _ in range(20 if number == 500 else 1)]
    found = stats(b"\n".join(map(line, numbers)), wire="nslip", room=10)
    assert len(found.conversations) <= 20
    assert found.folded + sum(one.records for one in found.conversations.values()) == len(numbers)
    assert found.busiest(1)[0][0] == ("nslip", "500")
    (rest,) = [row for row in found.rows(5) if row["stat"] == "conversation" and row["wire"] is None]
    assert rest["others"] is None, "how many they were nobody knows any more"


@given(st.lists(st.integers(0, 40)), st.integers(1, 10))
def test_a_tally_never_counts_too_much_and_loses_no_record(values: list[int], room: int) -> None:
    tally = Tally(room)
    for value in values:
        tally.update([value])
        assert len(tally.counts) <= 2 * room
    exact = Counter(values)
    assert all(count <= exact[value] for value, count in tally.counts.items())
    assert tally.counts.total() + tally.folded == len(values)
    if len(exact) <= 2 * room:
        assert tally.counts == exact and tally.folded == 0


def test_long_names_are_cut() -> None:
    tag = "x" * 5000
    record = b'@a3|f0|c1|S0|d1|T1|t"%b"#' % tag.encode()
    found = stats(record, wire="nslip")
    (pairing,) = found.pairings.values()
    (request,) = pairing._order
    assert request.message.subject == "x" * LONGEST + "…"


# --- who answers whom -----------------------------------------------------------------------------------------------

M = Message
REPORT, COMMAND = "⫻report/status", "⫻command/dispatch"

# wire, rule, messages, then (requests, answered, waiting)
PAIRED = [
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0), M("INFORM", "2", "1", "c", None, 5)], (1, 1, 0)),
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0), M("INFORM", "2", "1", "d", None, 5)], (1, 0, 1)),
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0), M("INFORM", "2", "3", "c", None, 5)], (1, 0, 1)),
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0), M("INFORM", "1", "2", "c", None, 5)], (1, 0, 1)),
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0)] * 3 + [M("ACCEPT", "2", "1", "c", None, 5)], (3, 3, 0)),
    ("nslip", "ask", [M("ASK", "1", "2", "c", None, 0), M("ASK", "2", "1", "c", None, 5)], (2, 1, 1)),
    ("nslip", "ask", [M("ASK", "1", "1", "c", None, 0), M("ASK", "1", "1", "c", None, 5)], (2, 1, 1)),
    ("nslip", "ask", [M("INFORM", "1", "2", "c", None, 0), M("INFORM", "2", "1", "c", None, 5)], (0, 0, 0)),
    ("csp", "task", [M("TASK", "A", "B", "C0", "T1", 0), M("RESULT", "B", "A", "C1", "T1", 5)], (1, 1, 0)),
    ("csp", "task", [M("TASK", "A", "B", "C0", "T1", 0), M("RESULT", "B", "A", "C0", "T2", 5)], (1, 0, 1)),
    ("csp", "task", [M("TASK", "A", "B", "C0", "T1", 0), M("ERROR", "B", "A", "C0", "E1", 5)], (1, 1, 0)),
    ("csp", "task", [M("TASK", "A", "B", "C0", "T1", 0)] * 2 + [M("ERROR", "B", "A", "C0", "E1", 5)], (2, 1, 1)),
    ("sstp", "query", [M("query", "a", "b", "s", "?", 0), M("knowledge", "b", None, "s", "!", 5)], (1, 1, 0)),
    ("sstp", "query", [M("query", "a", "b", "s", "?", 0), M("knowledge", "c", None, "s", "!", 5)], (1, 0, 1)),
    ("sstp", "query", [M("query", "a", "Bob", "s", "?", 0), M("knowledge", "bob", None, "s", "!", 5)], (1, 1, 0)),
    ("sstp", "query", [M("query", "a", None, "s", "?", 0), M("knowledge", "c", None, "s", "!", 5)], (1, 1, 0)),
    ("sstp", "query", [M("query", "a", None, "s", "?", 0), M("knowledge", "a", None, "s", "!", 5)], (1, 0, 1)),
    ("sstp", "query", [M("query", "a", "b", None, "?", 0), M("knowledge", "b", None, None, "!", 5)], (1, 1, 0)),
    ("sap", "task", [M("Task", "a", None, "k", "plan", 0), M("Result", "b", None, "k", None, 5)], (1, 1, 0)),
    ("sap", "task", [M("Task", "a", None, "k", "plan", 0), M("Ack", "b", None, "k", None, 5)], (1, 0, 1)),
    ("sap", "task", [M("Task", "a", None, None, "plan", 0), M("Result", "b", None, None, None, 5)], (1, 0, 1)),
    ("kick", "command", [M("Command", "O", "D", "k", COMMAND, 0), M("Info", "D", "O", "k", REPORT, 5)], (1, 1, 0)),
    ("kick", "command", [M("Command", "O", "D", "k", COMMAND, 0), M("Info", "D", "O", "k", "⫻query/x", 5)], (1, 0, 1)),
    ("kick", "query", [M("Query", "D", "P", "k", "⫻query/x", 0), M("Info", "P", "D", "k", "⫻query/x", 5)], (1, 1, 0)),
    ("kick", "query", [M("Query", "D", "P", "k", "⫻query/x", 0), M("Query", "P", "D", "k", "⫻query/x", 5)], (2, 0, 2)),
]


@pytest.mark.parametrize(("wire", "name", "messages", "counted"), PAIRED)
def test_who_answers_whom(wire: str, name: str, messages: list[Message], counted: tuple[int, int, int]) -> None:
    (rule,) = (rule for rule in registry.wire(wire).pairs if rule.name == name)
    pairing = Pairing(rule)
    for message in messages:
        pairing.take(message)
    assert (pairing.requests, pairing.answered, pairing.waiting) == counted
    assert pairing.latencies.to_dict()["max"] == (5e-6 if counted[1] else None)


def test_every_wire_has_its_rules() -> None:
    assert all(wire.pairs for wire in registry.wires().values())


def test_real_requests_are_answered() -> None:
    found = stats(str(UPSTREAM), wire="nslip")
    (pairing,) = found.pairings.values()
    assert (pairing.requests, pairing.answered, pairing.waiting) == (1089, 1089, 0)
    assert pairing.latencies.count == 0, "these messages have no time"


def test_the_oldest_requests_are_given_up() -> None:
    pairing = Pairing(registry.wire("sap").pairs[0], room=3)
    for number in range(10):
        pairing.take(M("Task", "a", None, str(number), None, number))
    pairing.take(M("Result", "b", None, "8", None, 1008))
    pairing.take(M("Result", "b", None, "2", None, 2000))
    assert (pairing.requests, pairing.answered, pairing.given_up, pairing.waiting) == (10, 1, 7, 2)
    assert sum(map(len, pairing._waiting)) == 2


def test_an_answer_before_its_request_tells_no_latency() -> None:
    pairing = Pairing(registry.wire("sap").pairs[0])
    pairing.take(M("Task", "a", None, "k", None, 10))
    pairing.take(M("Result", "b", None, "k", None, 9))
    assert (pairing.answered, pairing.backwards, pairing.latencies.count) == (1, 1, 0)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=200))
def test_quantiles_are_at_most_nine_percent_too_high(values: list[int]) -> None:
    latencies = Latencies()
    for value in random.Random(1).sample(values, len(values)):
        latencies.add(value)
    ordered = sorted(values)
    for share in (0.01, 0.5, 0.9, 0.99, 1.0):
        exact = ordered[max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1)]
        told = latencies.quantile(share)
        assert told is not None and exact - 1 <= told <= exact * 1.0906 + 1
    seconds = latencies.to_dict()
    assert (seconds["min"], seconds["max"], seconds["count"]) == (ordered[0] / 1e6, ordered[-1] / 1e6, len(values))
