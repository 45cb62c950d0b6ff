"""One by one: what each function of channels makes, which field makes an id reused, which run a report is about, what
a stop names, the parts of a section, the options of a document."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from turnwire import kick
from turnwire.errors import RuleError
from turnwire.kick import Deadlines, Envelope, Monitor, Policy, Space, channels
from turnwire.kick.policy import DEFAULT_POLICY, Row
from turnwire.kick.rules import lint
from turnwire.kick.spec import BROADCAST, ORCHESTRATOR

AT = "2026-01-01T00:00:00Z"
TASK = channels.dispatch("T-1", "Dima", "do", timestamp=AT)
ASKED = channels.context("WePlan", "Dima", "branch", "which?", timestamp=AT)
ALERT = channels.violation("Dima", "T-1", "bad", timestamp=AT)
MADE: dict[str, tuple[Envelope, tuple[str, str, str, str, str]]] = {
    # what it is, its type and channel, from whom to whom, and how its content begins
    "dispatch": (TASK, ("Command", "⫻command/dispatch", ORCHESTRATOR, "Dima", "⫻task/dispatch:T-1/001")),
    "stop": (channels.stop(TASK), ("Command", "⫻command/stop", ORCHESTRATOR, "Dima", "⫻command/stop:T-1/001")),
    "resume": (channels.resume(TASK), ("Command", "⫻command/resume", ORCHESTRATOR, "Dima", "⫻command/resume:T-1/001")),
    "status": (
        channels.status(TASK, "Accepted"),
        ("Info", "⫻report/status", "Dima", ORCHESTRATOR, "⫻report/status:T-1/001"),
    ),
    "artifact": (
        channels.artifact(TASK, "a.md"),
        ("Info", "⫻report/artifact", "Dima", ORCHESTRATOR, "⫻report/artifact:T-1/001"),
    ),
    "error": (
        channels.error("Dima", "T-1", "x"),
        ("Alert", "⫻alert/error", "Dima", BROADCAST, "⫻alert/error:T-1/001"),
    ),
    "violation": (ALERT, ("Alert", "⫻alert/violation", "Dima", BROADCAST, "⫻alert/violation:T-1/001")),
    "escalate": (
        channels.escalate(ALERT, "look"),
        ("Command", "⫻command/escalate", ORCHESTRATOR, "Human", "⫻command/escalate:T-1/001"),
    ),
    "context": (ASKED, ("Query", "⫻query/context", "WePlan", "Dima", "⫻query/context:branch/001")),
    "answer": (
        channels.answer(ASKED, "main"),
        ("Query", "⫻query/context", "Dima", "WePlan", "⫻query/answer:branch/001"),
    ),
}
ANSWERED = {"stop": TASK, "resume": TASK, "status": TASK, "artifact": TASK, "escalate": ALERT, "answer": ASKED}


@pytest.mark.parametrize("name", MADE)
def test_what_each_function_of_channels_makes(name: str) -> None:
    made, wanted = MADE[name]
    first = made.content.split("\n", 1)[0]
    assert (str(made.type), made.channel, made.sender, made.receiver, first) == wanted
    assert made.correlation_id == (ANSWERED[name].id if name in ANSWERED else None)
    assert kick.check(made) == []


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
    assert [str(event.kind) for event in monitor.feed(again)] == ["duplicate" if field is None else "id_reused"]


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
        monitor.feed(channels.dispatch(name, agent, "do", timestamp=AT))
    content = f"⫻command/stop:{place}/001\n" if place else "⫻command/stop\n"
    stop = channels.stop(TASK, timestamp=AT).replace(content=content, correlation_id=None)
    events = [str(event.kind) for event in monitor.feed(stop)]
    assert events == (["stopped"] * stopped or ["uncorrelated"])


@pytest.mark.parametrize("broadcast_first", [False, True])
def test_an_answer_settles_the_question_that_waits_longest(broadcast_first: bool) -> None:
    monitor = Monitor()
    first, second = (BROADCAST, "Dima") if broadcast_first else ("Dima", BROADCAST)
    asked = [channels.context("WePlan", first, "branch", "which?", timestamp=AT)]
    more = channels.context("WePlan", second, "branch", "which?", timestamp=AT, correlation_id=asked[0].id)
    asked.append(more)
    for one in asked:
        assert [str(event.kind) for event in monitor.feed(one)] == ["asked"]
    for one in asked:
        (event,) = monitor.feed(channels.answer(one, "main", sender="Dima", timestamp=AT))
        assert (str(event.kind), event.subject) == ("answered", one.id)


@pytest.mark.parametrize("asked", [BROADCAST, "Dima"])
def test_who_asked_does_not_answer(asked: str) -> None:
    """Neither right nor as the wrong one: it goes on waiting for an answer."""
    monitor = Monitor()
    question = channels.context("WePlan", asked, "branch", "which?", timestamp=AT)
    said = [question, *(channels.answer(question, "main", sender=name, timestamp=AT) for name in ("WePlan", "Dima"))]
    kinds = [[str(event.kind) for event in monitor.feed(one)] for one in said]
    assert kinds == [["asked"], ["uncorrelated"], ["answered"]] and monitor.unfinished == []


@pytest.mark.parametrize(
    ("indices", "gaps"),
    [
        (("1", "2", "3"), 0),
        (("1", "3"), 1),
        (("5", "6"), 0),
        (("1", "\u0663"), 0),
        (("1", "a", "3"), 1),
        (("9" * 17 + "1", "9" * 17 + "3"), 1),
        (("9" * 18 + "1", "9" * 18 + "3"), 0),
        (("3", "1", "2"), 0),
    ],
)
def test_an_index_is_of_up_to_eighteen_digits(indices: tuple[str, ...], gaps: int) -> None:
    space = Space("", [kick.Section("a", "b", place="c", index=index, content="x") for index in indices])
    assert [str(issue.reason) for issue in lint(space)] == ["index_gap"] * gaps


SECTIONS = {
    "place and index": kick.Section("a", "b", place="c", index="1", content="x"),
    "place": kick.Section("a", "b", place="c", content="x"),
    "qualifier": kick.Section("a", "b", "c/d/1", content="x"),
    "inline": kick.Section("a", "b", inline="said", content="x"),
    "name": kick.Section("a", content="x"),
}


@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_in_which_nothing_is_changed_is_the_same(name: str) -> None:
    section = SECTIONS[name]
    for part in ("name", "type", "inline", "content"):
        assert section.replace(**{part: getattr(section, part)}) == section, part
    assert section.replace(place=section.place, index=section.index).place == section.place
    assert section.replace() == section


OPTIONS: tuple[dict[str, Any], ...] = ({"bom": True}, {"fences": True}, {"stuffing": True}, {"preamble": "x\n"}, {})


@pytest.mark.parametrize("options", OPTIONS)
def test_a_document_keeps_its_options_in_copies(options: dict[str, Any]) -> None:
    space = Space(sections=[SECTIONS["place"]], **options)
    for other in (copy.copy(space), copy.deepcopy(space), pickle.loads(pickle.dumps(space))):
        assert other == space
        for name in ("preamble", "bom", "fences", "stuffing"):
            assert getattr(other, name) == getattr(space, name)
    assert [Space(sections=[SECTIONS["place"]], **more) == space for more in OPTIONS].count(True) == 1


@pytest.mark.parametrize("name", ["id", "sender", "type", "correlation_id"])
def test_a_further_key_never_takes_the_place_of_a_field(name: str) -> None:
    answer = channels.answer(ASKED, "main", timestamp=AT)
    told = answer.replace(extra={name: "other", "note": 1}).to_dict()
    assert told == {**answer.to_dict(), "note": 1}


def test_a_policy_with_rows_in_front_has_the_same_roles() -> None:
    policy = Policy(DEFAULT_POLICY.rows, ["Ann", "Bob"])
    row = Row("query/x", "Query", ("Ann",), ("Bob",))
    assert policy.with_rows(row).roles == policy.roles and policy.with_rows(row).rows == (row, *policy.rows)
    assert Policy.from_toml(policy.with_rows(row).to_toml()) == policy.with_rows(row)
    assert Deadlines() == Monitor()._kept.deadlines


STATUS = channels.status(TASK, "Accepted", timestamp=AT)
FEW = Policy([Row("report/status", "Info", ("*",), ("*",)), Row("query/*", "Query", ("*",), ("*",))])
RULES = [
    # the fault, the section of the specification that it is about, and the reason
    ({"id": "x"}, "001", "id_not_uuid4"),
    ({"correlation_id": "x"}, "001", "correlation_id_not_uuid4"),
    ({"timestamp": "x"}, "001", "bad_timestamp"),
    ({"channel": "query"}, "001", "bad_channel"),
    ({"channel": "⫻other/x"}, "002", "unknown_channel_family"),
    ({"channel": "⫻report/other"}, "002", "channel_not_allowed"),
    ({"type": "Alert"}, "002", "type_channel_mismatch"),
    ({"receiver": "Dima"}, "002", "receiver_not_allowed"),
    ({"content": "x"}, "004.1", "content_not_space"),
    ({"sender": ORCHESTRATOR}, "004.2", "role_not_allowed"),
    ({"correlation_id": None}, "004.3", "missing_correlation_id"),
]


@pytest.mark.parametrize(("fields", "rule", "reason"), RULES)
def test_a_fault_is_of_a_section_of_the_specification(fields: dict[str, Any], rule: str, reason: str) -> None:
    assert kick.check(STATUS, strict=True) == []
    with pytest.raises(RuleError) as caught:
        kick.check(STATUS.replace(**fields), FEW if reason == "channel_not_allowed" else DEFAULT_POLICY, strict=True)
    assert (caught.value.rule, str(caught.value.reason)) == (rule, reason)


@pytest.mark.parametrize(
    ("family", "own"), [("command", "loop"), ("report", "loop"), ("query", "answers"), ("alert", "escalation")]
)
@pytest.mark.parametrize("correlation", [None, TASK.id])
def test_the_clauses_that_say_something_of_a_family(family: str, own: str, correlation: str | None) -> None:
    """Where the policy asks for no correlation, too: a report has to have one."""
    anyone = Policy([Row(f"{family}/*", "*", ("*",), ("*",))])
    envelope = STATUS.replace(channel=f"⫻{family}/x", correlation_id=correlation)
    said = {line.clause.id for line in kick.conformance(envelope, policy=anyone) if line.status != "not applicable"}
    more = {"correlation"} if family == "report" or correlation else set()
    assert said == {"envelope", "ids", "times", "channels", "space", "roles", own} | more
