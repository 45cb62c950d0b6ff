"""Logs of KickLang that break a clause each, and such that keep all; then conversations. A case is (name, log)."""

from __future__ import annotations

import json
from typing import Any

from tests.read.honest.containers import fenced, in_json, lines, prefixed

TIME = "2026-01-05T10:{:02}:{:02}Z"
SIGIL = "\u2afb"


def uuid(number: int) -> str:
    """A UUID of version 4."""
    return f"00000000-0000-4000-8000-{number:012}"


def mail(
    number: int, channel: str, way: str, content: str, /, at: str = "", answers: int | None = None, **more: Any
) -> str:
    """An envelope: its number, channel, "sender>receiver", the content as head|text; ``answers``: to which."""
    family = channel.partition("/")[0]
    sender, receiver = way.split(">")
    kind = {"command": "Command", "report": "Info", "alert": "Alert", "query": "Query"}.get(family, "Info")
    head, _, text = content.partition("|")
    envelope: dict[str, Any] = {"id": uuid(number), "timestamp": at or TIME.format(0, number), "sender": sender}
    envelope |= {"receiver": receiver, "type": kind, "channel": SIGIL + channel, "content": f"{SIGIL}{head}\n{text}"}
    if answers is not None:
        envelope["correlation_id"] = uuid(answers)
    for name, value in more.items():
        envelope.pop(name) if value is None else envelope.update({name: value})
    return json.dumps(envelope, ensure_ascii=False)


UP, DOWN, ALL = "WePlan>Orchestrator", "Orchestrator>WePlan", "SystemMonitor>Broadcast"
SEND = mail(1, "command/dispatch", DOWN, "task/dispatch:T-1/001|build the plan")
TAKE = mail(2, "report/status", UP, "report/status:T-1/001|Accepted", answers=1)
GIVE = mail(3, "report/artifact", UP, "report/artifact:T-1/001|/plans/a.md", answers=1)
END = mail(4, "report/status", UP, "report/status:T-1/001|Completed", answers=1)
LOOP = (SEND, TAKE, GIVE, END)
QUESTION = mail(11, "query/context", "WePlan>Dima", "query/context|which memory is it?")
ANSWER = mail(12, "query/context", "Dima>WePlan", "query/answer|the second", answers=11)
FAULT = mail(21, "alert/violation", ALL, "alert/violation:T-1/001|out of bounds", answers=1)
RAISE = mail(22, "command/escalate", "Orchestrator>Human", "command/escalate:T-1/001|decide", answers=21)
RESUME = mail(23, "command/resume", DOWN, "command/resume:T-1/001|go on", answers=1)

