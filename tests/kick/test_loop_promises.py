"""The promises of docs/kick.md for the monitor: reports lost, doubled, unordered, forged; many looks at the clock."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from typing import Any

import pytest

from tests.kick.traffic import DAY, FAULTY, ORDERLY, START, Flow, report
from turnwire.kick import Deadlines, Envelope, Monitor, TaskState, channels
from turnwire.kick.spec import CLOSED

pytestmark = pytest.mark.once

REPORTS = ["Accepted", "In Progress", "artifact", "Completed"]
AFTER = dict(
    zip(REPORTS, [TaskState.ACCEPTED, TaskState.RUNNING, TaskState.DELIVERED, TaskState.COMPLETED], strict=True)
)
ORDER = list(TaskState)


def run(words: tuple[str, ...]) -> tuple[list[TaskState], list[str]]:
    """The states of a task after its dispatch and after each report, and the faults."""
    monitor, task = Monitor(), channels.dispatch("T", "WePlan", "x")
    monitor.feed(task)
    held = monitor.task("T")
    assert held is not None
    states, faults = [held.state], []
    for word in words:
        faults += [str(event.kind) for event in monitor.feed(report(task, word)) if event.fault]
        states.append(held.state)
    return states, faults


def test_a_task_goes_forward_and_never_back_whatever_the_order() -> None:
    """Every order of its reports, with some of them lost or sent twice."""
    for size in range(1, 5):
        for words in itertools.product(REPORTS, repeat=size):
            states, faults = run(words)
            ranks = [ORDER.index(state) for state in states]
            assert ranks == sorted(ranks), (words, states)
            for before, after, word in zip(states[:-1], states[1:], words, strict=True):
                assert after == max(before, AFTER[word], key=ORDER.index) or before in CLOSED, (words, states)
            orderly = list(words) == sorted(set(words), key=REPORTS.index)
            if orderly and "Completed" not in words:  # "In Progress" may be left out by whoever just delivers
                assert len(faults) <= 1, (words, faults)


def test_going_on_before_escalation_is_told_once() -> None:
    """Whatever more is reported on the task, and whatever comes after the violation, it goes on to its end."""
    for words in itertools.product(["dispatch", "In Progress"], repeat=2):
        monitor, task = Monitor(), channels.dispatch("T", "WePlan", "x")
        first = [task, report(task, "Accepted")]
        again = channels.dispatch("T", "WePlan", "x").replace(correlation_id=task.id)
        later = [again, *(report(task, word) for word in words if word != "dispatch")]
        alert = channels.violation("SystemMonitor", "T", "x")
        rest = [report(task, "artifact"), report(task, "Completed")]
        events = [event for one in (*first, alert, *later, *rest) for event in monitor.feed(one)]
        assert [str(event.kind) for event in events if event.fault] == ["unescalated"], words
        held = monitor.task("T")
        assert held is not None and held.state is TaskState.COMPLETED


def _flows(seed: int) -> list[tuple[float, Envelope]]:
    """Flows of all kinds, orderly and not, over each other."""
    rnd = random.Random(seed)
    steps = []
    for number, make in enumerate([*ORDERLY, *(make for make, _ in FAULTY.values())]):
        flow = Flow(rnd, rnd.uniform(0, 200), number)
        make(flow)
        steps += flow.steps
    return sorted(steps, key=lambda step: step[0])


def _overdue(seed: int, looks: int) -> Counter[Any]:
    """Counts overdue events if the clock is looked at so often between two envelopes, and long after."""
    monitor = Monitor(deadlines=Deadlines(accept=3.0, finish=60.0, answer=4.0, escalate=3.0))
    told: Counter[Any] = Counter()
    before = 0.0
    for time, envelope in _flows(seed):
        for look in range(looks):
            at = START + before + (time - before) * look / looks
            told.update((event.subject, event.text) for event in monitor.overdue(at))
            assert monitor.overdue(at) == []
        told.update(
            (event.subject, event.text) for event in monitor.feed(envelope, START + time) if event.kind == "overdue"
        )
        before = time
    for late in (DAY, DAY, 2 * DAY):
        told.update((event.subject, event.text) for event in monitor.overdue(START + late))
    return told


def test_what_fell_due_is_told_once_however_often_somebody_asks() -> None:
    for seed in range(2):
        once = _overdue(seed, 0)
        assert len(once) > 5 and max(once.values()) == 1
        assert _overdue(seed, 3) == once


def test_an_envelope_without_authority_changes_nothing() -> None:
    """Forged by somebody else, in each state of a task: what follows is as if it had not come."""
    for done in range(5):
        for forged in ("status", "artifact", "stop", "resume", "dispatch", "escalate"):
            told = []
            for forging in (False, True):
                monitor, task = Monitor(), channels.dispatch("T", "WePlan", "x")
                for one in (task, *(report(task, word) for word in REPORTS[:done])):
                    monitor.feed(one)
                if forging:
                    made = {
                        "status": report(task, "Failed").replace(sender="Dima"),
                        "artifact": report(task, "artifact").replace(sender="Dima"),
                        "stop": channels.stop(task).replace(sender="Dima"),
                        "resume": channels.resume(task).replace(sender="WePlan"),
                        "dispatch": channels.dispatch("T", "Dima", "x").replace(sender="WePlan"),
                        "escalate": channels.stop(task).replace(sender="Dima", channel="⫻command/escalate"),
                    }[forged]
                    events = monitor.feed(made)
                    assert [str(event.kind) for event in events] in (["unauthorised"], ["late"]), (forged, done)
                    assert done == 4 or str(events[0].kind) == "unauthorised"
                held = monitor.task("T")
                assert held is not None
                rest = [str(event.kind) for word in REPORTS[done:] for event in monitor.feed(report(task, word))]
                told.append((held.state, rest))
            assert told[0] == told[1], (forged, done)
