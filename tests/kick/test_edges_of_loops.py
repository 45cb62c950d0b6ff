"""What the monitor follows and the checklist judges, one step at a time: whom a violation pauses, what goes on, what a
report and an answer are about."""

from __future__ import annotations

import uuid

import pytest

from turnwire import kick
from turnwire.errors import DecodeError
from turnwire.kick import Deadlines, Envelope, Monitor, Policy, channels
from turnwire.kick.checklist import CHECKLIST
from turnwire.kick.loop import MOST_RESUMED

AT = "2026-01-01T00:00:00Z"
GROUP, OTHER = (str(uuid.UUID(int=number, version=4)) for number in (7, 8))


def dispatch(name: str, agent: str = "Dima", **options: str | None) -> Envelope:
    return channels.dispatch(name, agent, "do", timestamp=AT, **options)  # type: ignore[arg-type]


def violation(name: str, correlation: str | None = None) -> Envelope:
    return channels.violation("Auditor", name, "bad", timestamp=AT, correlation_id=correlation)


def told(monitor: Monitor, *envelopes: Envelope, now: float | None = None) -> list[str]:
    return [str(event.kind) for one in envelopes for event in monitor.feed(one, now)]


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
    told(monitor, *tasks, dispatch("T-3"))
    name, correlation = {
        "its own correlation": ("T-9", GROUP),
        "the id of a task": ("T-9", tasks[1].id),
        "the name of a task": ("T-1", None),
    }[by]
    assert told(monitor, violation(name, correlation)) == ["violation", "paused", "paused"]


@pytest.mark.parametrize(("name", "correlation"), [("T-9", GROUP), (None, None)])
def test_what_is_paused_goes_on_by_its_correlation_or_its_agent(name: str | None, correlation: str | None) -> None:
    monitor = Monitor()
    tasks = [dispatch(f"T-{number}", correlation_id=GROUP) for number in (1, 2)]
    alert = violation("T-1")
    told(monitor, *tasks, alert, channels.escalate(alert, "look", timestamp=AT))
    command = channels.resume(dispatch(name or "x"), timestamp=AT).replace(correlation_id=correlation)
    command = command if name else bare(command)
    assert told(monitor, command) == ["resumed", "resumed"]
    assert told(monitor, command.replace(id=OTHER)) == ["uncorrelated"], "nothing is paused any more"


