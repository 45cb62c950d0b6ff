"""The monitor follows and the checklist judges, one step at a time: whom a violation pauses, what goes on, what a
report and an answer are about."""

from __future__ import annotations

import itertools
import random
import uuid
from collections import Counter
from typing import Any

import pytest

from tests.kick.traffic import AT, DAY, FAULTY, ORDERLY, START, Flow, kinds, overdue, report
from turnwire import kick
from turnwire.kick import Deadlines, Envelope, Monitor, TaskState, channels
from turnwire.kick.checklist import CHECKLIST
from turnwire.kick.monitor import MOST_RESUMED
from turnwire.kick.spec import BROADCAST, CLOSED, ESCALATION_RECEIVERS

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


@pytest.mark.parametrize("by", ["its own correlation", "the id of a task", "the name of a task"])
def test_a_violation_pauses_the_tasks_of(by: str) -> None:
    """All of a correlation, whatever names it."""
    monitor = Monitor()
    tasks = [dispatch(name, correlation_id=GROUP) for name in ("T-1", "T-2")]
    kinds(monitor, *tasks, dispatch("T-3"))
    name, correlation = {
        "its own correlation": ("T-9", GROUP),
        "the id of a task": ("T-9", tasks[1].id),
        "the name of a task": ("T-1", None),
    }[by]
    assert kinds(monitor, violation(name, correlation)) == ["violation", "paused", "paused"]


@pytest.mark.parametrize(("name", "correlation"), [("T-9", GROUP), (None, None)])
def test_what_is_paused_goes_on_by_its_correlation_or_its_agent(name: str | None, correlation: str | None) -> None:
    monitor = Monitor()
    tasks = [dispatch(f"T-{number}", correlation_id=GROUP) for number in (1, 2)]
    alert = violation("T-1")
    kinds(monitor, *tasks, alert, channels.escalate(alert, "look", timestamp=AT))
    command = channels.resume(dispatch(name or "x"), timestamp=AT).replace(correlation_id=correlation)
    command = command if name else bare(command)
    assert kinds(monitor, command) == ["resumed", "resumed"]
    assert kinds(monitor, command.replace(id=OTHER)) == ["uncorrelated"], "nothing is paused any more"


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


def test_a_task_that_was_stopped_while_it_was_paused_does_not_go_on() -> None:
    monitor, task = Monitor(), dispatch("T-1")
    kinds(monitor, task, violation("T-1"))
    assert kinds(monitor, channels.stop(task, timestamp=AT)) == ["stopped"]
    resume = bare(channels.resume(task, timestamp=AT))
    assert kinds(monitor, resume, resume.replace(id=OTHER, correlation_id=None)) == ["uncorrelated"] * 2


@pytest.mark.parametrize(("agent", "kind"), [("Dima", "resumed"), ("WePlan", "duplicate_task")])
def test_a_paused_task_goes_on_with_its_own_agent_alone(agent: str, kind: str) -> None:
    monitor, alert = Monitor(), violation("T-1")
    kinds(monitor, dispatch("T-1"), alert, channels.escalate(alert, "look", timestamp=AT))
    assert kinds(monitor, dispatch("T-1", agent)) == [kind]


@pytest.mark.parametrize("paused", [False, True])
def test_time_runs_from_the_first_report_and_not_while_a_task_is_paused(paused: bool) -> None:
    monitor, task = Monitor(deadlines=Deadlines(accept=10, finish=50, escalate=None)), dispatch("T-1")
    kinds(monitor, task, *([violation("T-1")] if paused else []), now=0.0)
    kinds(monitor, report(task, "Accepted"), now=1.0)
    assert overdue(monitor, 60) == ["overdue"] * (not paused)
    kinds(monitor, report(task, "In Progress"), now=61.0)
    assert overdue(monitor, 1e6) == [], "it is told once"


def test_a_report_without_a_name_is_about_the_dispatch_whose_id_it_has() -> None:
    monitor, task = Monitor(), dispatch("T-1")
    kinds(monitor, task, dispatch("T-2", correlation_id=task.id))
    (event,) = monitor.feed(bare(report(task, "Accepted")))
    assert (str(event.kind), event.subject) == ("accepted", task.id)


