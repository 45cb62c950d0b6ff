"""A generated day of KickLang traffic: orderly flows, and faults of every kind that the monitor knows, seeded.

All of it is generated, none of it recorded. Each flow carries at most one fault, so that what the monitor must say is
known exactly: the pairs (kind, id of the envelope or of what is overdue).
"""

from __future__ import annotations

import heapq
import random
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any

from turnwire.kick import Envelope, EventKind, Monitor, channels

DAY = 86_400.0
START = datetime(2026, 1, 15, tzinfo=UTC).timestamp()
AGENTS = ("WePlan", "PromptEngineer", "RoleDefiner", "ProtocolEstablisher", "Dima", "AR-00L")
Step = tuple[float, Envelope]


AT = "2026-01-01T00:00:00Z"


def kinds(monitor: Monitor, *envelopes: Envelope, now: float | None = None) -> list[str]:
    """The events of envelopes, by their kinds."""
    return [str(event.kind) for one in envelopes for event in monitor.feed(one, now)]


def overdue(monitor: Monitor, now: float) -> list[str]:
    return [str(event.kind) for event in monitor.overdue(now)]


def report(task: Envelope, word: str) -> Envelope:
    """A report of a status, or of an artifact."""
    make, said = (channels.artifact, "out.md") if word == "artifact" else (channels.status, word)
    return make(task, said, timestamp=AT)


