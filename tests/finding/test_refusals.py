"""What a judge is told of damaged records: out of columns, the same as one by one."""

from __future__ import annotations

from random import Random

import pytest

import turnwire
from tests.cost.units import GOOD, MESSAGES, REFUSED
from turnwire.checklists import Checklist, checklist_of
from turnwire.read.judging import conform, judge_of, specification
from turnwire.read.located import Found, located, pieces

pytestmark = pytest.mark.once


def _one_by_one(wire: str, data: bytes) -> Checklist:
    judge = judge_of(wire)
    if specification(wire).around:
        judge.look(Found(data, list(pieces(data))))  # type: ignore[attr-defined]
    for one in located(data):
        if one.wire != wire:
            continue
        if one.error is not None:
            judge.rejects += 1
            judge.refused(one.error, one.error.line or one.line, one.error.offset, one.raw)
        else:
            judge.records += 1
            judge.message(one.message, one.line, one.offset, one.raw)
    judge.end()
    return checklist_of(wire, specification(wire).clauses, judge)


@pytest.mark.parametrize("wire", turnwire.WIRES)
def test_told_as_one_by_one(wire: str) -> None:
    """The same refusal comes again and again, between good records, text and records of other wires."""
    rng = Random(7)
    own = [*REFUSED[wire], GOOD[wire], *(unit for name, unit in MESSAGES.items() if wire in name)]
    others = [b"some text\n", b"\n", b"please do it\n", b"```\n", b"@a3|", b"CSP/1;A>B;C0;T1\n", *GOOD.values()]
    for _ in range(25):
        data = b"".join(rng.choice(own if rng.random() < 0.7 else others) for _ in range(rng.randint(1, 40)))
        assert conform(wire, data) == _one_by_one(wire, data), data


def test_a_byte_order_mark_is_no_line() -> None:
    bom = b"\xef\xbb\xbf"
    found = conform("csp", bom + b"some text\n" * 2 + GOOD["csp"]).line("magic").faults
    assert [(one.line, one.offset) for one in found] == [(1, 0), (1, 0), (2, len(bom) + 10)]
    assert {one.text for one in found if one.text.startswith("junk")} == {"junk: 'some text'"}
