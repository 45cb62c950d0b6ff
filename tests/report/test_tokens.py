"""Tokens in the report: those of the tokenizer, per wire; and what is said where there is none."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import turnwire
from examples.mixed_log import log
from tests.cli.running import REAL
from tests.report.browser import Page
from turnwire.errors import EncodeError, MissingDependency, Reason
from turnwire.registry import WIRES
from turnwire.report import figures, report
from turnwire.report.figures import FIRST

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

    def compare(messages: list[Any], wires: list[str], *_: Any, formats: tuple[str, ...], per: str) -> Any:
        assert formats == ("json", "session") and per == "conversation"
        if wires == ["csp"]:
            raise EncodeError(Reason.LONE_SURROGATE, path="x")
        sizes = {"json": 20 * len(messages), "session": 5 * len(messages)}
        rows = [SimpleNamespace(format=name, total=size, round_trip=True) for name, size in sizes.items()]
        return SimpleNamespace(rows=rows if wires != ["sap"] else rows[:1], absent={"session": "it cannot"})

    fake.compare = compare  # type: ignore[attr-defined]
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
    assert len(counted) == len(TRAFFIC.sound)
    page = opened(path)
    rows = page.run(CELLS % "#tokens .body > .scroll:not(#sessions) tbody tr")
    assert {row[0].strip(): int(row[1].replace(",", "")) for row in rows} == wanted
    assert page.text("#tokens caption") == "Tokens of words, of records as written"
    shown = page.run(CELLS % "#sessions tbody tr")
    many = Counter(entry.wire for entry in TRAFFIC.sound)
    kept = {wire: min(count, FIRST) for wire, count in many.items()}
    assert {row[0]: int(row[1]) for row in shown} == kept
    cells = {row[0]: row[3:] for row in shown}
    assert cells["nslip"] == [f"{20 * kept['nslip']:,}", f"{5 * kept['nslip']:,}", "25.0%"]
    assert cells["csp"][0].startswith("lone_surrogate") and cells["sap"] == ["it cannot", "–", "–"]
    total = sum(wanted.values())
    assert page.text("#tile-tokens .figure") == f"{total:,}"
    page.click(".chip.wire-kick")
    page.until("document.querySelectorAll('#tokens .body > .scroll:not(#sessions) tbody tr').length === 1")
    assert page.run("document.querySelector('#tokens tbody td:nth-child(3)').innerText") == "100.0%"


def absent(name: str) -> ModuleType:
    raise MissingDependency("counting tokens needs splintr-rs: pip install 'turnwire[tokens]'")


def test_without_the_extra_tokens_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figures, "import_module", absent)
    made = report(b"nothing", wire="nslip")
    assert made.data["totals"]["tokenizer"] is None
    assert "pip install 'turnwire[tokens]'" in made.data["totals"]["why_no_tokens"]


def test_the_first_records_are_counted_as_a_session() -> None:
    """What the row says is what a session of these records takes."""
    tokens = pytest.importorskip("turnwire.tokens")
    from turnwire import session

    pytest.importorskip("splintr")
    lines = REAL.read_text("utf-8").split("\n")[: FIRST + 50]
    data = report("\n".join([*lines, TRAFFIC.text]).encode(), wire="nslip").data
    (row,) = (dict(zip(data["session_columns"], each, strict=True)) for each in data["sessions"])
    first = [turnwire.decode(line) for line in lines[:FIRST]]
    assert row["records"] == FIRST and row["why"] == ""
    assert row["written"] == sum(tokens.count_many(lines[:FIRST]))
    assert row["session"] == tokens.count(session.encode(first)) < row["json"] / 4


def test_few_bytes_of_each_wire_are_held(monkeypatch: pytest.MonkeyPatch, counted: list[str]) -> None:
    line = '@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#'
    monkeypatch.setattr(figures, "MOST_BYTES", 3 * len(line))
    data = report("\n".join([line] * 9).encode(), wire="nslip", tokenizer="words").data
    assert data["sessions"] == [["nslip", 3, 3, 60, 15, ""]]
    assert report(line.encode(), wire="nslip", tokenizer=None).data["sessions"] == []
