"""``turnwire report``: tokens of each wire, or what is said without a tokenizer; what it writes, how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from examples.mixed_log import log
from tests.cli.running import GOOD, REAL, turnwire
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


# --- turnwire report: what it writes, what it says, how it ends -------------------------------------------------------


DAMAGED = Path(__file__).parents[2] / "examples" / "data" / "damaged.log"


def data(page: bytes) -> dict[str, Any]:
    text = page.decode()
    start = text.index('id="data">') + len('id="data">')
    found: dict[str, Any] = json.loads(text[start : text.index("</script>", start)])
    return found


@pytest.fixture
def short(tmp_path: Path) -> Path:
    path = tmp_path / "some.log"
    path.write_bytes(GOOD + b"\n" + GOOD + b"\n")
    return path


def test_a_page_is_written(short: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = turnwire("report", short, "-o", page, "--title", "Monday")
    assert (done.code, done.out) == (0, b"")
    assert done.err.startswith(f"2 records and 0 rejects in {2 * len(GOOD) + 2} bytes\n{page}: 2 messages in full")
    found = data(page.read_bytes())
    assert (found["title"], found["totals"]["records"]) == ("Monday", 2)
    assert list(tmp_path.iterdir()) == [short, page] or set(tmp_path.iterdir()) == {short, page}


def test_a_page_for_standard_output_from_standard_input() -> None:
    done = turnwire("report", "-", "-o", "-", "--quiet", "--max-messages", "3", stdin=REAL.read_bytes())
    assert (done.code, done.err) == (0, "")
    found = data(done.out)
    assert (found["totals"]["records"], len(found["messages"])) == (4356, 3)
    assert done.out.startswith(b"<!doctype html>") and done.out.endswith(b"</html>\n")


def test_a_report_adds_up_by_a_value(tmp_path: Path) -> None:
    """As stats and tokens do, beside the page or in its place."""
    page = tmp_path / "report.html"
    rows = [
        turnwire("report", DAMAGED, "--by", "conversation", "--top", "1", "--json", *more)
        for more in ([], ["-o", page], ["--tokenizer", "none"])
    ]
    assert [done.code for done in rows] == [1, 1, 1] and page.exists()
    first, beside, untold = ([json.loads(line) for line in done.out.splitlines()] for done in rows)
    assert first == beside and first[0]["tokens"] > 0
    assert "tokens" not in untold[0] and untold[0]["records"] == first[0]["records"]


def test_a_report_has_a_usual_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again over one of its own, and over nothing else."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "report.html"
    for _ in range(2):
        done = turnwire("report", DAMAGED)
        assert done.code == 1 and "report.html" in done.err and page.read_bytes().startswith(b"<!doctype html>")
    page.write_text("<!doctype html><title>mine</title>")
    assert turnwire("report", DAMAGED).code == 2 and page.stat().st_size < 99
