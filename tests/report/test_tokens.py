"""Tokens in the report: those of the tokenizer, per wire; and what is said where there is none."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from examples.mixed_log import log
from tests.report.browser import Page
from turnwire.errors import MissingDependency
from turnwire.registry import WIRES
from turnwire.report import figures, report

pytestmark = pytest.mark.once

TRAFFIC = log(50, seed=3)
CELLS = "[...document.querySelectorAll('%s')].map(row => [...row.cells].map(cell => cell.innerText.trim()))"


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A tokenizer that takes each word for a token, in place of the real ones; the texts that it was given."""
    seen: list[str] = []
    fake = ModuleType("turnwire.tokens")

    def count_many(texts: list[str], tokenizer: str) -> list[int]:
        seen.extend(texts)
        return [len(text.split()) for text in texts]

    fake.count_many = count_many  # type: ignore[attr-defined]

    fake.count = lambda text, tokenizer: len(text.split())  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "turnwire.tokens", fake)
    return seen


def test_tokens_of_each_wire_are_told(
    opened: Callable[..., Page], tmp_path: Path, counted: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "SLICE", 7)
    path = tmp_path / "report.html"
    report(TRAFFIC.text.encode(), tokenizer="words").write(path)
    wanted = dict.fromkeys(WIRES, 0)
    for entry in TRAFFIC.sound:
        wanted[entry.wire] += len(entry.text.split())
    assert len(counted) == 2 * len(TRAFFIC.sound)  # as columns, then of each message that the page holds
    page = opened(path)
    rows = page.run(CELLS % "#tokens .body > .scroll tbody tr")
    assert {row[0].strip(): int(row[1].replace(",", "")) for row in rows} == wanted
    assert page.text("#tokens caption") == "Tokens of words, of records as written"
    total = sum(wanted.values())
    assert page.text("#tile-tokens .figure") == f"{total:,}"
    page.click(".chip.wire-kick")
    page.until("document.querySelectorAll('#tokens .body > .scroll tbody tr').length === 1")
    assert page.run("document.querySelector('#tokens tbody td:nth-child(3)').innerText") == "100.0%"


def absent(name: str) -> ModuleType:
    raise MissingDependency("counting tokens needs splintr-rs: pip install 'turnwire[tokens]'")


def test_without_the_extra_tokens_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "import_module", absent)
    made = report(b"nothing", wire="nslip")
    assert made.data["totals"]["tokenizer"] is None
    assert "pip install 'turnwire[tokens]'" in made.data["totals"]["why_no_tokens"]
