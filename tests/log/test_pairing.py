# ruff: noqa: E501  (a record of a log is one line)
"""Answers are paired with the task that they name: small logs of every wire, counted by hand."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import BACKENDS, needs_both, rounds
from tests.sap.documents import RESULT, TASK
from turnwire import kick, registry
from turnwire._backend import core_module
from turnwire.log import stats
from turnwire.pairs import FIELDS, Key, MemberWork, PairRule, Work
from turnwire.read import pairing
from turnwire.report.build import ANSWER_COLUMNS, Answers
from turnwire.report.records import COLUMNS, Chunk

pytestmark = pytest.mark.once
OTHER = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b"
COUNTS = ("requests", "answered", "waiting", "progress", "orphans", "ahead", "further", "backwards")


def stamp(second: int) -> str:
    return f"2026-01-01T00:{second // 60:02}:{second % 60:02}Z"


def nslip(second: int, act: str, source: int, target: int, more: str = "") -> str:
    return f"{stamp(second)} @a{act}|f0|c1|S{source}|d{target}|T1{more}#\n"


def csp(second: int, sender: str, receiver: str, intent: str, block: str) -> str:
    del second  # CSP/1 has no times in its messages
    return f"CSP/1\nFROM {sender}\nTO {receiver}\nCTX C0\nINTENT {intent}\n\n{block}\n\n"


def sap(second: int, **fields: Any) -> str:
    if "status" not in fields:
        return json.dumps({**TASK, **fields, "issuedAt": stamp(second)}) + "\n"
    receipt = fields["status"] in ("ACK", "NACK")
    base = {"correlationId": TASK["correlationId"]} if receipt else {**RESULT, "reportedAt": stamp(second)}
    return json.dumps({**base, **fields}) + "\n"


def envelope(second: int, channel: str, content: str, name: str, correlation: str | None) -> str:
    command = channel.startswith("command")
    ends = ("Orchestrator", "Dima") if command else ("Dima", "Orchestrator")
    types = {"command": "Command", "report": "Info", "query": "Query"}
    made = kick.Envelope(
        name, stamp(second), *ends, types[channel.partition("/")[0]], f"⫻{channel}", content, correlation
    )
    return kick.encode(made) + "\n"


def asked(second: int, sender: str, receiver: str, channel: str, content: str, name: str, correlation: str) -> str:
    kind = "Info" if channel.startswith("report") else "Query"
    made = kick.Envelope(name, stamp(second), sender, receiver, kind, f"⫻{channel}", content, correlation)
    return kick.encode(made, strict=False) + "\n"


def sstp(second: int, kind: str, actor: str, **payload: Any) -> str:
    from tests.sstp.examples import example
    from turnwire.sstp import Kind

    value = example(Kind(kind))
    value["header"] |= {"actor_id": actor, "session_id": "s"}
    value["payload"] |= payload
    return f"{stamp(second)} {json.dumps(value)}\n"


ONE, TWO, C = (f"7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c{number}" for number in ("01", "02", "0c"))
PLACE = "⫻task/dispatch:T-{}/001\ngo\n"
STATUS = "⫻report/status:T-{}/001\n{}\n"
LOGS: dict[str, tuple[str, str, str, tuple[int, ...], tuple[float | None, float | None]]] = {
    # what the log shows: wire, rule, the log, what is counted (see COUNTS), the shortest and longest latency in seconds
    "an error at one of two tasks": ("csp", "task", (
        csp(0, "A", "B", "TASK", "TASK T1\nREQ x") + csp(0, "A", "B", "TASK", "TASK T2\nREQ y")
        + csp(0, "B", "A", "ERROR", "ERROR E1\nCAUSE z\nAT T2") + csp(0, "B", "A", "RESULT", "RESULT T1\nSTATUS OK")
    ), (2, 2, 0, 0, 0, 0, 0, 0), (None, None)),
    "ahead with an earlier time, and a clock that went back": ("nslip", "ask", (
        nslip(5, "1", 1, 0, "|k1") + nslip(10, "3", 0, 1, "|k1") + nslip(20, "3", 0, 1, "|k2") + nslip(15, "1", 1, 0, "|k2")
    ), (2, 2, 0, 0, 0, 1, 0, 1), (None, None)),
    "partial, another's, ahead": ("csp", "task", (
        csp(0, "A", "B", "TASK", "TASK T1\nREQ x") + csp(0, "B", "A", "RESULT", "RESULT T1\nSTATUS PARTIAL")
        + csp(0, "B", "A", "RESULT", "RESULT T9\nSTATUS OK") + csp(0, "B", "A", "RESULT", "RESULT T3\nSTATUS OK")
        + csp(0, "A", "B", "TASK", "TASK T3\nREQ x")
    ), (2, 1, 1, 1, 1, 1, 0, 0), (None, None)),
    "lines of a heredoc are not fields": ("csp", "task", (
        csp(0, "A", "B", "TASK", "TASK T1\nREQ x")
        + csp(0, "B", "A", "RESULT", "RESULT T1\nDATA\n<<<\nSTATUS PARTIAL\nRESULT T5\n>>>\nSTATUS OK")
    ), (1, 1, 0, 0, 0, 0, 0, 0), (None, None)),
    "queued, running, done": ("sap", "task", (
        sap(0) + sap(1, status="QUEUED") + sap(2, status="RUNNING") + sap(60, status="SUCCEEDED")
        + sap(61, status="SUCCEEDED")
    ), (1, 1, 0, 2, 0, 0, 1, 0), (60.0, 60.0)),
    "two tasks of one correlation": ("sap", "task", (
        sap(0) + sap(10, taskId=OTHER) + sap(10, status="SUCCEEDED") + sap(70, taskId=OTHER.upper(), status="FAILED")
    ), (2, 2, 0, 0, 0, 0, 0, 0), (10.0, 60.0)),
    "acks, nacks, a clock gone back, an orphan": ("sap", "task", (
        sap(50) + sap(51, messageId=TASK["taskId"], status="ACK") + sap(20, status="SUCCEEDED")
        + sap(60, taskId=OTHER) + sap(61, messageId=OTHER, status="NACK") + sap(70, taskId=C, status="RUNNING")
    ), (2, 2, 0, 1, 1, 0, 0, 1), (None, None)),
    "accepted, and two tasks": ("nslip", "ask", (
        nslip(0, "3", 0, 1, "|k1") + nslip(5, "6", 1, 0, "|k1") + nslip(10, "3", 0, 1, "|k2")
        + nslip(60, "1", 1, 0, "|k1") + nslip(300, "1", 1, 0, "|k2")
    ), (2, 2, 0, 1, 0, 0, 0, 0), (60.0, 290.0)),
    "status, texts that look like slots, no task": ("nslip", "ask", (
        nslip(0, "3", 0, 1, '|k1|t"|k2"') + nslip(5, "1", 1, 0, '|t"|k1"|k1|u"in_progress"') + nslip(6, "1", 1, 0, "|k2")
        + nslip(9, "9", 1, 0, '|u"|k2"|k01') + nslip(10, "2", 0, 2) + nslip(14, "1", 2, 0)
    ), (2, 2, 0, 1, 1, 0, 0, 0), (4.0, 9.0)),
    "a question about the task, and words in capitals": ("nslip", "ask", (
        nslip(0, "3", 0, 1, "|k1") + nslip(5, "2", 1, 0, "|k1") + nslip(8, "1", 0, 1, "|k1")
        + nslip(9, "1", 1, 0, '|k1|u"RUNNING"') + nslip(30, "1", 1, 0, "|k1")
    ), (2, 2, 0, 2, 0, 0, 0, 0), (3.0, 30.0)),
    "a loop of KickLang by the id of its dispatch": ("kick", "command", (
        envelope(0, "command/dispatch", PLACE.format(1), ONE, None) + envelope(1, "report/status", STATUS.format(1, "Accepted"), TWO, ONE)
        + envelope(30, "report/artifact", "⫻report/artifact:T-1/001\na/b\n", TWO, ONE)
        + envelope(40, "report/status", STATUS.format(1, "Completed"), TWO, ONE) + envelope(50, "command/stop", PLACE.format(1), TWO, None)
    ), (1, 1, 0, 2, 0, 0, 0, 0), (40.0, 40.0)),
    "two places of one correlation": ("kick", "command", (
        envelope(0, "command/dispatch", PLACE.format(1), ONE, C) + envelope(5, "command/dispatch", PLACE.format(2), TWO, C)
        + envelope(25, "report/status", STATUS.format(2, "Failed"), OTHER, C) + envelope(90, "report/status", STATUS.format(1, "Completed"), OTHER, C)
        + envelope(91, "report/status", STATUS.format(3, "Completed"), OTHER, C)
    ), (2, 2, 0, 0, 1, 0, 0, 0), (20.0, 90.0)),
    "a delegation and its proofs": ("sstp", "delegation", (
        sstp(0, "delegation", "a", assigned_to="Bob") + sstp(9, "evidence_bundle", "bob") + sstp(12, "knowledge", "bob")
        + sstp(15, "delegation", "a", assigned_to="eve")
    ), (2, 1, 1, 1, 0, 0, 0, 0), (12.0, 12.0)),
    "names in other letters": ("sstp", "query", (
        sstp(0, "query", "a", directed_to="Ren\u00e9") + sstp(7, "knowledge", "rene\u0301")
        + sstp(10, "query", "rene\u0301", directed_to="A") + sstp(15, "knowledge", "a")
    ), (2, 2, 0, 0, 0, 0, 0, 0), (5.0, 7.0)),
    "commands that ask for nothing": ("kick", "command", "".join(
        envelope(number, f"command/{name}", f"⫻command/{name}:T-1/001\ngo\n", f"{ONE[:-1]}{number}", C)
        for number, name in enumerate(("stop", "resume", "pause", "escalate", "dispatch", "other"))
    ), (2, 0, 2, 0, 0, 0, 0, 0), (None, None)),
    "reports that end a task, and others": ("kick", "command", "".join(
        envelope(10 * number, "command/dispatch", PLACE.format(number), f"{ONE[:-1]}{number}", C)
        + envelope(10 * number + number, channel, f"⫻report/status:T-{number}/001\n{word}\n", f"{TWO[:-2]}1{number}", C)
        for number, (channel, word) in enumerate((
            ("report/status", "Accepted"), ("report/status", "Completed"), ("report/status", "Failed"),
            ("report/error", "Accepted"), ("report/reject", "Accepted"), ("report/artifact", "Completed"),
        ))
    ), (6, 4, 2, 2, 0, 0, 0, 0), (1.0, 4.0)),
    "questions that a report, an answer and no other question answer": ("kick", "query", "".join(
        asked(30 * number, "Dima", "WePlan", "query/context", "⫻query/context:x/001\nwhich?\n", f"{ONE[:-1]}{number}", f"{C[:-1]}{number}")
        + asked(30 * number + 5, "WePlan", "Dima", channel, content, f"{TWO[:-2]}1{number}", f"{C[:-1]}{number}")
        for number, (channel, content) in enumerate((
            ("query/context", "⫻query/context:x/001\nwhy?\n"), ("query/context", "⫻query/answer:x/001\nmain\n"),
            ("query/answer", "⫻query/context:x/001\nmain\n"), ("report/status", "⫻report/status:x/001\nCompleted\n"),
            ("report/status", "⫻report/status:x/001\nIn Progress\n"), ("report/artifact", "⫻report/artifact:x/001\na/b\n"),
        ))
    ), (7, 5, 2, 0, 0, 0, 0, 0), (5.0, 5.0)),
    "status words of work that goes on": ("nslip", "ask", "".join(
        nslip(10 * number, "3", 0, 1, f"|k{number}") + nslip(10 * number + number, "1", 1, 0, f'|k{number}|u"{word}"')
        for number, word in enumerate((
            "waiting", "in_progress", "queued", "running", "accepted", "blocked", "partial", "RUNNING", "done", ""
        ))
    ), (10, 2, 8, 8, 0, 0, 0, 0), (8.0, 9.0)),
    "acts that promise": ("nslip", "ask", "".join(
        nslip(20 * number, "3", 0, 1, f"|k{number}") + nslip(20 * number + number, act, 1, 0, f"|k{number}")
        for number, act in enumerate("0145678")
    ), (7, 5, 2, 2, 0, 0, 0, 0), (0.0, 6.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_logs_counted_by_hand(name: str) -> None:
    """By the statistics, and by the report."""
    wire, rule, text, counted, times = LOGS[name]
    pairing = stats(text.encode()).pairings[wire, rule]
    assert tuple(pairing.counts[count] for count in COUNTS) == counted
    seconds = pairing.to_dict()["seconds"]
    assert (seconds["min"], seconds["max"]) == times
    answers = Answers()
    for batch in turnwire.scan(text.encode(), columns=COLUMNS):
        answers.add(Chunk(batch))
    rows = [dict(zip(ANSWER_COLUMNS, row, strict=True)) for row in answers.rows()]
    (found,) = (row for row in rows if (row["wire"], row["rule"]) == (wire, rule))
    assert tuple(found[count] for count in COUNTS) == counted
    assert tuple(None if one is None else one / 1e6 for one in (found["min"], found["max"])) == times


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
@pytest.mark.parametrize("rule", [rule for wire in registry.wires().values() for rule in wire.pairs], ids=str)
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
            bits = np.array([core.FINAL * one["final"] + core.ASKS * one["asks"] for one in some], np.uint8)
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
    found = pairing.Pairing(registry.wire("sap").pairs[0], room=3)
    tasks = np.array([core.hash_of(b"%d" % number) for number in (*range(10), 8, 2)], np.uint64)
    none, times, bits = np.zeros(12, np.uint64), np.arange(12), np.full(12, core.FINAL | core.ASKS, np.uint8)
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


# --- what records say of work, as the core reads it ---------------------------------------------------------------------

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
MEMBERS = (
    (*('"taskId"', '"messageId"', '"status"') * 3, '"task\\u0049d"', '"x"', '"a\\"taskId"'),
    (
        *('"T-1"', '"x"', '"SUCCEEDED"', '"NACK"', '"RUNNING"', '"nack"', '""', "null", f'"{"A" * 64}"') * 3,
        *('"é"', '"a\\n"', '"NAC\\u004b"', f'"{"A" * 65}"', "-1.5e3", "true", "[]"),
        '{"taskId":"in","b":[{"}":"]{\\"","status":"NACK and what is longer than sixteen bytes"}],"c":1}',
    ),
    (",", ", ", "\n,\t"),
)
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
            keys, values, between = (chance.choices(some, k=chance.randrange(1, 5)) for some in MEMBERS)
            members = {json.loads(key): f"{key}:{value}" for key, value in zip(keys, values, strict=False)}
            yield f"{{{between[0].join(members.values())} }}".encode()
            continue
        content = chance.choice(("\n", "\r\n")).join(
            [chance.choice(CONTENTS), *chance.choices(LINES, k=chance.randrange(3))]
        )
        value = {"id": chance.choice(("", "i", "é")), "timestamp": "", "sender": 'a"b', "receiver": "b"}
        value |= {"type": "Query", "channel": "⫻" + chance.choice(CHANNELS), "content": content}
        text = json.dumps(value, ensure_ascii=chance.random() < 0.2, indent=chance.choice((None, None, 1)))
        yield text.encode()


@needs_both
@pytest.mark.parametrize(
    ("wire", "subjected"), [("nslip", False), ("csp", False), ("kick", False), ("kick", True), ("sap", False)]
)
def test_the_core_reads_work_as_the_wire_does(wire: str, subjected: bool) -> None:
    core = core_module("native", "log.aggregate")
    work = registry.wire(wire).work
    assert work is not None
    records = list(records_of(wire, random.Random(wire)))
    lengths = np.array([len(record) for record in records], np.int64)
    buffer = np.frombuffer(b"".join(records), np.uint8)
    tasks, ids, bits = (np.zeros(len(records), dtype) for dtype in (np.uint64, np.uint64, np.uint8))
    known = work if isinstance(work, MemberWork) else wire
    kinds = np.arange(len(records), dtype=np.uint8) % 2
    offsets = np.cumsum(lengths) - lengths
    subjects = offsets + np.array([record.find("\u2afb".encode()) for record in records])  # often that of the channel
    read = subjects if subjected else None, np.arange(len(records)), np.array([2, 3], np.uint8), kinds
    assert core.works(known, buffer, b"", offsets, lengths, *read, tasks, ids, bits)
    odd = 0
    every = core.FINAL | core.ASKS
    unanswering = (kinds == 0) & (wire in ("sap", "csp"))  # if one is no answer that ends a task
    masks = np.where(unanswering, core.ASKS, every).tolist()
    for record, mask, *found in zip(records, masks, tasks.tolist(), ids.tolist(), bits.tolist(), strict=True):
        odd += found[2] & core.ODD != 0
        if found[2] & core.ODD or ((told := work(record)) is None and wire == "sap"):  # whose search knows it is good
            continue
        told = told or Work()
        expected = [0 if one is None else core.hash_of(one.encode()) for one in (told.task, told.id)]
        assert [*found[:2], found[2] & mask] == [*expected, mask & (core.FINAL * told.final | core.ASKS * told.asks)]
    assert 0 < odd < 0.9 * len(records) or wire == "nslip"
