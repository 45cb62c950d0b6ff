"""The terms in which a wire says how its records answer each other."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from turnwire.pairs import Message, Rule, Way, Work, back, conversation, task_of, there, untold

pytestmark = pytest.mark.once

ASK = Message("ask", "ada", "bob", "c1", "s", 5, Work("t1", id="m1"))


@pytest.mark.parametrize(
    "answers", list(itertools.product((None, frozenset("x"), frozenset("yz"), frozenset("a")), repeat=2))
)
def test_the_kinds_that_a_rule_concerns(answers: tuple[Any, ...]) -> None:
    """All kinds, where one of its ways takes any."""
    ways = tuple(Way(kinds, there, back) for kinds in answers)
    found = Rule("r", frozenset("ab"), ways).kinds
    assert found == (None if None in answers else frozenset("ab").union(*answers))
    assert Rule("r", frozenset("ab"), ()).kinds == frozenset("ab")


def test_a_request_and_what_answers_it_have_one_key() -> None:
    answer = ASK._replace(sender="bob", receiver="ada")
    assert there(ASK) == back(answer) == ("c1", "ada", "bob") and back(ASK) == there(answer) == ("c1", "bob", "ada")
    for other in (answer._replace(sender="eve"), answer._replace(receiver="eve"), answer._replace(conversation="c2")):
        assert back(other) != there(ASK)
    assert conversation(ASK) == "c1" and task_of(ASK) == "t1"
    assert task_of(ASK._replace(work=None)) is None is task_of(ASK._replace(work=Work()))
    assert untold(there)(ASK) is None and untold(there)(ASK._replace(work=None)) == there(ASK)


def test_work_is_final_and_asked_for_unless_it_says_otherwise() -> None:
    assert Work() == (None, True, None, True)
    assert (Way(None, there, back).subject, Way(None, there, back).others, Way(None, there, back).names) == (
        "",
        False,
        False,
    )
    assert Rule("r", frozenset(), ()).all_at_once is False and Message("x", None, None, None, None, 1).work is None
