"""Writes a small log of made-up traffic in all five wires: ``python examples/mixed_log.py > mixed.log``.

The same seed gives the same log on every machine. A few records are damaged on purpose; their number goes to standard
error. See it with ``turnwire report mixed.log -o report.html``.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple

from turnwire.nslip import Act, FrameType, SlipMessage, Slot, encode

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC).timestamp()
DAY = 8 * 3600.0
AGENTS = ("planner", "coder", "reviewer", "tester", "scribe")
ROLES = ("WePlan", "PromptEngineer", "RoleDefiner", "Dima")
GOALS = (
    "refactor the session cache",
    "find why login is slow",
    "überprüfe die Rechnungen",
    "レビューの準備",
    'say "done" when <b>all</b> tests pass',
    "cut the build time in half",
    "draft the release notes & the checklist",
)
VERDICTS = ("ok", "partial", "blocked", "needs another look")
SECONDS = {"quick": (0.2, 4.0), "slow": (20.0, 400.0)}


class Entry(NamedTuple):
    """One record of the log. time: seconds from 1970; conversation: as the wire names it; text: as written."""

    time: float
    wire: str
    kind: str
    sender: str
    receiver: str | None
    conversation: str
    text: str


class Scene:
    """One conversation in the making: a clock, and names drawn from a seeded source."""

    def __init__(self, numbers: random.Random, number: int) -> None:
        self.numbers = numbers
        self.number = number
        self.clock = START + DAY * (numbers.random() + numbers.random()) / 2
        self.goal = numbers.choice(GOALS)

    def wait(self, pace: str) -> float:
        """Lets some time pass; the time then."""
        self.clock += self.numbers.uniform(*SECONDS[pace])
        return self.clock

    def stamp(self) -> str:
        """The time now, to the second."""
        return datetime.fromtimestamp(self.clock, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def uuid(self) -> str:
        """A random id, the same for the same seed."""
        return str(uuid.UUID(int=self.numbers.getrandbits(128), version=4))

    def json(self, value: dict[str, Any]) -> str:
        """JSON on one line."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def nslip(scene: Scene) -> Iterator[Entry]:
    """A request, a plan, one or more results and a verdict."""
    there, back = (0, 1), (1, 0)
    steps = [
        (Act.REQUEST, FrameType.TASK, there, scene.goal[:24]),
        (Act.PROPOSE, FrameType.PLAN, back, "plan_fast"),
    ]
    steps += [(Act.INFORM, FrameType.OBSERVATION, (2, 0), "exec_status")] * scene.numbers.randint(1, 3)
    steps.append((Act.EVAL, FrameType.EVALUATION, (3, 0), scene.numbers.choice(VERDICTS)))
    for turn, (act, frame, (source, target), tag) in enumerate(steps, 1):
        time = scene.wait("quick")
        slots: dict[Slot, int | str] = {Slot.GOAL_ID: scene.number, Slot.TAG: tag}
        message = SlipMessage(
            conv_id=scene.number, turn=turn, src=source, dst=target, act=act, frame=frame, slots=slots
        )
        yield Entry(time, "nslip", act.name, str(source), str(target), str(scene.number), encode(message))


def csp(scene: Scene) -> Iterator[Entry]:
    """A task and its result, or an error."""
    context, task = f"C{scene.number}", f"T{scene.number:03}"
    blocks = [
        (
            "TASK",
            "LEAD",
            "CODE_EXP",
            f"TASK {task}\nREQ {scene.goal}\nIN SRC\nOUT FILE_REFS\nPRIORITY P{scene.numbers.randint(1, 3)}",
        )
    ]
    if scene.numbers.random() < 0.2:
        blocks.append(
            (
                "ERROR",
                "CODE_EXP",
                "LEAD",
                f"ERROR E{scene.number:03}\nAT {task}\nCAUSE no such module\nNEXT ask the owner",
            )
        )
    else:
        blocks.append(
            (
                "RESULT",
                "CODE_EXP",
                "LEAD",
                f"RESULT {task}\nSTATUS OK\nPRODUCED F{scene.number}\nDATA src/cache.py:10-42",
            )
        )
    for intent, sender, receiver, block in blocks:
        text = f"CSP/1\nFROM {sender}\nTO {receiver}\nCTX {context}\nINTENT {intent}\n\n{block}\n"
        yield Entry(scene.wait("slow"), "csp", intent, sender, receiver, context, text)


def sstp(scene: Scene) -> Iterator[Entry]:
    """An intent, a query with its answer, and a commit."""
    asking, asked = scene.numbers.sample(AGENTS, 2)
    payloads: list[tuple[str, str, str | None, dict[str, Any]]] = [
        (
            "intent",
            asking,
            None,
            {"goal": scene.goal, "assumptions": [], "success_criteria": "all agree", "constraints": []},
        ),
        (
            "query",
            asking,
            asked,
            {
                "question": f"How long for: {scene.goal}?",
                "required_fields": ["days"],
                "uncertainty": 0.6,
                "directed_to": asked,
            },
        ),
        ("knowledge", asked, None, {"content": "about two days", "confidence": 0.8, "evidence_refs": []}),
        (
            "commit",
            asking,
            None,
            {"decision": "start today", "scope": "team", "commit_mode": "final", "supersedes": None},
        ),
    ]
    clocks = {asking: 0, asked: 0}
    for kind, actor, addressee, payload in payloads:
        time = scene.wait("quick")
        clocks[actor] += 1
        header = {
            "kind": kind,
            "actor_id": actor,
            "schema_id": f"ioc.{kind}.v0",
            "session_id": f"room-{scene.number}",
            "logical_clock": clocks[actor],
        }
        yield Entry(
            time,
            "sstp",
            kind,
            actor,
            addressee,
            f"room-{scene.number}",
            scene.json({"header": header, "payload": payload}),
        )


