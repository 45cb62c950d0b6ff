"""Answers are paired with the task that they name: small logs of every wire, counted by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import turnwire
from tests import vectors
from tests.conftest import BACKENDS, needs_both, rounds
from tests.sap.documents import RESULT, TASK
from turnwire import registry
from turnwire._backend import core_module
from turnwire.contract import MATCHED, WORK
from turnwire.log import stats
from turnwire.pairs import ASKS, FIELDS, FINAL, TOLD, Key, PairRule, Work
from turnwire.read import pairing
from turnwire.report.build import ANSWER_COLUMNS, Answers
from turnwire.report.records import COLUMNS, Chunk

pytestmark = pytest.mark.once


@vectors.cases("pairing")
def test_logs_counted_by_hand(case: dict[str, Any]) -> None:
    """By the statistics, and by the report: what is counted, and the shortest and longest latency in seconds."""
    wire, rule, text, counted = case["wire"], case["rule"], case["text"], tuple(case["counts"].values())
    pairing = stats(text.encode()).pairings[wire, rule]
    assert tuple(pairing.counts[count] for count in case["counts"]) == counted
    seconds = pairing.to_dict()["seconds"]
    assert [seconds["min"], seconds["max"]] == case["seconds"]
    answers = Answers()
    for batch in turnwire.scan(text.encode(), columns=COLUMNS):
        answers.add(Chunk(batch))
    rows = [dict(zip(ANSWER_COLUMNS, row, strict=True)) for row in answers.rows()]
    (found,) = (row for row in rows if (row["wire"], row["rule"]) == (wire, rule))
    assert tuple(found[count] for count in case["counts"]) == counted
    assert [None if one is None else one / 1e6 for one in (found["min"], found["max"])] == case["seconds"]


# --- the core, against the rule told in a few lines -------------------------------------------------------------------


class Simply:
    """The requests of one rule in a list, oldest first, without a bound: what the core must come to."""

    def __init__(self, rule: PairRule) -> None:
        self.rule = rule
        self.open: list[dict[str, Any]] = []
        self.ended: set[Any] = set()
        self.early: dict[Any, list[dict[str, Any]]] = {}
        self.counts = dict.fromkeys(pairing.COUNTS, 0)
        self.settled: list[tuple[int, int]] = []

    def key(self, number: int, key: Key, message: dict[str, Any]) -> Any:
        if any(not message[name] for name in key.needs) or any(message[name] for name in key.without):
            return None
        return number, *((name and message[name]) or None for name in key.fields)

    def keys(self, message: dict[str, Any], named: bool = False) -> list[Any]:
        ways = enumerate(self.rule.ways)
        keys = [self.key(number, ask, message) for number, way in ways if way.names or not named for ask in way.ask]
        return [key for key in dict.fromkeys(keys) if key is not None]

    def settle(self, asked: dict[str, Any], answer: dict[str, Any], ahead: bool = False) -> None:
        self.counts["answered"] += 1
        self.ended |= set(self.keys(asked, named=True))
        if asked["time"] is None or answer["time"] is None:
            return
        if answer["time"] >= asked["time"]:
            self.settled.append((asked["tag"], answer["time"] - asked["time"]))
        else:
            self.counts["backwards"] += not ahead

    def take(self, message: dict[str, Any]) -> None:
        asks = message["kind"] in self.rule.requests and message["asks"]
        final = (message["final"] or self.rule.any_ends) and message["kind"] not in self.rule.progress
        named = None
        for number, way in enumerate(self.rule.ways):
            key = self.key(number, way.reply, message)
            if key is None or not (way.answers is None or message["kind"] in way.answers) or (way.unasking and asks):
                continue
            fits = [
                one
                for one in self.open
                if key in self.keys(one) and not (way.others and one["sender"] == message["sender"])
            ]
            if fits:
                named = None
                self.counts["progress"] += not final
                for one in (fits if self.rule.all_at_once else fits[:1]) if final else ():
                    self.open.remove(one)
                    self.settle(one, message)
                break
            named = key if way.names and named is None else named
        if named is not None and named in self.ended:
            self.counts["further"] += 1
        elif named is not None:
            self.counts["orphans"] += 1
            self.early.setdefault(named, []).append({**message, "final": final})
        if asks:
            self.counts["requests"] += 1
            early = next((self.early.pop(key) for key in self.keys(message) if key in self.early), [])
            self.counts["orphans"] -= len(early)
            self.counts["ahead"] += len(early)
            answer = next((one for one in early if one["final"]), None)
            if answer is not None:
                self.settle(message, answer, ahead=True)
            elif self.keys(message):
                self.open.append(message)
                self.ended -= set(self.keys(message))


def drawn(chance: random.Random, kinds: list[str], number: int) -> dict[str, Any]:
    names: dict[str, Any] = {name: chance.choice(("", "a", "b", "A")) for name in ("sender", "receiver")}
    return {
        "kind": chance.choice(kinds),
        **names,
        **{f"folded {name}": value.lower() for name, value in names.items()},
        "conversation": chance.choice(("", "1", "2")),
        "task": chance.choice(("", "", "t", "u")),
        "id": chance.choice(("", "1", "2", "3")),
        "final": chance.random() < 0.7,
        "asks": chance.random() < 0.8,
        "time": None if chance.random() < 0.1 else chance.randrange(1000),
        "tag": number,
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("rule", [rule for wire in registry.wires().values() for rule in wire.pairs.rules], ids=str)
def test_columns_are_paired_as_one_by_one(rule: PairRule, backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    core = core_module(backend, "log.aggregate")
    monkeypatch.setattr(pairing, "core", core)
    kinds = sorted({kind for way in rule.ways for kind in way.answers or ()} | rule.requests | {"another"})
    answered = 0
    for seed in range(rounds(4)):
        chance = random.Random(f"{rule.name} {seed}")
        messages = [drawn(chance, kinds, number) for number in range(100)]
        simple, found, settled = Simply(rule), pairing.Pairing(rule), []
        for message in messages:
            simple.take(message)
        size = chance.choice((1, 7, 100))
        for start in range(0, len(messages), size):
            some = messages[start : start + size]
            fields = {
                name: np.array([(one[name] and core.hash_of(one[name].encode())) or 0 for one in some], np.uint64)
                for name in FIELDS
            }
            work = fields.pop("task"), fields.pop("id")
            bits = np.array([FINAL * one["final"] + ASKS * one["asks"] for one in some], np.uint8)
            codes = np.array([kinds.index(one["kind"]) for one in some], np.uint8)
            times = np.array([one["time"] or 0 for one in some], np.int64)
            timed = np.array([one["time"] is not None for one in some], np.uint8)
            tags = np.array([one["tag"] for one in some], np.int64)
            only = np.full(len(some), 255, np.uint8)
            told = bits, codes, pairing._table(rule, tuple(kinds)), only, times, timed, tags
            asked, pairs = found.take(np.arange(len(some)), tuple(fields.values()), *work, *told)
            asking = [one for one in some if one["asks"] and one["kind"] in rule.requests]
            assert asked.tolist() == [one["tag"] for one in asking if one["time"] is not None]
            settled += pairs.tolist()
        counts = {**simple.counts, "waiting": simple.counts["requests"] - simple.counts["answered"]}
        assert found.counts == counts
        assert [tuple(pair) for pair in settled] == simple.settled
        answered += counts["answered"]
    assert answered > 15


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_oldest_requests_are_given_up(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    core = core_module(backend, "log.aggregate")
    monkeypatch.setattr(pairing, "core", core)
    found = pairing.Pairing(registry.wire("sap").pairs.rules[0], room=3)
    tasks = np.array([core.hash_of(b"%d" % number) for number in (*range(10), 8, 2)], np.uint64)
    none, times, bits = np.zeros(12, np.uint64), np.arange(12), np.full(12, FINAL | ASKS, np.uint8)
    kinds = np.array([0] * 10 + [1] * 2, np.uint8)
    told = bits, kinds, pairing._table(found.rule, ("Task", "Result")), bits, times, np.ones(12, np.uint8), times
    asked, settled = found.take(times, (none,) * 5, tasks, none, *told)
    assert asked.tolist() == [*range(10)] and settled.tolist() == [[8, 2]]
    names = ("requests", "answered", "given_up", "waiting", "orphans", "further")
    assert [found.counts[name] for name in names] == [10, 1, 7, 2, 1, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_long_texts_are_left_to_the_caller(backend: str) -> None:
    core = core_module(backend, "log.aggregate")
    numbers = np.full((1, 4), 9, np.uint64)
    column = np.array([0, 3, 8, 4]), np.array([3, 5, 0, 4]), -1, -1
    assert core.hashes(b"abcdefgh", b"", None, (column,), None, 4, numbers) == [(0, 1)]
    assert numbers.tolist() == [[core.hash_of(b"abc"), 0, core.hash_of(b""), core.hash_of(b"efgh")]]


# --- what records say of work, as the core tells it -----------------------------------------------------------------

BLOCKS = {
    "TASK T1": (("REQ TASK T9", "REQ\n<<<\nTASK T3\n>>>"), ("IN AT T7", "IN x")),
    "RESULT T2": (("STATUS PARTIAL", "STATUS OK"), ("DATA STATUS PARTIAL", "DATA\n<<<\nRESULT T9\n>>>", "DATA AT T7")),
    "MEM M1": (("TASK T5", "RESULT T5", "ERROR T5"), ("STATUS PARTIAL", "AT T7")),
    "ERROR E1": (("AT T7", "AT x", "AT T7x"), ("CAUSE AT T8", "CAUSE\n<<<\nAT T8\n>>>")),
}
ACTS, SLOTS = (
    ("a1", "a2", "a3", "a5", "a6"),
    (("k1", "k0z", "k0"), ('u"running"', 'u"Done"', 'u"in progress"'), ('t"x|k9|a3"', 't"a\\"|k7"'), ("p7", "g2")),
)
IDS = ("7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a", "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11")
STATUSES = ("SUCCEEDED", "FAILED", "RUNNING", "QUEUED", "CANCELLED")
CHANNELS = ("report/status", "report/error", "report/a", "query/answer", "query/context", "command/stop", "command/go")
CONTENTS = (
    "⫻task/dispatch:T-1/001",
    "⫻query/answer:x/001",
    "⫻a:b",
    "⫻a:/1",
    "⫻a: in line",
    "⫻a/b/c:d/1",
    "⫻ a:b/1",
    "text",
)
LINES = (
    *("Completed", " Completed", "Failed\t", "Failed", "Completed!", 'say "Completed"', "go on", ""),
    *("⫻b:c/1", "\u00a0Failed"),
)


def records_of(wire: str, chance: random.Random) -> Iterator[bytes]:
    for _ in range(rounds(1500)):
        if wire == "nslip":
            slots = [chance.choice(some) for some in chance.sample(SLOTS, chance.randrange(5))]
            fields = [chance.choice(ACTS), "f0", "c1", "S0", "d1", "T1", *slots]
            yield f"@{'|'.join(chance.sample(fields, len(fields)))}#".encode()
            continue
        if wire == "csp":
            block, several = chance.choice(list(BLOCKS.items()))
            fields = chance.sample([chance.choice(some) for some in several], len(several))
            head = ["CSP/1", "FROM A", "TO B", "CTX C0", f"INTENT {block.split()[0]}", "", block]
            yield "\n".join([*head, *fields, ""]).replace("\n", chance.choice(("\n", "\r\n"))).encode()
            continue
        if wire == "sap":
            task, message = (chance.choice((one, one.upper())) for one in IDS)
            receipt = {"messageId": message, "correlationId": task, "status": chance.choice(("ACK", "NACK"))}
            receipt |= {} if receipt["status"] == "ACK" else {"reason": "busy"}
            whole = {**chance.choice((TASK, RESULT)), "taskId": task}
            whole |= {"status": chance.choice(STATUSES)} if "status" in whole else {}
            members = list(chance.choice((whole, whole, receipt)).items())
            text = json.dumps(dict(chance.sample(members, len(members))))
            yield text.replace(*chance.choice((("NACK", "NAC\\u004b"), ("7fbb", "7\\u0066bb"), ("", "")))).encode()
            continue
        content = chance.choice(("\n", "\r\n")).join(
            [chance.choice(CONTENTS), *chance.choices(LINES, k=chance.randrange(3))]
        )
        value = {"id": chance.choice(("", "i", "é")), "timestamp": "", "sender": 'a"b', "receiver": "b"}
        value |= {"type": "Query", "channel": "⫻" + chance.choice(CHANNELS), "content": content}
        text = json.dumps(value, ensure_ascii=chance.random() < 0.2, indent=chance.choice((None, None, 1)))
        yield text.encode()


@needs_both
@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wire", ["nslip", "csp", "sap", "kick"])
def test_the_core_tells_work_as_the_wire_does(wire: str, named: bool) -> None:
    work = registry.wire(wire).pairs.work
    assert work is not None
    records = list(records_of(wire, random.Random(wire)))
    log = b"\n".join(records) + b"\n\n"
    log += b"".join(json.dumps({"message": record.decode()}).encode() + b"\n" for record in records)
    untold = met = 0
    names = [column.name for column in WORK]
    for batch in turnwire.scan(log, wire=wire if named else None, columns=names):
        tasks, askers, bits = (batch[name] for name in names)
        met += len(batch)
        for row, raw in enumerate(batch.raws()):
            if not bits[row] & TOLD or tasks.escaped[row]:
                untold += 1
                continue
            told = work(raw) or Work()
            expected = told.task or "", told.id or "", FINAL * told.final | ASKS * told.asks
            assert (tasks[row], askers[row], int(bits[row]) - TOLD) == expected, raw
    assert met > len(records)
    assert 0 < untold < 0.7 * met or (untold == 0 and wire in MATCHED)
