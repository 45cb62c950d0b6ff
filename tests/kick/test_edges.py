"""What the monitor counts by: moments at a deadline, sizes of its memory, further dispatches of one run."""

from __future__ import annotations

import uuid
from collections import OrderedDict
from typing import Any

import pytest

from turnwire import kick
from turnwire.errors import EncodeError
from turnwire.kick import Deadlines, Envelope, Monitor, channels
from turnwire.kick.bulk import claims
from turnwire.kick.channels import Options
from turnwire.kick.spec import BROADCAST, ESCALATION_RECEIVERS, REQUIRED_FIELDS, ROLES
from turnwire.kick.tracking import Query, Recent, Runs, Table, Task, drop, first, put

AT = "2026-01-01T00:00:00Z"


def dispatch(name: str, **options: Any) -> Envelope:
    return channels.dispatch(name, "Worker", "do", timestamp=AT, **options)


def report(task: Envelope, word: str) -> Envelope:
    return channels.status(task, word, timestamp=AT)


def kinds(monitor: Monitor, envelope: Envelope, now: float | None = None) -> list[str]:
    return [str(event.kind) for event in monitor.feed(envelope, now)]


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_at_least_the_last_keys_are_remembered_and_at_most_twice_as_many(size: int) -> None:
    recent = Recent(size)
    for number in range(5 * size):
        assert recent.remember(str(number), number + 1) is None
        known = [key for key in range(number + 1) if recent.get(str(key)) is not None]
        assert known == list(range(known[0], number + 1)) and min(size, number + 1) <= len(known) <= 2 * size
        assert all(recent.get(str(key)) == key + 1 for key in known)
        assert recent.remember(str(number), "other") == number + 1


def test_what_is_remembered_is_put_into_the_table_that_is_there() -> None:
    """A new table is begun when one is full, not with each key: that would cost as much as all that is held."""
    recent, tables = Recent(100), []
    for number in range(1000):
        recent.put(str(number), number)
        if not any(table is recent._new for table in tables):
            tables.append(recent._new)
    assert list(map(len, tables)) == [100] * 10


def test_many_things_under_a_key_are_where_the_first_is_found_at_once() -> None:
    """The first of a dict is looked for behind all that was taken out of it."""
    table: Table[Query] = {}
    asked = [Query(dispatch(f"T-{number}")) for number in range(20)]
    for number, one in enumerate(asked, 1):
        put(table, "key", one)
        assert isinstance(table["key"], OrderedDict) is (number > 8)
    for number, one in enumerate(asked):
        assert first(table, "key") is one
        drop(table, "key", one)
        assert list(table) == ["key"] * (number < 19)


@pytest.mark.parametrize(("ended", "number", "found"), [(5, 4, 4), (5, 5, None), (5, 6, None), (None, 6, 6)])
def test_what_comes_behind_a_run_is_not_within_it(ended: int | None, number: int, found: int | None) -> None:
    runs, task = Runs(), Task(dispatch("T"), "T", None, 2)
    task.ended = ended
    runs.add(task)
    assert runs.first("T", {task.group: [1, 2, number]}) == found
    assert bool(runs._runs) is (found is not None)


def test_the_run_that_is_forgotten_is_the_one_that_was_named() -> None:
    runs, tasks = Runs(), [Task(dispatch("T"), "T", None, number) for number in (10, 20, 30)]
    for task in tasks:
        runs.add(task)
        task.ended = task.number + 5
    runs.forget(tasks[1])
    within = {task.group: [task.number + 1] for task in tasks}
    assert runs.first("T", within) == 11
    runs.forget(tasks[0])
    assert runs.first("T", within) == 31


@pytest.mark.parametrize("size", [1, 2, 3])
def test_ids_of_envelopes_are_forgotten(size: int) -> None:
    monitor, tasks = Monitor(remember=size), [dispatch(f"T-{number}") for number in range(3 * size)]
    for number, task in enumerate(tasks):
        assert "duplicate" not in kinds(monitor, task)
        assert "duplicate" in kinds(monitor, task), number
        assert "duplicate" in kinds(monitor, tasks[max(number - size + 1, 0)]), number
    assert "duplicate" not in kinds(monitor, tasks[0])