def sap(scene: Scene) -> Iterator[Entry]:
    """A task, often acknowledged, and its result."""
    task, correlation = scene.uuid(), scene.uuid()
    asking, asked = scene.numbers.sample(AGENTS, 2)
    ids = {"protocolVersion": "2.0", "taskId": task, "correlationId": correlation}
    principles = ["systems_over_willpower", "blueprint_thinking", "strategic_pause"]
    context = {"pressureLevel": "consulted", "principles": principles, "pressure": dict.fromkeys(principles, 40)}
    time = scene.wait("quick")
    issuer, target = {"agentId": asking, "agentKind": "agent"}, {"agentId": asked, "capability": "consult.align"}
    request = {
        **ids,
        "issuedAt": scene.stamp(),
        "issuer": issuer,
        "target": target,
        "constitutionalContext": context,
        "payload": {"topic": scene.goal},
    }
    yield Entry(time, "sap", "Task", asking, None, correlation, scene.json(request))
    time = scene.wait("slow")
    evidence = {
        "alignment": "VALID",
        "pressureReadings": dict.fromkeys(principles, 40),
        "policyChecks": [],
        "citations": [],
    }
    answer = {
        **ids,
        "reportedAt": scene.stamp(),
        "producer": {"agentId": asked, "agentKind": "agent"},
        "status": "SUCCEEDED",
        "output": {"days": 2},
        "constitutionalEvidence": evidence,
    }
    yield Entry(time, "sap", "Result", asked, None, correlation, scene.json(answer))


def kick(scene: Scene) -> Iterator[Entry]:
    """A command and the reports that follow it."""
    agent, task = scene.numbers.choice(ROLES), f"T-{scene.number}"
    first = scene.uuid()
    steps = [("Command", "Orchestrator", agent, "command/dispatch", f"⫻task/dispatch:{task}/001\n{scene.goal}\n")]
    steps += [
        ("Info", agent, "Orchestrator", "report/status", f"⫻report/status:{task}/001\n{word}\n")
        for word in ("Accepted", "In Progress", "Completed")
    ]
    for kind, sender, receiver, channel, content in steps:
        time = scene.wait("slow")
        fields = {
            "id": first if kind == "Command" else scene.uuid(),
            "timestamp": scene.stamp(),
            "sender": sender,
            "receiver": receiver,
            "type": kind,
        }
        text = scene.json({**fields, "channel": f"⫻{channel}", "content": content, "correlation_id": first})
        yield Entry(time, "kick", kind, sender, receiver, first, text)


WIRES: dict[str, Callable[[Scene], Iterator[Entry]]] = {
    "nslip": nslip,
    "csp": csp,
    "sstp": sstp,
    "sap": sap,
    "kick": kick,
}


def entries(conversations: int, seed: int = 1, wires: tuple[str, ...] = tuple(WIRES)) -> list[Entry]:
    """The records of so many conversations, by turns in each of the wires, in the order of time."""
    numbers = random.Random(seed)
    found: list[Entry] = []
    for number in range(1, conversations + 1):
        found += WIRES[wires[number % len(wires)]](Scene(numbers, number))
    return sorted(found, key=lambda entry: (entry.time, entry.conversation))


def line(entry: Entry) -> str:
    """A record as the log holds it: JSON on a line of its own, the others behind a time stamp."""
    stamp = (
        datetime.fromtimestamp(entry.time, UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{int(entry.time * 1000) % 1000:03}Z"
    )
    if entry.wire == "csp":
        return f"{stamp} INFO bus: a document follows\n{entry.text}\n"
    return f"{entry.text}\n" if entry.wire in ("sap", "kick") else f"{stamp} INFO bus: {entry.text}\n"


def damaged(text: str) -> str:
    """The line of an nSLIP record with a digit that is none."""
    return text.replace("|c", "|c$", 1)


class Log(NamedTuple):
    """A log as text, its sound records in their order, and how many were damaged on purpose."""

    text: str
    sound: list[Entry]
    damaged: int


def log(conversations: int, seed: int = 1, wires: tuple[str, ...] = tuple(WIRES), every: int = 40) -> Log:
    """So many conversations as a log; every fortieth of its nSLIP records is damaged."""
    lines: list[str] = []
    sound: list[Entry] = []
    met = 0
    for entry in entries(conversations, seed, wires):
        met += entry.wire == "nslip"
        bad = entry.wire == "nslip" and met % every == every // 2
        lines.append(damaged(line(entry)) if bad else line(entry))
        if not bad:
            sound.append(entry)
    return Log("".join(lines), sound, len(lines) - len(sound))


def main() -> None:
    """Writes the log to standard output."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    made = log(chosen.conversations, chosen.seed)
    sys.stdout.buffer.write(made.text.encode())
    print(f"{made.damaged} records are damaged on purpose", file=sys.stderr)


if __name__ == "__main__":
    main()
