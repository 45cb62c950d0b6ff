# ruff: noqa: E501  (a record of a log is one line)
"""Answers are paired with the task that they name: small logs of every wire, counted by hand."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

import turnwire
from tests.sap.documents import RESULT, TASK
from turnwire import kick, registry
from turnwire.log import stats
from turnwire.pairs import Message, Work
from turnwire.read import pairing
from turnwire.report.figures import ANSWER_COLUMNS, Answers
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
        ))
    ), (5, 3, 2, 0, 0, 0, 0, 0), (5.0, 5.0)),
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
    wire, rule, text, counted, times = LOGS[name]
    pairing = stats(text.encode()).pairings[wire, rule]
    assert tuple(getattr(pairing, count) for count in COUNTS) == counted
    seconds = pairing.to_dict()["seconds"]
    assert (seconds["min"], seconds["max"]) == times


@pytest.mark.parametrize("name", LOGS)
def test_the_report_counts_the_same(name: str) -> None:
    wire, rule, text, counted, times = LOGS[name]
    answers = Answers()
    for batch in turnwire.scan(text.encode(), columns=COLUMNS):
        answers.add(Chunk(batch))
    rows = [dict(zip(ANSWER_COLUMNS, row, strict=True)) for row in answers.rows()]
    (found,) = (row for row in rows if (row["wire"], row["rule"]) == (wire, rule))
    assert tuple(found[count] for count in COUNTS) == counted
    assert tuple(None if one is None else one / 1e6 for one in (found["min"], found["max"])) == times


def test_many_that_wait_are_answered_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [rule for wire in registry.wires().values() for rule in wire.pairs]
    kinds = sorted({kind for rule in rules for kind in (*rule.requests, *(rule.kinds or ()))})
    met = 0
    for seed in range(32):
        told = []
        for few in (0, 2, 1 << 30):
            monkeypatch.setattr(pairing, "_FEW", few)
            chance = random.Random(seed)
            several = [pairing.Pairing(rule, room=chance.choice((5, 1000))) for rule in rules]
            for time in range(120):
                sender, receiver, conversation = (chance.choice(names) for names in ("ab", "ab", "123"))
                task = Work(chance.choice("tu"), chance.random() < 0.7, chance.choice("mn"))
                work = chance.choice((None, task))
                message = Message(chance.choice(kinds), sender, receiver, conversation, None, time, work)
                for one in several:
                    one.take(message)
            told.append([one.to_dict() for one in several])
        assert told[0] == told[1] == told[2]
        met += sum(one["answered"] for one in told[0])
    assert met > 800
