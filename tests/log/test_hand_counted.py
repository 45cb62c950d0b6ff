"""Small logs whose requests and answers were counted by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.convert.dialogues import made_id
from tests.sap.documents import RESULT, TASK
from tests.sstp.examples import example
from turnwire import sstp
from turnwire.log import stats


def at(second: int) -> str:
    return f"2026-01-15T{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}Z"


def task(number: int, second: int) -> str:
    kept = {name: value for name, value in TASK.items() if name not in ("telemetry", "attachments")}
    values = {"taskId": made_id(number), "correlationId": made_id(9), "issuedAt": at(second)}
    return json.dumps({**kept, **values})


def result(number: int, second: int, status: str) -> str:
    values = {"taskId": made_id(number), "correlationId": made_id(9), "reportedAt": at(second), "status": status}
    error = {"error": {"code": "INTERNAL", "message": "it broke"}} if status == "FAILED" else {}
    return json.dumps({**RESULT, **values, **error})


def receipt(number: int, status: str) -> str:
    return json.dumps({"messageId": made_id(number), "correlationId": made_id(9), "status": status, "reason": "so"})


def sent(number: int, second: int, channel: str, head: str, ends: str, correlation: int = 0) -> str:
    sender, receiver = ends.split()
    kind = {"command": "Command", "report": "Info", "query": "Query"}[channel.partition("/")[0]]
    values = {"id": made_id(number), "timestamp": at(second), "sender": sender, "receiver": receiver, "type": kind}
    more = {"correlation_id": made_id(correlation)} if correlation else {}
    return json.dumps({**values, "channel": f"⫻{channel}", "content": f"⫻{head}\n", **more}, ensure_ascii=False)


def ordered(number: int, second: int, name: str) -> str:
    return sent(number, second, "command/dispatch", f"task/dispatch:{name}/001\nx", "Orchestrator WePlan")


def told(number: int, second: int, name: str, word: str, correlation: int) -> str:
    head = f"report/status:{name}/001\n{word}"
    return sent(number, second, "report/status", head, "WePlan Orchestrator", correlation)


def said(second: int, act: str, source: int, target: int, name: str, status: str = "", conversation: int = 5) -> str:
    more = f'|u"{status}"' if status else ""
    return f"{at(second)} @a{act}|f0|c{conversation}|S{source}|d{target}|T1|k{name}{more}#"


def block(intent: str, text: str) -> str:
    ends = "A\nTO B" if intent == "TASK" else "B\nTO A"
    return f"CSP/1\nFROM {ends}\nCTX C0\nINTENT {intent}\n\n{text}\n"


def spoken(kind: str, actor: str, clock: int, **payload: Any) -> str:
    value = example(sstp.Kind(kind))
    value["header"] |= {"actor_id": actor, "session_id": "s", "logical_clock": clock}
    value["payload"] |= {"directed_to": "bob"} if kind == "query" else {}
    value["payload"] |= {"assigned_to": "bob"} if kind == "delegation" else {}
    value["payload"] |= payload
    return json.dumps(value)


def unsaid(kind: str, actor: str, clock: int) -> str:
    value = json.loads(spoken(kind, actor, clock))
    del value["header"]["session_id"]
    return json.dumps(value)


NAMES = ("requests", "answered", "waiting", "progress", "orphans", "ahead", "further", "backwards")
# rule, lines, then what NAMES count, and the seconds that answers took
LOGS: dict[str, tuple[str, list[str], tuple[int, ...], list[int]]] = {
    "progress is no answer": (
        "task",
        [task(1, 0), result(1, 1, "QUEUED"), result(1, 2, "RUNNING"), result(1, 60, "SUCCEEDED")],
        (1, 1, 0, 2, 0, 0, 0, 0),
        [60],
    ),
    "two tasks of one correlation, answered crosswise": (
        "task",
        [task(1, 0), task(2, 5), result(2, 15, "SUCCEEDED"), result(1, 60, "FAILED")],
        (2, 2, 0, 0, 0, 0, 0, 0),
        [10, 60],
    ),
    "a nack ends, an ack does not, a stray result": (
        "task",
        [task(1, 0), receipt(1, "ACK"), task(2, 1), receipt(2, "NACK"), result(7, 9, "SUCCEEDED")],
        (2, 1, 1, 1, 1, 0, 0, 0),
        [],
    ),
    "an answer ahead of its request, and a further one": (
        "task",
        [result(1, 5, "SUCCEEDED"), task(1, 0), result(1, 7, "SUCCEEDED")],
        (1, 1, 0, 0, 0, 1, 1, 0),
        [5],
    ),
    "a clock that went back": ("task", [task(1, 30), result(1, 10, "SUCCEEDED")], (1, 1, 0, 0, 0, 0, 0, 1), []),
    "ids in capitals": ("task", [task(11, 0), result(11, 4, "CANCELLED").replace(made_id(11), made_id(11).upper())],
                        (1, 1, 0, 0, 0, 0, 0, 0), [4]),
    "partial and escalated are ends": (
        "task",
        [task(1, 0), task(2, 0), task(3, 0), result(1, 3, "PARTIAL"), result(2, 6, "ESCALATED")],
        (3, 2, 1, 0, 0, 0, 0, 0),
        [3, 6],
    ),
    "two requests, one accepted": (
        "ask",
        [said(0, "3", 1, 2, "1"), said(5, "6", 2, 1, "1"), said(10, "3", 1, 2, "2"), said(60, "1", 2, 1, "1", "done"),
         said(300, "1", 2, 1, "2", "done")],
        (2, 2, 0, 1, 0, 0, 0, 0),
        [60, 290],
    ),
    "a question about the work": (
        "ask",
        [said(0, "3", 1, 2, "1"), said(2, "2", 2, 1, "1"), said(3, "1", 1, 2, "1"), said(9, "1", 2, 1, "1", "done")],
        (2, 2, 0, 1, 0, 0, 0, 0),
        [1, 9],
    ),
    "a refusal, an error, a stray answer": (
        "ask",
        [said(0, "3", 1, 2, "1"), said(1, "3", 1, 2, "2"), said(4, "7", 2, 1, "1"), said(6, "9", 2, 1, "2"),
         said(7, "1", 2, 1, "5", "done")],
        (2, 2, 0, 0, 1, 0, 0, 0),
        [4, 5],
    ),
    "work that goes on": (
        "ask",
        [said(0, "3", 1, 2, "1"), said(1, "1", 2, 1, "1", "in_progress"), said(2, "1", 2, 1, "1", "in_progress")],
        (1, 0, 1, 2, 0, 0, 0, 0),
        [],
    ),
    "one task number in two conversations": (
        "ask",
        [said(0, "3", 1, 2, "1"), said(1, "3", 1, 2, "1", "", 6), said(4, "1", 2, 1, "1", "done", 6)],
        (2, 1, 1, 0, 0, 0, 0, 0),
        [3],
    ),
    "an error at a task": (
        "task",
        [block("TASK", "TASK T1\nREQ x"), block("TASK", "TASK T2\nREQ x"), block("ERROR", "ERROR E1\nAT T2\nCAUSE x"),
         block("RESULT", "RESULT T1\nSTATUS OK")],
        (2, 2, 0, 0, 0, 0, 0, 0),
        [],
    ),
    "partial, then failed": (
        "task",
        [block("TASK", "TASK T1\nREQ x"), block("RESULT", "RESULT T1\nSTATUS PARTIAL"),
         block("RESULT", "RESULT T1\nSTATUS FAIL"), block("RESULT", "RESULT T9\nSTATUS OK")],
        (1, 1, 0, 1, 1, 0, 0, 0),
        [],
    ),
    "a result ahead of its task": (
        "task",
        [block("RESULT", "RESULT T1\nSTATUS OK"), block("TASK", "TASK T1\nREQ x"), block("TASK", "TASK T2\nREQ x")],
        (2, 1, 1, 0, 0, 1, 0, 0),
        [],
    ),
    "two dispatches": (
        "command",
        [ordered(1, 0, "T-1"), ordered(2, 5, "T-2"), told(3, 6, "T-2", "Accepted", 2),
         told(4, 10, "T-1", "Accepted", 1),
         told(5, 20, "T-1", "In Progress", 1), told(6, 65, "T-2", "Completed", 2)],
        (2, 1, 1, 3, 0, 0, 0, 0),
        [60],
    ),
    "a stop asks for nothing": (
        "command",
        [ordered(1, 0, "T-1"), sent(2, 1, "command/stop", "task/stop:T-1/001\nx", "Orchestrator WePlan", 1),
         told(3, 9, "T-1", "Failed", 1), told(4, 10, "T-8", "Completed", 77)],
        (1, 1, 0, 0, 1, 0, 0, 0),
        [9],
    ),
    "an answer on a channel of questions": (
        "query",
        [sent(1, 0, "query/context", "query/context:m/001\nq", "WePlan Dima"),
         sent(2, 8, "query/answer", "query/answer:m/001\na", "Dima WePlan", 1),
         sent(3, 9, "query/context", "query/context:m/001\nq", "Dima WePlan", 1)],
        (2, 1, 1, 0, 0, 0, 0, 0),
        [8],
    ),
    "evidence is progress": (
        "delegation",
        [spoken("delegation", "ada", 1), spoken("evidence_bundle", "bob", 1), spoken("knowledge", "bob", 2),
         spoken("query", "ada", 2), spoken("delegation", "ada", 3)],
        (2, 1, 1, 1, 0, 0, 0, 0),
        [],
    ),
    "names without case": (
        "query",
        [spoken("query", "ada", 1, directed_to="BOB"), spoken("knowledge", "bob", 1),
         spoken("query", "ada", 2, directed_to="carl"), spoken("knowledge", "bob", 2)],
        (2, 1, 1, 0, 0, 0, 0, 0),
        [],
    ),
    "knowledge without a session, as the template has it": (
        "query",
        [spoken("query", "ada", 1), unsaid("knowledge", "eve", 1), unsaid("knowledge", "bob", 1),
         spoken("query", "ada", 2, directed_to="eve"), unsaid("knowledge", "bob", 2)],
        (2, 1, 1, 0, 0, 0, 0, 0),
        [],
    ),
    "evidence and knowledge without a session": (
        "delegation",
        [spoken("delegation", "ada", 1), unsaid("evidence_bundle", "bob", 1), unsaid("knowledge", "bob", 2),
         unsaid("knowledge", "bob", 3)],
        (1, 1, 0, 1, 0, 0, 0, 0),
        [],
    ),
    "of two sessions what has waited longest": (
        "query",
        [spoken("query", "ada", 1), spoken("query", "eve", 1).replace('"s"', '"t"'), unsaid("knowledge", "bob", 1),
         spoken("knowledge", "bob", 2)],
        (2, 1, 1, 0, 0, 0, 0, 0),
        [],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LOGS)
def test_what_was_counted_by_hand(name: str, tmp_path: Path) -> None:
    rule, lines, counted, seconds = LOGS[name]
    (tmp_path / "a.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = stats(str(tmp_path / "a.log"))
    assert found.counts.rejects == 0
    (pairing,) = (one for (_, of), one in found.pairings.items() if of == rule and one.seen)
    assert tuple(getattr(pairing, one) for one in NAMES) == counted
    taken = pairing.latencies
    assert (taken.count, taken.total) == (len(seconds), sum(seconds) * 1_000_000)
    if seconds:
        assert (taken.least, taken.most) == (min(seconds) * 1_000_000, max(seconds) * 1_000_000)