@pytest.mark.parametrize("by_agent", [False, True])
def test_resumes_let_only_so_many_tasks_go_on(by_agent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a violation and a resume in turn tell as much as tasks and messages are, not as both multiplied."""
    monkeypatch.setattr("turnwire.kick.loop.MOST_RESUMED", 4)
    monitor = Monitor()
    names = [f"T-{number}" for number in range(70)]
    for name in names:
        told(monitor, dispatch(name, correlation_id=GROUP))

    def paused() -> int:
        return told(monitor, violation("T-1")).count("paused")

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
    others = {"others stay paused until the next resume"}
    assert resumed() == (names[:20], others)
    assert [task.name for task in monitor.tasks if task.paused] == names[20:]
    told(
        monitor, *(channels.status(dispatch(name, correlation_id=GROUP), "Failed", timestamp=AT) for name in names[:2])
    )
    assert resumed() == (names[20:24], others)
    told(monitor, dispatch("T-new", correlation_id=GROUP))
    assert resumed() == (names[24:32], others)
    assert [str(event.kind) for event in monitor.resume("T-50")] == ["resumed"]
    assert paused() == 30 + 2, "those that went on, and the new one"
    told(monitor, *(dispatch(f"T-other-{number}", "Other") for number in range(17)))
    assert resumed() == ([*names[2:], "T-new"], {""})


def test_few_tasks_are_paused_and_go_on_any_number_of_times() -> None:
    monitor = Monitor()
    told(monitor, *(dispatch(f"T-{number}", correlation_id=GROUP) for number in range(MOST_RESUMED)))
    for _ in range(MOST_RESUMED + 1):
        assert told(monitor, violation("T-1")).count("paused") == MOST_RESUMED
        resume = bare(channels.resume(dispatch("x"), timestamp=AT)).replace(correlation_id=GROUP)
        assert told(monitor, resume).count("resumed") == MOST_RESUMED


def test_a_task_that_was_stopped_while_it_was_paused_does_not_go_on() -> None:
    monitor, task = Monitor(), dispatch("T-1")
    told(monitor, task, violation("T-1"))
    assert told(monitor, channels.stop(task, timestamp=AT)) == ["stopped"]
    resume = bare(channels.resume(task, timestamp=AT))
    assert told(monitor, resume, resume.replace(id=OTHER, correlation_id=None)) == ["uncorrelated"] * 2


@pytest.mark.parametrize(("agent", "kind"), [("Dima", "resumed"), ("WePlan", "duplicate_task")])
def test_a_paused_task_goes_on_with_its_own_agent_alone(agent: str, kind: str) -> None:
    monitor, alert = Monitor(), violation("T-1")
    told(monitor, dispatch("T-1"), alert, channels.escalate(alert, "look", timestamp=AT))
    assert told(monitor, dispatch("T-1", agent)) == [kind]


@pytest.mark.parametrize("paused", [False, True])
def test_time_runs_from_the_first_report_and_not_while_a_task_is_paused(paused: bool) -> None:
    monitor, task = Monitor(deadlines=Deadlines(accept=10, finish=50, escalate=None)), dispatch("T-1")
    told(monitor, task, *([violation("T-1")] if paused else []), now=0.0)
    told(monitor, channels.status(task, "Accepted", timestamp=AT), now=1.0)
    assert [str(event.kind) for event in monitor.overdue(60)] == ["overdue"] * (not paused)
    told(monitor, channels.status(task, "In Progress", timestamp=AT), now=61.0)
    assert monitor.overdue(1e6) == [], "it is told once"


def test_a_report_without_a_name_is_about_the_dispatch_whose_id_it_has() -> None:
    monitor, task = Monitor(), dispatch("T-1")
    told(monitor, task, dispatch("T-2", correlation_id=task.id))
    (event,) = monitor.feed(bare(channels.status(task, "Accepted", timestamp=AT)))
    assert (str(event.kind), event.subject) == ("accepted", task.id)


def test_a_stop_finds_a_task_by_the_id_of_its_dispatch() -> None:
    monitor, task = Monitor(), dispatch("T-1", correlation_id=GROUP)
    told(monitor, task, dispatch("T-2", correlation_id=GROUP))
    stop = bare(channels.stop(task, timestamp=AT)).replace(correlation_id=task.id)
    assert [(str(event.kind), event.subject) for event in monitor.feed(stop)] == [("stopped", task.id)]


def test_a_violation_may_be_escalated_again() -> None:
    monitor, alert = Monitor(), violation("T-1")
    told(monitor, alert)
    for _ in range(3):
        assert told(monitor, channels.escalate(alert, "look", timestamp=AT)) == ["escalated"]


def test_nobody_answers_a_question_of_their_own() -> None:
    monitor, asked = Monitor(), channels.context("WePlan", "Dima", "branch", "which?", timestamp=AT)
    told(monitor, asked)
    more = channels.context("WePlan", "WePlan", "branch", "and why?", timestamp=AT, correlation_id=asked.id)
    assert told(monitor, more.replace(channel="⫻query/context", content="⫻other/x\ntext\n")) == ["asked"]


@pytest.mark.parametrize("remember", [1, 3])
def test_runs_are_forgotten_with_their_tasks(remember: int) -> None:
    monitor = Monitor(remember=remember)
    for number in range(10 * remember):
        task = dispatch(f"T-{number}")
        told(monitor, task, channels.stop(task, timestamp=AT))
    assert all(len(runs._runs) <= remember for runs in monitor._loop.runs)


# ---------------------------------------------------------------- the checklist


def test_an_envelope_that_breaks_several_clauses_breaks_each() -> None:
    task = dispatch("T-1")
    report = channels.status(task, "Accepted", timestamp=AT).replace(receiver="WePlan")
    assert failing(task, report) == ["channels"]
    assert failing(task, report, report) == ["ids", "channels"]


def test_a_document_without_sections_is_none() -> None:
    assert failing(kick.Space("text", [])) == ["documents"]
    assert failing(kick.Space("", [kick.Section("a", "b", content="x")])) == []


@pytest.mark.parametrize("now", [None, 1.0e9, 4.0e9])
def test_what_is_late_at_a_moment_is_a_fault(now: float | None) -> None:
    """Given with the judgement, or when all has been judged."""
    judge = CHECKLIST.judge()
    judge.message(dispatch("T-1"), 1)
    if now is not None:
        judge.as_of(now)
    judge.end()
    late = now is not None and now > 2e9
    assert failing(dispatch("T-1"), now=now) == ["loop"] * late == [fault.clause for fault in judge.faults]
    assert [fault.clause for fault in judge.open] == ["loop"] * (not late)


def test_what_is_no_envelope_was_judged_as_one() -> None:
    text = kick.encode(dispatch("T-1")).replace("⫻command/", "command/")
    found = kick.conformance(text)
    assert [line.clause.id for line in found if line.faults] == ["channels"]
    assert found.line("envelope").status == "pass"


# ---------------------------------------------------------------- values


def test_a_space_is_like_no_other_thing() -> None:
    space = kick.Space("", [kick.Section("a", "b", content="x")])
    assert space == kick.Space("", [kick.Section("a", "b", content="x")])
    assert space != 5 and space != "" and space.__eq__(5) is NotImplemented


def test_the_type_of_an_envelope_is_text_in_a_dict() -> None:
    assert type(dispatch("T-1").to_dict()["type"]) is str


@pytest.mark.parametrize("rows", ["x", "", {}, {"channel": "a/*"}, 5, None, []])
def test_rows_of_a_policy_are_a_list(rows: object) -> None:
    with pytest.raises(DecodeError) as caught:
        Policy.from_dict({"row": rows})
    assert (caught.value.reason, caught.value.path) == ("bad_policy", "/row")