def test_a_stop_finds_a_task_by_the_id_of_its_dispatch() -> None:
    monitor, task = Monitor(), dispatch("T-1", correlation_id=GROUP)
    kinds(monitor, task, dispatch("T-2", correlation_id=GROUP))
    stop = bare(channels.stop(task, timestamp=AT)).replace(correlation_id=task.id)
    assert [(str(event.kind), event.subject) for event in monitor.feed(stop)] == [("stopped", task.id)]


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


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ids_of_envelopes_are_forgotten(size: int) -> None:
    monitor, tasks = Monitor(remember=size), [dispatch(f"T-{number}") for number in range(3 * size)]
    for number, task in enumerate(tasks):
        assert "duplicate" not in kinds(monitor, task)
        assert "duplicate" in kinds(monitor, task), number
        assert "duplicate" in kinds(monitor, tasks[max(number - size + 1, 0)]), number
    assert "duplicate" not in kinds(monitor, tasks[0])


@pytest.mark.parametrize("accepted", [0.0, 1.0, 40.0, 49.0, 50.0])
def test_the_time_to_finish_counts_from_the_dispatch(accepted: float) -> None:
    monitor, task = Monitor(deadlines=Deadlines(accept=100, finish=50)), dispatch("T-1")
    monitor.feed(task, 0.0)
    assert "overdue" not in kinds(monitor, report(task, "Accepted"), now=accepted)
    assert overdue(monitor, 50.0) == []  # the moment itself is in time
    assert overdue(monitor, 50.000001) == ["overdue"] and overdue(monitor, 1e9) == []


@pytest.mark.parametrize("remember", [1, 2, 3])
def test_what_has_ended_is_forgotten_with_all_its_dispatches(remember: int) -> None:
    monitor, task = Monitor(remember=remember), dispatch("T-1")
    again = dispatch("T-1")  # of the same run
    for envelope in (task, again, report(task, "Accepted"), report(again, "Completed")):
        monitor.feed(envelope, 1.0)
    for number in range(remember):
        assert kinds(monitor, report(task, "Completed"), report(again, "Completed"), now=2.0) == ["late", "late"]
        other = dispatch(f"T-1{number}")
        for envelope in (other, report(other, "Accepted"), report(other, "Completed")):
            monitor.feed(envelope, 2.0)
    assert kinds(monitor, report(task, "Completed"), now=3.0) == ["uncorrelated"]
    assert kinds(monitor, report(again, "Completed"), now=3.0) == ["uncorrelated"]


def test_violations_on_one_correlation_are_each_escalated() -> None:
    """One after the other, however often."""
    monitor, group = Monitor(), str(uuid.UUID(int=7, version=4))

    def envelope(number: int, channel: str, receiver: str, sender: str, kind: str) -> Envelope:
        name = str(uuid.UUID(int=number + 100, version=4))
        return Envelope(name, AT, sender, receiver, kind, f"\u2afb{channel}", f"\u2afb{channel}:t/001\nx\n", group)

    subjects = []
    for number in range(0, 8, 2):
        first = envelope(number, "alert/violation", BROADCAST, "Auditor", "Alert")
        assert kinds(monitor, first, now=0.0) == ["violation"]
        (event,) = monitor.feed(
            envelope(number + 1, "command/escalate", ESCALATION_RECEIVERS[0], "Orchestrator", "Command"), 0.0
        )
        subjects.append((str(event.kind), event.subject == first.id))
    assert subjects == [("escalated", True)] * 4 and len(monitor.unfinished) == 0
    assert overdue(monitor, 1e6) == []


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


def test_a_task_that_has_ended_is_not_paused() -> None:
    monitor, task = Monitor(), dispatch("T-1")
    for envelope in (task, report(task, "Accepted"), report(task, "Completed")):
        monitor.feed(envelope)
    assert kinds(monitor, channels.violation("Auditor", "T-1", "x", timestamp=AT)) == ["violation"]


@pytest.mark.parametrize("remember", [1, 3])
def test_a_violation_that_was_forgotten_is_not_known_by_its_task(remember: int) -> None:
    monitor, task = Monitor(remember=remember), dispatch("T-1")
    alert = channels.violation("Auditor", "T-1", "x", timestamp=AT)
    told = [channels.escalate(alert, "look", timestamp=AT).replace(correlation_id=None) for _ in range(3)]
    assert [kinds(monitor, one) for one in (task, alert)] == [["dispatched"], ["violation", "paused"]]
    assert [kinds(monitor, one) for one in told[:2]] == [["escalated"]] * 2  # as often as somebody likes
    for number in range(remember):
        other = channels.violation("Auditor", f"X-{number}", "x", timestamp=AT)
        for envelope in (other, channels.escalate(other, "look", timestamp=AT)):
            monitor.feed(envelope)
    assert kinds(monitor, told[2]) == ["uncorrelated"]


