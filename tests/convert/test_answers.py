"""What a converter takes for an answer, whose it is, and whether it ends the work."""

from __future__ import annotations

from typing import Any

import pytest

import turnwire
from tests.convert.dialogues import given
from tests.convert.test_conversations import CSP_HEAD
from turnwire import WIRES, Converter, ConvertError, Reason, nslip
from turnwire.conversion.conversation import _ends, _Task
from turnwire.conversion.tables import ACTS, STATUSES
from turnwire.nslip import Act

pytestmark = pytest.mark.once

PROMISES = {Act.OBSERVE, Act.PROPOSE, Act.ACCEPT}
"""Answers that leave the work open."""
LAST = {Act.INFORM, Act.EVAL, Act.REJECT, Act.ERROR}
"""Answers that end it."""


def say(act: Act | str, source: int, target: int, turn: int, more: str = "|k1") -> Any:
    code = act if isinstance(act, str) else nslip.base62.encode(act)
    return nslip.decode(f'@a{code}|f0|c3|S{source}|d{target}|T{turn}{more}|t"text {turn}"#')


@pytest.mark.parametrize("act", list(Act))
def test_which_acts_end_the_work(act: Act) -> None:
    converter = Converter("nslip", context=given("nslip"))
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    converter.feed(say(act, 1, 0, 2))
    assert converter.unanswered == (0 if act in LAST else 2 if act is Act.ASK else 1)


@pytest.mark.parametrize("act", list(Act))
@pytest.mark.parametrize(("target", "clause"), [("csp", "answers"), ("sap", "correlation")])
def test_who_asked_gives_none_of_the_answers(act: Act, target: str, clause: str) -> None:
    converter = Converter(target, context=given("nslip"), nearest=True)
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    try:
        converter.feed(say(act, 0, 1, 2))
    except ConvertError as error:
        refused = error.reason is Reason.NOT_CONFORMING and error.path == clause
    else:
        refused = False
    assert refused == (act in PROMISES | LAST)


@pytest.mark.parametrize(("status", "left"), [("waiting", 1), ("in_progress", 1), ("done", 0), ("failed", 0)])
@pytest.mark.parametrize("target", [wire for wire in WIRES if wire not in ("csp", "kick")])
def test_work_that_waits_or_goes_on_has_not_ended(status: str, left: int, target: str) -> None:
    converter = Converter(target, context=given("nslip"), nearest=True)
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    converter.feed(say(Act.INFORM, 1, 0, 2, f'|k1|u"{status}"'))
    assert converter.unanswered == left


@pytest.mark.parametrize(
    ("requester", "assignee"), [(one, other) for one in ("a", "b", None) for other in ("a", "b", "c", None)]
)
def test_who_is_told_and_who_tells(requester: str | None, assignee: str | None) -> None:
    """Whoever asks for work that somebody else does is told of it; who asked nobody else tells it itself."""
    task = _Task((None, "t"), "t", True, None, requester, assignee)
    for sender in ("a", "b", "c", None):
        told = sender is not None and sender == requester and assignee is not None and assignee != sender
        assert task.is_told({} if sender is None else {"sender": sender}) is told


@pytest.mark.parametrize("target", WIRES)
def test_who_asks_itself_answers_itself(target: str) -> None:
    converter = Converter(target, context=given("nslip"), nearest=True)
    converter.feed(say(Act.REQUEST, 0, 0, 1))
    assert converter.unanswered == 1
    converter.feed(say(Act.INFORM, 0, 0, 2, '|k1|u"done"'))
    assert converter.unanswered == 0


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
        assert len(converter._unanswered) <= 2 * room


@pytest.mark.parametrize("act", sorted(ACTS))
@pytest.mark.parametrize("status", [None, *STATUSES])
def test_an_answer_that_tells_of_progress_ends_nothing(act: str, status: str | None) -> None:
    """Whatever its wire says of it: this one says of any result that it is the last word."""
    result = turnwire.decode(CSP_HEAD.format("C0", "RESULT", "RESULT T1\nSTATUS OK"))
    ends = act not in ("accept", "propose", "observe") and status not in ("QUEUED", "RUNNING")
    assert _ends({"act": act} | ({"status": status} if status else {}), "csp", result) is ends


def test_questions_about_one_work_are_followed_up_to_a_limit() -> None:
    converter = Converter("nslip", context=given("nslip"), nearest=True, remember=1)
    converter.feed(say(Act.REQUEST, 0, 1, 1))
    for sender in range(2, 12):
        converter.feed(say(Act.ASK, sender, 0, sender))
        assert len(converter._unanswered) <= 2
    assert converter.unanswered == 11
