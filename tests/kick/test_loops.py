"""The monitor follows and the checklist judges, one step at a time: whom a violation pauses, what goes on, what a
report and an answer are about."""

from __future__ import annotations

import itertools
import random
import uuid
from collections import Counter
from typing import Any

import pytest

from tests.kick.traffic import AT, DAY, FAULTY, ORDERLY, START, Flow, kinds, report
from turnwire import kick
from turnwire.kick import Deadlines, Envelope, Monitor, TaskState, channels
from turnwire.kick.checklist import CHECKLIST
from turnwire.kick.monitor import MOST_RESUMED
from turnwire.kick.spec import CLOSED

pytestmark = pytest.mark.once

GROUP, OTHER = (str(uuid.UUID(int=number, version=4)) for number in (7, 8))


def dispatch(name: str, agent: str = "Dima", **options: str | None) -> Envelope:
    return channels.dispatch(name, agent, "do", timestamp=AT, **options)  # type: ignore[arg-type]


def violation(name: str, correlation: str | None = None) -> Envelope:
    return channels.violation("Auditor", name, "bad", timestamp=AT, correlation_id=correlation)


def bare(envelope: Envelope) -> Envelope:
    """The same with a content that names no task."""
    head, _, text = envelope.content.partition("\n")
    return envelope.replace(content=f"{head.partition(':')[0]}\n{text}")


def failing(*envelopes: Envelope | kick.Space, now: float | None = None) -> list[str]:
    return [line.clause.id for line in kick.conformance(*envelopes, now=now) if line.faults]


@pytest.mark.parametrize("by_agent", [False, True])
def test_resumes_let_only_so_many_tasks_go_on(by_agent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a violation and a resume in turn tell as much as tasks and messages are, not as both multiplied."""
    monkeypatch.setattr("turnwire.kick.monitor.MOST_RESUMED", 4)
    monitor = Monitor()
    names = [f"T-{number}" for number in range(70)]
    for name in names:
        kinds(monitor, dispatch(name, correlation_id=GROUP))

    def paused() -> int:
        return kinds(monitor, violation("T-1")).count("paused")

    def resumed() -> tuple[list[str | None], set[str]]:
        command = bare(channels.resume(dispatch("x"), timestamp=AT)).replace(correlation_id=None if by_agent else GROUP)
        found = [event for event in monitor.feed(command) if event.kind == "resumed"]
        return [event.task for event in found], {event.text for event in found}

    left = 70 * 4
    for _ in range(4):
        assert paused() == 70
        assert resumed() == (names, {""})
        left += 4 - 70
    assert (paused(), left) == (70, 16)
    others = {"other tasks stay paused until the next resume"}
    assert resumed() == (names[:20], others)
    assert [task.name for task in monitor.tasks if task.paused] == names[20:]
    kinds(monitor, *(report(dispatch(name, correlation_id=GROUP), "Failed") for name in names[:2]))
    assert resumed() == (names[20:24], others)
    kinds(monitor, dispatch("T-new", correlation_id=GROUP))
    assert resumed() == (names[24:32], others)
    assert [str(event.kind) for event in monitor.resume("T-50")] == ["resumed"]
    assert paused() == 30 + 2, "those that went on, and the new one"
    kinds(monitor, *(dispatch(f"T-other-{number}", "Other") for number in range(17)))
    assert resumed() == ([*names[2:], "T-new"], {""})


def test_few_tasks_are_paused_and_go_on_any_number_of_times() -> None:
    monitor = Monitor()
    kinds(monitor, *(dispatch(f"T-{number}", correlation_id=GROUP) for number in range(MOST_RESUMED)))
    for _ in range(MOST_RESUMED + 1):
        assert kinds(monitor, violation("T-1")).count("paused") == MOST_RESUMED
        resume = bare(channels.resume(dispatch("x"), timestamp=AT)).replace(correlation_id=GROUP)
        assert kinds(monitor, resume).count("resumed") == MOST_RESUMED


# ---------------------------------------------------------------- the checklist


def test_an_envelope_that_breaks_several_clauses_breaks_each() -> None:
    task = dispatch("T-1")
    accepted = report(task, "Accepted").replace(receiver="WePlan")
    assert failing(task, accepted) == ["channels"]
    assert failing(task, accepted, accepted) == ["ids", "channels"]


def test_a_document_without_sections_is_none() -> None:
    assert failing(kick.Space("text", [])) == ["documents"]
    assert failing(kick.Space("", [kick.Section("a", "b", content="x")])) == []


@pytest.mark.parametrize("now", [None, 1.0e9, 4.0e9])
def test_what_is_late_at_a_moment_is_a_fault(now: float | None) -> None:
    checker = CHECKLIST.checker(now=now)
    checker.message(dispatch("T-1"), 1)
    checker.end()
    late = now is not None and now > 2e9
    assert failing(dispatch("T-1"), now=now) == ["loop"] * late == [fault.clause for fault in checker.faults]
    assert [fault.clause for fault in checker.open] == ["loop"] * (not late)


def test_however_much_is_late_all_that_is_unfinished_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    checker = CHECKLIST.checker(now=4.0e9)
    monkeypatch.setattr(checker, "_monitor", Monitor(remember=2))
    for line in range(1, 6):
        checker.message(dispatch(f"T-{line}"), line)
    checker.end()
    assert [fault.line for fault in checker.faults] == [1, 2, 3, 4, 5] and not checker.open


def test_what_is_no_envelope_was_judged_as_one() -> None:
    text = kick.encode(dispatch("T-1")).replace("⫻command/", "command/")
    found = kick.conformance(text)
    assert [line.clause.id for line in found if line.faults] == ["channels"]
    assert found.line("envelope").status == "pass"


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(("receivers", "kind"), [(("*", "!Boss"), "escalated"), (("*", "!Human"), "misdirected")])
def test_a_violation_goes_to_whom_the_row_of_its_channel_names(receivers: tuple[str, ...], kind: str) -> None:
    """As rows name people: anyone, and some not."""
    row = kick.Row("command/escalate", "Command", ("*",), receivers)
    policy = kick.DEFAULT_POLICY.with_rows(row)
    monitor = Monitor(policy)
    alert = channels.violation("Auditor", "T-1", "x")
    monitor.feed(alert, 0.0)
    told = channels.escalate(alert, "x", receiver="Human", policy=kick.DEFAULT_POLICY)
    events: list[kick.Event] = []
    monitor.feed_checked(told, 0.0, [], events.append)
    assert str(events[0].kind) == kind


# --- the promises of docs/kick.md: reports lost, doubled, unordered, forged; many looks at the clock ------------------


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
                rest = [str(event.kind) for word in REPORTS[done:] for event in monitor.feed(report(task, word))]
                told.append((held.state, rest))
            assert told[0] == told[1], (forged, done)