def overdue(monitor: Monitor, now: float) -> list[str]:
    return [str(event.kind) for event in monitor.overdue(now)]


@pytest.mark.parametrize("accepted", [0.0, 1.0, 40.0, 49.0, 50.0])
def test_the_time_to_finish_counts_from_the_dispatch(accepted: float) -> None:
    monitor, task = Monitor(deadlines=Deadlines(accept=100, finish=50)), dispatch("T-1")
    monitor.feed(task, 0.0)
    assert "overdue" not in kinds(monitor, report(task, "Accepted"), accepted)
    assert overdue(monitor, 50.0) == []  # the moment itself is in time
    assert overdue(monitor, 50.000001) == ["overdue"] and overdue(monitor, 1e9) == []


@pytest.mark.parametrize("accept", [1.0, 60.0])
def test_the_time_to_accept(accept: float) -> None:
    monitor, task = Monitor(deadlines=Deadlines(accept=accept)), dispatch("T-1")
    monitor.feed(task, 7.0)
    assert overdue(monitor, 7.0 + accept) == [] and overdue(monitor, 7.5 + accept) == ["overdue"]


@pytest.mark.parametrize("remember", [1, 2, 3])
def test_what_has_ended_is_forgotten_with_all_its_dispatches(remember: int) -> None:
    monitor, task = Monitor(remember=remember), dispatch("T-1")
    again = dispatch("T-1")  # of the same run
    for envelope in (task, again, report(task, "Accepted"), report(again, "Completed")):
        monitor.feed(envelope, 1.0)
    for number in range(remember):
        assert kinds(monitor, report(task, "Completed"), 2.0) == kinds(monitor, report(again, "Completed")) == ["late"]
        other = dispatch(f"T-1{number}")
        for envelope in (other, report(other, "Accepted"), report(other, "Completed")):
            monitor.feed(envelope, 2.0)
    assert kinds(monitor, report(task, "Completed"), 3.0) == ["uncorrelated"]
    assert kinds(monitor, report(again, "Completed"), 3.0) == ["uncorrelated"]


FIELDS = {"id": "1", "timestamp": "t", "sender": "a", "receiver": "b", "type": "x", "channel": "c", "content": "d"}


@pytest.mark.parametrize(
    ("fields", "claimed"),
    [
        ({"channel": "\u2afba/b"}, False),
        ({"channel": "\u2afba/b", "id": 1}, True),
        ({"channel": "\u2afba/b", "other": 1}, False),
        *(({"content": "\u2afba", **dict.fromkeys(names, "x")}, True) for names in (("sender", "id", "type"),)),
        *(({"content": "\u2afba", **dict.fromkeys(names, "x")}, False) for names in (("sender", "id"), ("sender",))),
        ({"content": "\u2afba", "id": 1, "type": 1, "timestamp": 1}, False),
        (FIELDS, False),
        (FIELDS | {"type": "Command"}, True),
        (FIELDS | {"sender": "Orchestrator"}, True),
        ({name: FIELDS[name] for name in FIELDS if name != "id"} | {"sender": "Orchestrator"}, True),
        ({name: FIELDS[name] for name in FIELDS if name not in ("id", "type")} | {"sender": "Orchestrator"}, False),
        ({name: FIELDS[name] for name in FIELDS if name != "id"} | {"type": "Command"}, False),
    ],
)
def test_what_claims_to_be_an_envelope(fields: dict[str, Any], claimed: bool) -> None:
    assert claims(fields) is claimed


def test_all_options_of_a_channel_at_once() -> None:
    name, other = (str(uuid.UUID(int=number, version=4)) for number in (1, 2))
    policy = kick.DEFAULT_POLICY.with_rows(kick.Row("command/dispatch", "Command", ("Orchestrator",), ("Worker",)))
    given = {"id": name, "timestamp": AT, "index": "007", "policy": policy, "correlation_id": other}
    assert given.keys() == Options.__annotations__.keys()
    made = channels.dispatch("T-1", "Worker", "do", **given)
    assert (made.id, made.timestamp, made.correlation_id) == (name, AT, other) and "007" in made.content
    with pytest.raises(TypeError, match="other: no option of a channel"):
        channels.dispatch("T-1", "Worker", "do", **given, other="x")
    with pytest.raises(EncodeError, match="receiver_not_allowed"):
        channels.dispatch("T-1", "Dima", "do", policy=policy)


