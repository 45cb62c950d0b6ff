"""The monitor: the tables, every fault, deadlines, memory; a seeded day with exactly the seeded faults."""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests import vectors
from tests.kick.traffic import DAY, FAULTY, ORDERLY, START, Day, Flow, kinds, report
from turnwire.kick import (
    DEFAULT_POLICY,
    Deadlines,
    Event,
    EventKind,
    Monitor,
    Row,
    Signal,
    TaskState,
    channels,
    check,
    decode,
)
from turnwire.kick.spec import CLOSED, FAULTS, TASK_TRANSITIONS

pytestmark = pytest.mark.once

CASES = vectors.load("monitor")
ENVELOPES = int(os.environ.get("TURNWIRE_DAY", "5000"))
"""Set it to 1000000 for the whole day."""


def faults_of_flow(make: Any, seed: int) -> tuple[list[Any], list[Any]]:
    flow = Flow(random.Random(seed), 0.0, 1)
    make(flow)
    monitor = Monitor()
    found = []
    for time, envelope in sorted(flow.steps, key=lambda step: step[0]):
        found += [event for event in monitor.feed(envelope, START + time) if event.fault]
    found += monitor.overdue(START + DAY)
    return [(event.kind, event.envelope_id or event.subject) for event in found], flow.expected


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_envelopes_cause(twin: str, case: dict[str, Any]) -> None:
    """One after the other: the events of each, and the tasks that are open behind it."""
    options = {name: case[name] for name in ("remember",) if name in case}
    monitor = Monitor(deadlines=Deadlines(**case.get("deadlines", {})), **options)
    for step in case["steps"]:
        if "envelope" in step:
            found = monitor.feed(decode(step["envelope"]), step.get("now"))
        elif "resume" in step:
            found = monitor.resume(*step["resume"])
        else:
            found = monitor.overdue(step["overdue"])
        assert [
            [one.kind, one.task, one.subject, one.envelope_id, one.fault, None if one.fault else one.text]
            for one in found
        ] == step["events"]
        assert [[task.name, task.state, task.paused] for task in monitor.tasks] == step["tasks"]
        assert [list(one[:3]) for one in monitor.unfinished] == step["unfinished"]


@pytest.mark.parametrize("name", FAULTY)
def test_one_fault_is_one_event(name: str) -> None:
    make, kind = FAULTY[name]
    for seed in range(3):
        found, expected = faults_of_flow(make, seed)
        assert found == expected
        assert [one for one, _ in found] == [kind]


@pytest.mark.parametrize("make", dict.fromkeys(ORDERLY))
def test_order_is_no_fault(make: Any) -> None:
    assert faults_of_flow(make, 1) == ([], [])


@pytest.mark.parametrize(
    ("channel", "goes_to"), [("command/escalate", ("Council", "Judge")), ("command/*", ("Human", "Supervisor"))]
)
def test_a_row_about_escalation_alone_says_who_decides(channel: str, goes_to: tuple[str, ...]) -> None:
    """A row about the family says nothing of that."""
    row = Row(channel, "Command", ("*",), ("Council", "Judge", "Human", "Supervisor", "Dima"))
    row = row if channel.endswith("*") else row._replace(receivers=goes_to)
    said = {}
    for receiver in ("Council", "Judge", "Human", "Supervisor", "Dima"):
        flow, monitor = Flow(random.Random(1), 0.0, 1), Monitor(DEFAULT_POLICY.with_rows(row))
        flow.begin()
        flow.escalate(flow.alert().id, receiver)
        for time, envelope in flow.steps:
            told = list(monitor.feed(envelope, START + time))
        said[receiver] = [(event.kind, event.text) for event in told]
    assert [name for name, found in said.items() if found[-1][0] == "escalated"] == list(goes_to)
    refused = [text for found in said.values() for kind, text in found if kind == "misdirected"]
    assert all(f"goes to {' or '.join(goes_to)}, not" in text for text in refused)
    assert bool(refused) == channel.endswith("*"), "else the row itself refuses"


def test_every_kind_of_fault_is_seeded() -> None:
    assert {kind for _, kind in FAULTY.values()} == FAULTS


def test_a_day(twin: str) -> None:
    day = Day(ENVELOPES, seed=7)
    monitor = Monitor()
    found: Counter[Any] = Counter()
    for now, envelope in day:
        faults = [event for event in monitor.feed(envelope, now) if event.fault]
        found.update((event.kind, event.envelope_id or event.subject) for event in faults)
    found.update((event.kind, event.subject) for event in monitor.overdue(START + 2 * DAY))
    assert found == Counter(day.expected)
    assert day.count > ENVELOPES * 0.8


def test_the_docs_show_the_fault_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "kick.md").read_text("utf-8")
    shown = dict(re.findall(r"^- `(\w+)`: (.*)$", page.replace("\n  ", " "), re.MULTILINE))
    for fault, (_, kind) in FAULTY.items():
        assert fault in shown[kind].split("; ")


