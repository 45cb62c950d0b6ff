"""Tokens in the report: those of the tokenizer, per wire; and what is said where there is none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from examples.mixed_log import log
from tests.report.browser import Page
from turnwire import WIRES
from turnwire.errors import MissingDependency
from turnwire.report import report
from turnwire.tokens import tokenizer

pytestmark = pytest.mark.once

TRAFFIC = log(50, seed=3)
CELLS = "[...document.querySelectorAll('%s')].map(row => [...row.cells].map(cell => cell.innerText.trim()))"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A tokenizer that takes each word for a token, in place of the real ones; the texts that it was given."""
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return len(text.split())

    words = SimpleNamespace(name="words", count=count, count_many=lambda texts: list(map(count, texts)))
    monkeypatch.setattr(tokenizer, "load", lambda name: words)
    return seen


def test_tokens_of_each_wire_are_told(opened: Callable[..., Page], tmp_path: Path, counted: list[str]) -> None:
    path = tmp_path / "report.html"
    report(TRAFFIC.text.encode(), tokenizer="words").write(path)
    wanted = dict.fromkeys(WIRES, 0)
    for entry in TRAFFIC.sound:
        wanted[entry.wire] += len(entry.text.split())
    assert len(counted) == 2 * len(TRAFFIC.sound)  # as columns, then of each message that the page holds
    page = opened(path)
    rows = page.run(CELLS % "#tokens .body > .scroll tbody tr")
    assert {row[0].strip(): int(row[1].replace(",", "")) for row in rows} == wanted
    assert page.text("#tokens caption").endswith("counted by words")
    total = sum(wanted.values())
    assert page.text("#tile-tokens .figure") == f"{total:,}"
    page.click(".chip.wire-kick")
    page.until("document.querySelectorAll('#tokens .body > .scroll tbody tr').length === 1")
    assert page.run("document.querySelector('#tokens tbody td:nth-child(3)').innerText") == "100.0%"


def absent(name: str) -> None:
    raise MissingDependency("counting tokens needs splintr-rs: pip install 'turnwire[tokens]'")


def test_without_the_extra_tokens_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer, "load", absent)
    made = report(b"nothing", wire="nslip")
    assert made.data["totals"]["tokenizer"] is None
    assert "pip install 'turnwire[tokens]'" in made.data["totals"]["why_no_tokens"]