BROKEN: dict[str, str] = {
    "an id of version 1": lines(
        mail(1, "alert/error", ALL, "alert/error|tool", id="6ba7b810-9dad-11d1-80b4-00c04fd430c8")
    ),
    "a time in words": prefixed(mail(1, "alert/error", ALL, "alert/error|tool", timestamp="yesterday")),
    "a type beyond the table": in_json(mail(1, "alert/error", ALL, "alert/error|tool", type="Request")),
    "a channel without its sign": lines(mail(1, "alert/error", ALL, "alert/error|tool", channel="alert/error")),
    "a content without a section": fenced(mail(1, "alert/error", ALL, "alert/error|tool", content="tool failed")),
    "a report on nothing": in_json(*LOOP, mail(5, "report/status", UP, "report/status:T-2/001|Accepted")),
    "an alert to one alone": prefixed(mail(1, "alert/error", "WePlan>Dima", "alert/error|tool")),
    "nobody sends": lines(mail(1, "alert/error", ALL, "alert/error|tool", sender=None)),
    "an id used twice": in_json(*LOOP, END.replace("Completed", "Failed").replace(uuid(4), uuid(3))),
    "a report in front of its dispatch": lines(TAKE, SEND, GIVE, END),
    "completed before accepted": lines(SEND, END, TAKE, GIVE),
    "completed without an artifact": fenced(SEND, TAKE, END),
    "a report behind the end": prefixed(
        *LOOP, mail(5, "report/status", UP, "report/status:T-1/001|In Progress", answers=1)
    ),
    "work goes on in spite of a violation": lines(SEND, TAKE, FAULT, GIVE, RAISE, RESUME, END),
    "a violation that nobody escalates": lines(
        SEND, TAKE, FAULT, mail(30, "alert/error", ALL, "alert/error|late", at="2026-01-05T20:00:00Z")
    ),
    "escalated to an agent": lines(SEND, TAKE, FAULT, RAISE.replace("Human", "Dima")),
    "resumed before escalation": lines(SEND, TAKE, FAULT, RESUME, RAISE, GIVE, END),
    "an answer of another": lines(QUESTION, mail(12, "query/context", "WePlan>WePlan", "query/answer|2", answers=11)),
    "an answer without correlation": in_json(
        QUESTION, mail(12, "query/answer", "Dima>WePlan", "query/answer|the second")
    ),
    "a word that is not a status": lines(SEND, TAKE.replace("Accepted", "Sure"), GIVE, END),
    "a content of null": lines(SEND.replace(json.dumps(json.loads(SEND)["content"], ensure_ascii=False), "null")),
    "a correlation that is not a UUID": lines(
        SEND, TAKE.replace(f'"correlation_id": "{uuid(1)}"', '"correlation_id": "1"')
    ),
    "a task dispatched twice": lines(SEND, TAKE, SEND.replace(uuid(1), uuid(9)), GIVE, END),
    "reports to another agent": lines(SEND, TAKE.replace('"Orchestrator"', '"Dima"'), GIVE, END),
    "reports of another agent": lines(SEND, TAKE.replace('"WePlan"', '"Dima"'), GIVE, END),
    "a question without an answer for hours": lines(
        QUESTION, mail(30, "alert/error", ALL, "alert/error|late", at="2026-01-05T20:00:00Z")
    ),
    "a header without a name": f"{SIGIL}const/formal:a/001\ntext\n{SIGIL}\ntext\n",
    "a byte order mark": f"\ufeff{SIGIL}const/formal:a/001\ntext\n",
    "broken JSON": lines(*LOOP, FAULT[:-1]),
    "a correlation with what nobody sent": lines(*LOOP, TAKE.replace(uuid(1), uuid(77)).replace(uuid(2), uuid(5))),
}
GOOD: dict[str, str] = {
    "a task from dispatch to end": lines(*LOOP),
    "behind a prefix": prefixed(*LOOP),
    "in JSON": in_json(*LOOP),
    "in a fence": fenced(*LOOP),
    "a question and its answer": lines(QUESTION, ANSWER),
    "a violation, escalated and resumed": lines(SEND, TAKE, FAULT, RAISE, RESUME, GIVE, END),
    "progress on the way": lines(
        SEND, TAKE, mail(5, "report/status", UP, "report/status:T-1/001|In Progress", answers=1), GIVE, END
    ),
    "a failure": lines(SEND, TAKE, mail(5, "report/status", UP, "report/status:T-1/001|Failed", answers=1)),
    "stopped": lines(SEND, TAKE, mail(5, "command/stop", DOWN, "command/stop:T-1/001|enough", answers=1)),
    "an alert": lines(mail(1, "alert/error", ALL, "alert/error|the tool failed")),
    "a document": f"# Rules\n\n{SIGIL}const/formal:a/001\n## Envelope\ntext\n\n{SIGIL}const/formal:a/002\nmore\n",
    "over several lines": "".join(json.dumps(json.loads(one), indent=2, ensure_ascii=False) + "\n" for one in LOOP),
}

NEXT = "2026-01-05T10:0{}:00Z"


def loop(name: str, start: int, agent: str = "WePlan", minute: int = 1) -> tuple[str, str, str, str]:
    """A whole task with another name, agent and time."""
    send, take, give, end = ("command/dispatch", "report/status", "report/artifact", "report/status")
    way, back, at = f"Orchestrator>{agent}", f"{agent}>Orchestrator", NEXT.format(minute)
    return (
        mail(start, send, way, f"task/dispatch:{name}/001|do it", at),
        mail(start + 1, take, back, f"report/status:{name}/001|Accepted", at, start),
        mail(start + 2, give, back, f"report/artifact:{name}/001|/a.md", at, start),
        mail(start + 3, end, back, f"report/status:{name}/001|Completed", at, start),
    )


TWO = loop("T-2", 100, "Dima")
FAULT2 = mail(25, "alert/violation", ALL, "alert/violation:T-1/001|again", answers=1)
HOURS = mail(90, "alert/error", ALL, "alert/error|later", "2026-01-05T22:00:00Z")