class Flow:
    """One flow in the making: its envelopes with their times, and the faults it must give rise to."""

    def __init__(self, rnd: random.Random, start: float, number: int) -> None:
        self.rnd = rnd
        self.time = start
        self.task = f"T-{number}"
        self.agent, self.other = rnd.sample(AGENTS, 2)
        self.steps: list[Step] = []
        self.expected: list[tuple[EventKind, str]] = []
        self.dispatched: Envelope | None = None

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.rnd.getrandbits(128), version=4))

    def send(self, sender: str, receiver: str, kind: str, channel: str, content: str, **fields: Any) -> Envelope:
        self.time += self.rnd.uniform(0.5, 5.0)
        stamp = datetime.fromtimestamp(START + self.time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        values = {"id": self.uuid(), "timestamp": stamp, "correlation_id": None, **fields}
        envelope = Envelope(
            values["id"], values["timestamp"], sender, receiver, kind, f"⫻{channel}", content, values["correlation_id"]
        )
        self.steps.append((self.time, envelope))
        return envelope

    def expect(self, kind: EventKind, about: Envelope) -> None:
        self.expected.append((kind, about.id))

    def dispatch(self, **fields: Any) -> Envelope:
        text = f"⫻task/dispatch:{self.task}/001\nBuild it\n"
        envelope = self.send("Orchestrator", self.agent, "Command", "command/dispatch", text, **fields)
        self.dispatched = self.dispatched or envelope
        return envelope

    def report(self, text: str, name: str = "status", sender: str | None = None, **fields: Any) -> Envelope:
        task = fields.pop("task", self.task)
        fields.setdefault("correlation_id", self.dispatched.correlation_id or self.dispatched.id)
        content = fields.pop("content", f"⫻report/{name}:{task}/001\n{text}\n")
        return self.send(sender or self.agent, "Orchestrator", "Info", f"report/{name}", content, **fields)

    def begin(self) -> None:
        self.dispatch()
        self.report("Accepted")
        self.report("In Progress")

    def end(self) -> None:
        self.report("out/report.md", "artifact")
        self.report("Completed")

    def alert(self, **fields: Any) -> Envelope:
        text = f"⫻alert/violation:{self.task}/001\nlimit exceeded\n"
        return self.send("SystemMonitor", "Broadcast", "Alert", "alert/violation", text, **fields)

    def escalate(self, correlation: str, receiver: str = "Human") -> Envelope:
        text = f"⫻command/escalate:{self.task}/001\nplease decide\n"
        return self.send("Orchestrator", receiver, "Command", "command/escalate", text, correlation_id=correlation)

    def ask(self, sender: str = "Orchestrator") -> Envelope:
        return self.send(sender, self.agent, "Query", "query/context", f"⫻query/context:{self.task}/001\nstate?\n")

    def reply(self, query: Envelope, sender: str | None = None) -> Envelope:
        text = f"⫻query/answer:{self.task}/001\nfine\n"
        return self.send(sender or self.agent, query.sender, "Query", "query/context", text, correlation_id=query.id)


def orderly(flow: Flow) -> None:
    flow.begin()
    flow.end()


def refused(flow: Flow) -> None:
    flow.dispatch()
    flow.report("Failed")


def stopped(flow: Flow) -> None:
    flow.begin()
    text = f"⫻command/stop:{flow.task}/001\nno longer needed\n"
    flow.send("Orchestrator", flow.agent, "Command", "command/stop", text, correlation_id=flow.dispatched.id)
    flow.report("Failed")


def grouped(flow: Flow) -> None:
    flow.dispatch(correlation_id=flow.uuid())
    flow.report("Accepted")
    flow.end()


def asked(flow: Flow) -> None:
    flow.reply(flow.ask())


def escalated(flow: Flow) -> None:
    flow.begin()
    alert = flow.alert(correlation_id=flow.dispatched.id)
    flow.escalate(alert.correlation_id)
    text = f"⫻command/resume:{flow.task}/001\n"
    flow.send("Orchestrator", flow.agent, "Command", "command/resume", text, correlation_id=flow.dispatched.id)
    flow.end()


ORDERLY = (orderly, orderly, orderly, orderly, refused, stopped, grouped, asked, escalated)


def within(send: Callable[[Flow], Envelope]) -> Callable[[Flow, EventKind], None]:
    """An orderly flow with one envelope more, which is the fault."""

    def make(flow: Flow, kind: EventKind) -> None:
        flow.begin()
        flow.expect(kind, send(flow))
        flow.end()

    return make


def alone(send: Callable[[Flow], Envelope]) -> Callable[[Flow, EventKind], None]:
    """A fault about an envelope after which nothing comes."""
    return lambda flow, kind: flow.expect(kind, send(flow))


def begun(send: Callable[[Flow], Envelope]) -> Callable[[Flow, EventKind], None]:
    """The same behind the beginning of a flow."""

    def make(flow: Flow, kind: EventKind) -> None:
        flow.begin()
        flow.expect(kind, send(flow))

    return make


def message(flow: Flow, receiver: str, kind: str, channel: str, sender: str = "", place: str = "") -> Envelope:
    """Any envelope of the flow, by its agent."""
    text = f"⫻{channel}:{place or flow.task}/001\ntext\n"
    return flow.send(sender or flow.agent, receiver, kind, channel, text)


def other_agents_answer(flow: Flow, kind: EventKind) -> None:
    query = flow.ask()
    flow.expect(kind, flow.reply(query, flow.other))
    flow.reply(query)


def sent_twice(flow: Flow, kind: EventKind) -> None:
    orderly(flow)
    time, envelope = flow.rnd.choice(flow.steps)
    flow.steps.append((time + 0.1, envelope.replace()))
    flow.expect(kind, envelope)


def accepted_lost(flow: Flow, kind: EventKind) -> None:
    flow.dispatch()
    flow.expect(kind, flow.report("In Progress"))
    flow.end()


def after_the_end(flow: Flow, kind: EventKind) -> None:
    orderly(flow)
    flow.expect(kind, flow.report("In Progress"))


def answered_twice(flow: Flow, kind: EventKind) -> None:
    query = flow.ask()
    flow.reply(query)
    flow.expect(kind, flow.reply(query))


def goes_on_while_paused(flow: Flow, kind: EventKind) -> None:
    flow.begin()
    alert = flow.alert()
    flow.expect(kind, flow.report("In Progress"))
    flow.escalate(alert.id, "Supervisor")
    flow.dispatch()  # dispatching a paused task again resumes it
    flow.end()


def goes_on_before_escalation(flow: Flow, kind: EventKind) -> None:
    flow.begin()
    alert = flow.alert()
    flow.expect(kind, flow.dispatch())
    flow.escalate(alert.id, "Supervisor")
    flow.end()


def escalated_to_agent(flow: Flow, kind: EventKind) -> None:
    flow.begin()
    alert = flow.alert()
    flow.expect(kind, flow.escalate(alert.id, flow.other))
    flow.escalate(alert.id)
    flow.dispatch()
    flow.end()


K = EventKind
_FAULTY: dict[str, tuple[Callable[[Flow, EventKind], None], EventKind]] = {
    "an invalid timestamp": (within(lambda flow: flow.report("In Progress", timestamp="yesterday")), K.INVALID),
    "an id that is not a UUID v4": (
        within(lambda flow: flow.report("In Progress", id=f"k{flow.rnd.getrandbits(60)}")),
        K.INVALID,
    ),
    "content that is not Space Format": (
        within(lambda flow: flow.send("SystemMonitor", "Broadcast", "Alert", "alert/error", '{"metricName":"Rate"}')),
        K.INVALID,
    ),
    "a channel of an unknown family": (
        within(lambda flow: message(flow, "Orchestrator", "Info", "report2/status")),
        K.INVALID,
    ),
    "a type that does not belong on the channel": (
        within(lambda flow: message(flow, "Broadcast", "Info", "alert/error")),
        K.INVALID,
    ),
    "a command from an agent": (
        within(lambda flow: message(flow, flow.other, "Command", "command/dispatch", place="forged")),
        K.UNAUTHORISED,
    ),
    "an alert that is not a broadcast": (
        within(lambda flow: message(flow, flow.other, "Alert", "alert/violation", "SystemMonitor")),
        K.UNAUTHORISED,
    ),
    "a report on another agent's task": (
        within(lambda flow: flow.report("Completed", sender=flow.other)),
        K.UNAUTHORISED,
    ),
    "an answer from an agent that was not asked": (other_agents_answer, K.UNAUTHORISED),
    "an envelope delivered twice": (sent_twice, K.DUPLICATE),
    "an id used for a second envelope": (
        within(lambda flow: flow.report("In Progress\nmore", id=flow.steps[-1][1].id)),
        K.ID_REUSED,
    ),
    "a report with an unknown correlation_id": (
        within(lambda flow: flow.report("In Progress", correlation_id=flow.uuid())),
        K.UNCORRELATED,
    ),
    "a report without correlation_id": (
        within(lambda flow: flow.report("In Progress", correlation_id=None)),
        K.UNCORRELATED,
    ),
    "a report on a task that was not dispatched": (
        within(lambda flow: flow.report("In Progress", task="elsewhere")),
        K.UNCORRELATED,
    ),
    "an escalation without a violation": (within(lambda flow: flow.escalate(flow.uuid())), K.UNCORRELATED),
    "a task dispatched again while it is open": (within(lambda flow: flow.dispatch()), K.DUPLICATE_TASK),
    "`Accepted` is missing": (accepted_lost, K.OUT_OF_ORDER),
    "`Accepted` is repeated": (within(lambda flow: flow.report("Accepted")), K.OUT_OF_ORDER),
    "the artifact is missing": (begun(lambda flow: flow.report("Completed")), K.OUT_OF_ORDER),
    "an unknown status word": (within(lambda flow: flow.report("Almost done")), K.UNKNOWN_STATUS),
    "a report after the end": (after_the_end, K.LATE),
    "a second answer": (answered_twice, K.LATE),
    "an agent that works while paused": (goes_on_while_paused, K.WHILE_PAUSED),
    "a task that resumes before escalation": (goes_on_before_escalation, K.UNESCALATED),
    "an escalation to an agent": (escalated_to_agent, K.MISDIRECTED),
    "a dispatch that no agent accepts": (alone(lambda flow: flow.dispatch()), K.OVERDUE),
    "a task that never ends": (begun(lambda flow: flow.dispatched or flow.dispatch()), K.OVERDUE),
    "an unanswered question": (alone(lambda flow: flow.ask()), K.OVERDUE),
    "a violation that is not escalated": (begun(lambda flow: flow.alert()), K.OVERDUE),
}
FAULTY = {name: (partial(make, kind=kind), kind) for name, (make, kind) in _FAULTY.items()}
"""Every seeded fault, in words: how it is made, and the one event that tells it. docs/kick.md shows this table."""


class Day:
    """A day of about ``envelopes`` envelopes, one flow in ``rarity`` faulty. Iterate once, then read ``expected``."""

    def __init__(self, envelopes: int, seed: int, rarity: int = 20) -> None:
        self.flows = envelopes // 5
        self.rnd = random.Random(seed)
        self.rarity = rarity
        self.expected: list[tuple[EventKind, str]] = []
        self.count = 0

    def __iter__(self) -> Iterator[Step]:
        waiting: list[tuple[float, int, Envelope]] = []
        kinds = [make for make, _ in FAULTY.values()]
        for number in range(self.flows):
            start = number * DAY / self.flows
            while waiting and waiting[0][0] <= start:
                yield self._next(waiting)
            faulty = self.rnd.randrange(self.rarity) == 0
            make = self.rnd.choice(kinds) if faulty else self.rnd.choice(ORDERLY)
            flow = Flow(self.rnd, start, number)
            make(flow)
            self.expected += flow.expected
            for time, envelope in flow.steps:
                self.count += 1
                heapq.heappush(waiting, (time, self.count, envelope))
        while waiting:
            yield self._next(waiting)

    @staticmethod
    def _next(waiting: list[tuple[float, int, Envelope]]) -> Step:
        time, _, envelope = heapq.heappop(waiting)
        return START + time, envelope
