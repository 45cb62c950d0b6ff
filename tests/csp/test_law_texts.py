"""Which laws a text repeats, and which law a task falls under: as one law after the other says."""

from __future__ import annotations

import random

import pytest

from tests.above import backend  # noqa: F401  (a fixture)
from turnwire import csp
from turnwire.csp.laws import LawTexts, by_subject

pytestmark = pytest.mark.once

LEAST = 3


def test_laws_in_a_text_are_found_however_many_there_are() -> None:
    chance = random.Random(7)
    met = 0
    for _ in range(60):
        texts, laws = LawTexts(LEAST), {}
        for _ in range(chance.choice((3, 120))):  # few are looked for one by one, many by their lengths
            new = {f"L{chance.randrange(90)}": "".join(chance.choices("ab", k=chance.randrange(9)))}
            texts.update(new)
            laws.update(new)
        for _ in range(20):
            value = "".join(chance.choices("abc", k=chance.randrange(25)))
            expected = [name for name, text in laws.items() if len(text) >= LEAST and text in value]
            assert texts.within(value) == expected
            met += len(expected)
    assert met > 1000


def _task(req: str) -> csp.CspMessage:
    return csp.decode(f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ {req}\n")


def test_a_task_falls_under_each_law_whose_subject_it_names() -> None:
    subjects = ("code review", "review the code", "write tests/docs", "writing", "deploy")
    laws = csp.routing_laws({f"L{number}": f"{subject} -> A only" for number, subject in enumerate(subjects)})
    assert by_subject(_task("reviewing code of the parser"), laws) == ["L0", "L1"]
    assert by_subject(_task("write docs"), laws) == ["L2", "L3"]
    assert by_subject(_task("write"), laws) == ["L3"]
    assert by_subject(_task("explain"), laws) == []
    words = [f"{one}{two}" for one in "bcdfg" for two in "klmnpqrst"]
    many = csp.routing_laws({f"L{number}": f"{word} x -> A only" for number, word in enumerate(words)})
    assert [by_subject(_task(f"x {word} now"), many) for word in words] == [[law.id] for law in many]