BROKEN |= {
    "the second task skips its artifact": lines(*LOOP, TWO[0], TWO[1], TWO[3]),
    "reports with the correlation of another task": lines(
        SEND, TAKE, TWO[0], TWO[1].replace("000000000100", "000000000001"), GIVE, END
    ),
    "a task never taken up": lines(SEND, HOURS),
    "a task never finished": prefixed(SEND, TAKE, HOURS),
    "a question answered twice": lines(QUESTION, ANSWER, ANSWER.replace("000000000012", "000000000013")),
    "an answer to the wrong one": lines(QUESTION, ANSWER.replace('"receiver": "WePlan"', '"receiver": "FizzLaMetta"')),
    "an answer in front of its question": in_json(ANSWER, QUESTION),
    "one of two violations escalated, and on it goes": lines(
        SEND, TAKE, FAULT, FAULT2, RAISE, RESUME, GIVE, END, HOURS
    ),
    "an escalation of nothing": lines(*LOOP, RAISE),
    "dispatched again before it is escalated": lines(
        SEND, TAKE, FAULT, SEND.replace("000000000001", "000000000031"), RAISE, GIVE, END
    ),
    "stopped, and yet completed": lines(
        SEND, TAKE, mail(5, "command/stop", DOWN, "command/stop:T-1/001|no", answers=1), GIVE, END
    ),
    "failed, and yet completed": lines(
        SEND, TAKE, END.replace("Completed", "Failed"), GIVE, END.replace("000000000004", "000000000005")
    ),
    "accepted twice": lines(SEND, TAKE, TAKE.replace("000000000002", "000000000007"), GIVE, END),
    "the same envelope twice": lines(*LOOP, END),
    "a stop of nothing": in_json(*LOOP, mail(5, "command/stop", DOWN, "command/stop:T-9/001|no", answers=77)),
    "the Orchestrator reports": lines(
        *LOOP, mail(5, "report/status", "Orchestrator>Orchestrator", "report/status:T-1/001|Completed", answers=1)
    ),
    "a dispatch to all": lines(SEND.replace('"WePlan"', '"Broadcast"')),
    "a violation told to one": fenced(SEND, TAKE, FAULT.replace("Broadcast", "Orchestrator")),
    "a channel of another family": lines(mail(1, "task/dispatch", DOWN, "task/dispatch:T-1/001|x", type="Command")),
    "a channel without a name": lines(mail(1, "alert", ALL, "alert/error|x", type="Alert")),
    "a receiver in a list": lines(mail(1, "alert/error", ALL, "alert/error|x", receiver=["Broadcast"])),
}
GOOD |= {
    "three tasks by turns": lines(
        *(
            one
            for several in zip(LOOP, loop("T-2", 100, "Dima", 0), loop("T-3", 200, "RoleDefiner", 0), strict=True)
            for one in several
        )
    ),
    "two violations, both escalated": lines(
        SEND,
        TAKE,
        FAULT,
        FAULT2,
        RAISE,
        RAISE.replace("000000000022", "000000000026").replace(FAULT[8:44], FAULT2[8:44]),
        RESUME,
        GIVE,
        END,
    ),
    "a task dispatched again after its end": lines(*LOOP, *loop("T-1", 300)),
    "two artifacts": lines(
        SEND, TAKE, GIVE, GIVE.replace("000000000003", "000000000008").replace("/plans/a.md", "/plans/b.md"), END
    ),
    "a report answers a question": lines(
        mail(11, "query/context", "Orchestrator>WePlan", "query/context|where are you?"),
        mail(12, "report/status", UP, "report/status|In Progress", answers=11),
    ),
    "a question to all": lines(
        mail(11, "query/context", "WePlan>Broadcast", "query/context|who has it?"),
        mail(12, "query/context", "Dima>WePlan", "query/answer|I", answers=11),
        mail(13, "query/context", "RoleDefiner>WePlan", "query/answer|I, too", answers=11),
    ),
    "refused": lines(SEND, TAKE.replace("Accepted", "Failed")),
    "documents with much in them": f"intro\n\n{SIGIL}const/rules:a/1\n- one\n\n{SIGIL}const/rules:a/2\n```\nx\n```\n",
}

STOP = mail(5, "command/stop", DOWN, "command/stop:T-1/001|enough", answers=1)
PING = mail(6, "command/ping", DOWN, "command/ping:P-1/001|are you there")
GOOD |= {
    "a response to a stop, on the id of it": lines(
        SEND,
        TAKE,
        mail(5, "command/stop", DOWN, "command/stop:T-1/001|enough"),
        mail(7, "report/status", UP, "report/status:T-1/001|Failed", answers=5),
    ),
    "a response to a command of another name": prefixed(
        PING, mail(7, "report/pong", UP, "report/pong:P-1/001|yes", answers=6)
    ),
}
BROKEN |= {
    "a response by another than the command went to": lines(
        PING, mail(7, "report/pong", "Dima>Orchestrator", "report/pong:P-1/001|yes", answers=6)
    ),
    "a response about another task than the command names": in_json(
        PING, mail(7, "report/pong", UP, "report/pong:P-2/001|yes", answers=6)
    ),
    "a report on another task behind a stop": lines(
        SEND, TAKE, STOP, mail(7, "report/status", UP, "report/status:T-9/001|Failed", answers=1)
    ),
}