@pytest.mark.parametrize("digits", [1, 17, 18, 19, 30])
def test_an_index_has_18_digits_at_most_to_be_a_number(digits: int) -> None:
    first, later = int("1" + "0" * (digits - 1)), int("5" + "0" * (digits - 1))
    text = f"\u2afba/b:x/{first}\none\n\u2afba/b:x/{later}\ntwo\n"
    found = [str(issue.reason) for issue in kick.lint(kick.parse_space(text))]
    assert found == (["index_gap"] if digits <= 18 else [])


def test_the_first_of_several_names_that_are_no_field_is_told() -> None:
    for names in (("zz", "aa"), ("aa", "zz")):
        with pytest.raises(TypeError, match="Envelope has no field 'aa'"):
            dispatch("T-1").replace(**dict.fromkeys(names, 1))


def test_violations_on_one_correlation_are_each_escalated() -> None:
    """One after the other, however often."""
    monitor, group = Monitor(), str(uuid.UUID(int=7, version=4))

    def envelope(number: int, channel: str, receiver: str, sender: str, kind: str) -> Envelope:
        name = str(uuid.UUID(int=number + 100, version=4))
        return Envelope(name, AT, sender, receiver, kind, f"\u2afb{channel}", f"\u2afb{channel}:t/001\nx\n", group)

    subjects = []
    for number in range(0, 8, 2):
        first = envelope(number, "alert/violation", BROADCAST, "Auditor", "Alert")
        assert [str(event.kind) for event in monitor.feed(first, 0.0)] == ["violation"]
        (event,) = monitor.feed(
            envelope(number + 1, "command/escalate", ESCALATION_RECEIVERS[0], "Orchestrator", "Command"), 0.0
        )
        subjects.append((str(event.kind), event.subject == first.id))
    assert subjects == [("escalated", True)] * 4 and len(monitor.unfinished) == 0
    assert overdue(monitor, 1e6) == []


@pytest.mark.parametrize("role", ROLES)
def test_some_names_of_roles_are_names_of_other_people_too(role: str) -> None:
    """An object that lacks one field is a damaged envelope by a role alone that nobody else has."""
    fields = dict.fromkeys(REQUIRED_FIELDS[:-1], "x") | {"sender": role}
    assert claims(fields) is (role not in ("Human", "Supervisor", "Dima"))


@pytest.mark.parametrize(("receivers", "kind"), [(("*", "!Boss"), "escalated"), (("*", "!Human"), "misdirected")])
def test_a_violation_goes_to_whom_the_row_of_its_channel_names(receivers: tuple[str, ...], kind: str) -> None:
    """As rows name people: anyone, and some not."""
    row = kick.Row("command/escalate", "Command", ("*",), receivers)
    policy = kick.DEFAULT_POLICY.with_rows(row)
    monitor = Monitor(policy)
    alert = channels.violation("Auditor", "T-1", "x")
    monitor.feed(alert, 0.0)
    told = channels.escalate(alert, "x", receiver="Human", policy=kick.DEFAULT_POLICY)
    assert str(monitor.judged(told, 0.0, [])[0].kind) == kind


@pytest.mark.parametrize("parts", [{"place": "a"}, {"index": "2"}, {"place": "a", "index": "2"}])
def test_a_qualifier_says_what_place_and_index_say(parts: dict[str, str]) -> None:
    """Either of them alone may contradict it."""
    assert kick.Section("x", qualifier="a/1", place="a", index="1").index == "1"
    with pytest.raises(EncodeError, match="say different things"):
        kick.Section("x", qualifier="a/1", **parts)


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
    assert [kinds(monitor, one) for one in told[:2]] == [["escalated"]] * 2
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