def test_a_report_responds_to_no_command_of_a_correlation_that_tasks_have() -> None:
    """It must be about one of them."""
    for tasks in (0, 2):
        monitor, group = Monitor(), str(uuid.UUID(int=7, version=4))
        one = dispatch("T-1", correlation_id=group)
        for number in range(tasks):
            monitor.feed(dispatch(f"T-{number}", correlation_id=group))
        command = channels.stop(one, timestamp=AT).replace(
            channel="\u2afbcommand/other", content="\u2afbcommand/other\n"
        )
        response = report(one, "Accepted").replace(content="\u2afbreport/status\nAccepted\n")
        assert kinds(monitor, command) == []
        assert kinds(monitor, response) == ["uncorrelated"] * bool(tasks)


@pytest.mark.parametrize("field", ["sender", "receiver", "channel", "content", "timestamp", None])
def test_an_id_is_reused_where_any_field_differs(field: str | None) -> None:
    other = {
        "sender": "WePlan",
        "receiver": "Human",
        "channel": "⫻query/other",
        "content": "⫻query/context:other/001\nwhich?\n",
        "timestamp": "2026-01-01T00:00:01Z",
    }
    monitor = Monitor()
    first = channels.context("Supervisor", "Dima", "branch", "which?", timestamp=AT)
    monitor.feed(first)
    again = first if field is None else first.replace(**{field: other[field]})
    assert kinds(monitor, again) == ["duplicate" if field is None else "id_reused"]


def test_a_report_is_about_the_last_run_of_its_name_in_its_group() -> None:
    """Also where the name has run in another group since."""
    monitor = Monitor()
    groups = [channels.context("Dima", "WePlan", "x", "y", timestamp=AT).id for _ in range(2)]
    runs = []
    for group in (groups[0], groups[0], groups[1]):
        task = channels.dispatch("T-1", "Dima", "do", timestamp=AT, correlation_id=group)
        monitor.feed(task)
        monitor.feed(channels.stop(task, timestamp=AT))
        runs.append(task)
    for run, group in ((runs[1], groups[0]), (runs[2], groups[1])):
        report = channels.status(run, "Completed", timestamp=AT, correlation_id=group)
        (event,) = monitor.feed(report)
        assert (str(event.kind), event.subject) == ("late", run.id)


@pytest.mark.parametrize(
    ("place", "stopped"), [("Dima", 2), ("", 2), ("T-1", 1), ("T-2", 1), ("T-9", 0), ("WePlan", 0), ("dima", 0)]
)
def test_what_a_stop_names_without_a_correlation(place: str, stopped: int) -> None:
    """A task, the agent itself or nothing: then all that this agent does."""
    monitor = Monitor()
    for name, agent in (("T-1", "Dima"), ("T-2", "Dima"), ("T-3", "WePlan")):
        monitor.feed(dispatch(name, agent))
    content = f"⫻command/stop:{place}/001\n" if place else "⫻command/stop\n"
    stop = channels.stop(dispatch("T-1"), timestamp=AT).replace(content=content, correlation_id=None)
    events = kinds(monitor, stop)
    assert events == (["stopped"] * stopped or ["uncorrelated"])


@pytest.mark.parametrize("broadcast_first", [False, True])
def test_an_answer_settles_the_question_that_waits_longest(broadcast_first: bool) -> None:
    monitor = Monitor()
    first, second = (BROADCAST, "Dima") if broadcast_first else ("Dima", BROADCAST)
    asked = [channels.context("WePlan", first, "branch", "which?", timestamp=AT)]
    more = channels.context("WePlan", second, "branch", "which?", timestamp=AT, correlation_id=asked[0].id)
    asked.append(more)
    for one in asked:
        assert kinds(monitor, one) == ["asked"]
    for one in asked:
        (event,) = monitor.feed(channels.answer(one, "main", sender="Dima", timestamp=AT))
        assert (str(event.kind), event.subject) == ("answered", one.id)


@pytest.mark.parametrize("asked", [BROADCAST, "Dima"])
def test_who_asked_does_not_answer(asked: str) -> None:
    """Neither right nor as the wrong one: it goes on waiting for an answer."""
    monitor = Monitor()
    question = channels.context("WePlan", asked, "branch", "which?", timestamp=AT)
    said = [question, *(channels.answer(question, "main", sender=name, timestamp=AT) for name in ("WePlan", "Dima"))]
    assert kinds(monitor, *said) == ["asked", "uncorrelated", "answered"] and monitor.unfinished == []


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
