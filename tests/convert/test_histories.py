"""Histories: which answers end which work, who may give them, and what the checker of a target refuses."""

from __future__ import annotations

import itertools
import random
import uuid
from functools import cache
from typing import Any

import pytest

import turnwire
from tests import vectors
from tests.clauses import TEXTS
from tests.conftest import raised, rounds
from tests.convert.dialogues import given
from turnwire import Context, Converter, ConvertError, csp, nslip
from turnwire.checklists import RecordChecklist
from turnwire.nslip import Act
from turnwire.read.located import record_checklist

pytestmark = pytest.mark.once


def say(act: Act | str, source: int, target: int, turn: int, more: str = "|k1") -> Any:
    code = act if isinstance(act, str) else nslip.base62.encode(act)
    return nslip.decode(f'@a{code}|f0|c3|S{source}|d{target}|T{turn}{more}|t"text {turn}"#')


COMMON, *CASES = vectors.load("histories")
"""The values that the contexts of all histories have where they say nothing else, and the histories."""


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_histories(case: dict[str, Any]) -> None:
    """The message made of each one, or why none is, and how much work is left open behind it. The ids that are
    asked for are 1, 2, 3 ... as UUIDs of version 4."""
    values = {name: value for name, value in COMMON.items() if name not in ("id", *case.get("without", ()))}
    context = Context.from_dict(values | case.get("context", {}))
    if case.get("fresh", True):
        numbers = itertools.count(1)
        context = context.replace(new_id=lambda: str(uuid.UUID(int=next(numbers), version=4)))
    converter = Converter(case["to"], context=context, nearest="nearest" in case)
    for step in case["steps"]:
        message = turnwire.decode(step["text"], step["wire"])
        if "error" in step:
            caught = raised(ConvertError, converter.feed, message)
            assert (caught.reason, caught.path) == (step["error"], step.get("path"))
        else:
            made = converter.feed(message)
            assert turnwire.encode(made.message, strict=False) == step["made"]
            assert made.nearest == step.get("nearest")
        assert converter.unanswered == step["unanswered"]
    if "closing" in case:
        closing = converter.close()
        assert [fault.clause for fault in closing.faults] == case["closing"]["faults"]
        assert len(closing.open) == case["closing"]["open"]


@pytest.mark.parametrize("room", [1, 2, 3, 5, 6, 10])
@pytest.mark.parametrize("target", ["nslip", "csp", "kick"])
def test_questions_that_are_forgotten_are_counted(room: int, target: str) -> None:
    converter = Converter(target, context=given("nslip"), nearest=True, remember=max(room, 2))
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    for number in range(2, 12):
        converter.feed(say(Act.ASK, number, 1, number))
        assert converter.unanswered == number
    converter._room = room
    for number in range(12, 15):
        converter.feed(say(Act.REQUEST, 0, 1, number, f"|k{number}"))
        assert converter.unanswered == number


def test_questions_about_one_work_are_followed_up_to_a_limit() -> None:
    converter = Converter("nslip", context=given("nslip"), nearest=True, remember=1)
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    for sender in range(2, 12):
        converter.feed(say(Act.ASK, sender, 0, sender))
        assert all(len(task.waiting) <= 2 for task in converter._tasks.values())
    assert converter.unanswered == 11


@cache
def of_clauses(wire: str) -> list[Any]:
    """The messages of all logs that keep or break a clause."""
    logs = [log for (name, _), log in TEXTS.items() if name == wire]
    return [one.message for log in logs for one in turnwire.scan(log, wire=wire).messages()]


def in_csp(rnd: random.Random, number: int, taken: list[Any]) -> Any:
    passed = ["C0", *(one.block.apply for one in taken if one.intent == "PATCH")]
    ctx, base = (passed[-1] if rnd.random() < 0.8 else rnd.choice([*passed, "C7777"]) for _ in range(2))
    kind, task = rnd.choice(("patch", "patch", "task", "result", "error")), f"T{rnd.randint(1, 5)}"
    if kind == "patch":
        sign = rnd.choice("++~-")
        op = csp.Op(sign, f"NAME_{rnd.randint(1, 9)}", None if sign == "-" else f"value {number}")
        target = f"C{len(passed)}" if rnd.random() < 0.8 else rnd.choice([*passed, f"C{rnd.randint(0, 999)}"])
        block: Any = csp.Patch(f"P{rnd.randint(0, 9 * number)}", base, [op], target)
    elif kind == "task":
        block = csp.Task(task, {"REQ": f"do {number}"})
    elif kind == "result":
        block = csp.Result(task, {"STATUS": rnd.choice(("OK", "PARTIAL", "FAIL"))})
    else:
        block = csp.Error(f"E{number}", {"AT": task, "CAUSE": "it broke"})
    return csp.message("A", "B", ctx, block)


def found(checker: RecordChecklist) -> Any:
    """The findings at the end."""
    checker.end()
    return sorted(checker.faults), sorted(checker.open)


def judging_anew(wire: str, taken: list[Any]) -> RecordChecklist:
    """A checker that has judged what was taken and was never asked."""
    checker = record_checklist(wire)
    for place, one in enumerate(taken, 1):
        checker.message(one, place)
    assert not checker.faults
    return checker


@pytest.mark.parametrize("wire", ["csp", "sstp", "sap", "kick"])
def test_a_judge_that_is_asked_finds_what_judging_anew_finds(wire: str) -> None:
    clauses = set()
    for seed in range(rounds(6)):
        rnd = random.Random(seed)
        taken: list[Any] = []
        asked, anew, refused = record_checklist(wire), record_checklist(wire), 0
        for number in range(1, 50):
            message = in_csp(rnd, number, taken) if wire == "csp" else rnd.choice(of_clauses(wire))
            anew.message(message, len(taken) + 1)
            fault = asked.admits(message, len(taken) + 1)
            assert (fault is None) == (not anew.faults)
            if fault is None:
                taken.append(message)
            else:
                assert fault in anew.faults
                clauses.add(fault.clause)
                refused += 1
                anew = judging_anew(wire, taken)
        assert found(asked) == found(anew)
        assert len(taken) > 2 and refused > 4
    assert len(clauses) >= 3, clauses


@pytest.mark.parametrize("room", [1, 3, 8])
def test_a_judge_that_forgets_checkpoints_refuses_what_it_would_have_refused(room: int) -> None:
    """It may refuse more: what names something that was forgotten."""
    both = 0
    for seed in range(rounds(6)):
        rnd = random.Random(seed)
        taken: list[Any] = []
        small, whole = record_checklist("csp"), record_checklist("csp")
        for number in range(1, 200):
            message = in_csp(rnd, number, taken)
            if whole.admits(message, number) is not None:
                assert small.admits(message, number) is not None, message
            elif small.admits(message, number) is not None:
                break  # from here on they have taken different things
            else:
                small.forget(room)
                taken.append(message)
                both += 1
        context: Any = vars(small)["linter"]
        assert max(map(len, (context.state.checkpoints, context.state.patches, context.state.names))) <= 2 * room + 4
    assert both > 30


def test_tasks_that_are_followed_no_longer_are_counted_at_the_last_one() -> None:
    checker = record_checklist("csp")
    for number in range(1, 7):
        assert checker.admits(csp.message("A", "B", "C0", csp.Task(f"T{number}", {"REQ": "x"})), number) is None
        checker.forget(2)
    checker.end()
    assert [one.line for one in checker.open] == [5, 6, 4] and checker.open[-1].text.startswith("4 more")
