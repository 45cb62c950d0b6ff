"""Latencies: the pairs are those of turnwire.read.pairing, the figures those of the answers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.report.browser import Page
from tests.report.chunks import Row, chunks
from turnwire.report import report
from turnwire.report.figures import ANSWER_COLUMNS, Answers

pytestmark = pytest.mark.once

SECOND = 1_000_000


def test_answers_are_timed_across_chunks() -> None:
    rows = []
    for number in range(100):
        ask = {"kind": "Task", "sender": "a", "receiver": None, "conversation": str(number)}
        rows.append(Row(wire="sap", time=number * SECOND, **ask))
    rows += [
        Row(wire="sap", kind="Result", sender="b", receiver=None, conversation=str(number), time=200 * SECOND)
        for number in range(90)
    ]
    rows.append(Row(wire="sap", kind="Result", conversation="90", time=None))
    rows.append(Row(wire="sap", kind="Result", conversation="91", time=0))
    answers = Answers()
    for chunk in chunks(rows, 7):
        answers.add(chunk)  # type: ignore[arg-type]
    (row,) = answers.rows()
    found = SimpleNamespace(**dict(zip(ANSWER_COLUMNS, row, strict=True)))
    assert (found.wire, found.asks) == ("sap", ["Task"])
    assert (found.requests, found.answered, found.waiting, found.backwards, found.timed) == (100, 92, 8, 1, 90)
    assert (found.min, found.max) == (111 * SECOND, 200 * SECOND)
    for share, exact in ((found.p50, 155), (found.p90, 191), (found.p99, 200)):
        assert share is not None and exact * SECOND <= share <= min(exact * SECOND * 1.1, 200 * SECOND)
    assert sum(number for _, number in found.steps) == 90


def test_the_page_tells_latencies(opened: Callable[..., Page], tmp_path: Path) -> None:
    lines = [
        line
        for number in range(60)
        for line in (
            f"2026-01-05T09:{number:02}:00.000Z @a2|f0|cA{number:02}|S1|d2|T1#",
            f"2026-01-05T09:{number:02}:02.500Z @a1|f0|cA{number:02}|S2|d1|T2#" if number % 3 else "nothing came",
        )
    ]
    path = tmp_path / "report.html"
    report("\n".join(lines).encode(), wire="nslip", tokenizer=None).write(path)
    page = opened(path)
    assert page.texts("#answers tbody td")[:9] == [
        *("nslip", "ASK, REQUEST", "60", "40", "20"),
        *("2.5 s", "2.5 s", "2.5 s", "2.5 s"),
    ]
    assert page.run("document.querySelectorAll('#answers .shape rect').length") == 1
    assert page.run("document.querySelector('#answers .shape svg').getAttribute('aria-label')") == (
        "40 answers from 2.5 s to 2.5 s"
    )