def test_the_table_is_closed() -> None:
    for (before, signal), after in TASK_TRANSITIONS.items():
        assert isinstance(signal, Signal)
        assert before not in CLOSED or before is after is TaskState.STOPPED
    assert set(TASK_TRANSITIONS.values()) == set(TaskState) - {TaskState.DISPATCHED}


@pytest.mark.parametrize("before", TaskState)
@pytest.mark.parametrize("signal", Signal)
def test_every_cell_of_the_table(before: TaskState, signal: Signal) -> None:
    task = channels.dispatch("T", "WePlan", "x")
    way = {
        TaskState.DISPATCHED: [],
        TaskState.ACCEPTED: ["Accepted"],
        TaskState.RUNNING: ["Accepted", "In Progress"],
        TaskState.DELIVERED: ["Accepted", "artifact"],
        TaskState.COMPLETED: ["Accepted", "artifact", "Completed"],
        TaskState.FAILED: ["Failed"],
        TaskState.STOPPED: ["stop"],
    }[before]
    monitor = Monitor()
    monitor.feed(task)
    for step in way:
        monitor.feed(channels.stop(task) if step == "stop" else report(task, step))
    held = monitor.task("T")
    assert held.state is before
    words = {Signal.PROGRESS: "In Progress", Signal.ARTIFACT: "artifact"}
    (event,) = monitor.feed(report(task, words.get(signal, signal.value.title())))
    after = TASK_TRANSITIONS.get((before, signal))
    if after is not None:
        assert (event.fault, held.state) == (False, after)
    elif before in CLOSED:
        assert (event.kind, held.state) == (EventKind.LATE, before)
    else:
        assert event.kind is EventKind.OUT_OF_ORDER
        order = list(TaskState)
        assert order.index(held.state) >= order.index(before)


def test_extractors_and_words_are_the_hosts() -> None:
    monitor = Monitor(
        task_of=lambda envelope: envelope.content.split()[-1],
        status_of=lambda envelope: envelope.content.split()[1],
        words={"yes": Signal.ACCEPTED},
    )
    task = channels.dispatch("T", "WePlan", "do\nT-9")
    report = channels.status(task, "Accepted").replace(content="⫻report/status\nyes T-9")
    assert [(event.kind, event.task) for event in monitor.feed(task) + monitor.feed(report)] == [
        ("dispatched", "T-9"), ("accepted", "T-9"),
    ]  # fmt: skip


def test_hostile_envelopes_are_events(twin: str) -> None:
    task = channels.dispatch("T", "WePlan", "x")
    for changes in ({"id": 7}, {"content": "⫻a\n\ud800"}, {"channel": "x"}, {"sender": None}, {"type": "Order"},
                    {"timestamp": 5}, {"channel": None}):  # fmt: skip
        assert kinds(Monitor(), task.replace(**changes))[0] == "invalid"


def test_memory_is_bounded() -> None:
    monitor = Monitor(remember=10)
    first = channels.dispatch("T-0", "WePlan", "x")
    for number in range(60):
        task = first if number == 0 else channels.dispatch(f"T-{number}", "WePlan", "x")
        query = channels.context("Dima", "WePlan", "x", "y")
        alert = channels.violation("Dima", f"T-{number}", "x")
        steps = [task, query, channels.answer(query, "z"), alert, channels.escalate(alert, "x"), channels.stop(task)]
        assert not any(event.fault for step in steps for event in monitor.feed(step))
    assert monitor.task("T-0") is None
    assert len(monitor._table) <= 140, "of ten things that have ended, each under at most fourteen keys"
    assert kinds(monitor, channels.status(first, "Accepted")) == ["uncorrelated"]
    assert kinds(monitor, first) == ["dispatched"]  # forgotten long ago


@pytest.mark.parametrize("name", FAULTY)
def test_an_envelope_that_is_not_taken_in_changes_nothing(name: str) -> None:
    """A monitor that stops at faults goes on as one that was never given those envelopes."""
    unwanted = FAULTS - {EventKind.OVERDUE}

    class Unwanted(Exception):
        pass

    def tell(event: Event) -> None:
        if event.kind in unwanted:
            raise Unwanted
        told.append(event)

    flow = Flow(random.Random(3), 0.0, 1)
    FAULTY[name][0](flow)
    asked, fed = Monitor(), Monitor()
    for time, envelope in sorted(flow.steps, key=lambda step: step[0]):
        told: list[Event] = []
        try:
            asked.feed_checked(envelope, START + time, check(envelope), tell)
        except Unwanted:
            pass
        else:
            assert told == fed.feed(envelope, START + time)
        assert (repr(asked.tasks), asked.unfinished) == (repr(fed.tasks), fed.unfinished)
