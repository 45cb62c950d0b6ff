"""``turnwire report``: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import BAD_DIGIT, GOOD, REAL, turnwire

DAMAGED = Path(__file__).parents[2] / "examples" / "data" / "damaged.log"

pytestmark = pytest.mark.once


def data(page: bytes) -> dict[str, Any]:
    text = page.decode()
    start = text.index('id="data">') + len('id="data">')
    found: dict[str, Any] = json.loads(text[start : text.index("</script>", start)])
    return found


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "some.log"
    path.write_bytes(GOOD + b"\n" + GOOD + b"\n")
    return path


def test_a_page_is_written(log: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = turnwire("report", log, "-o", page, "--title", "Monday")
    assert (done.code, done.out) == (0, b"")
    assert done.err.startswith(f"2 records and 0 rejects in {2 * len(GOOD) + 2} bytes\n{page}: 2 messages in full")
    found = data(page.read_bytes())
    assert (found["title"], found["totals"]["records"]) == ("Monday", 2)
    assert list(tmp_path.iterdir()) == [log, page] or set(tmp_path.iterdir()) == {log, page}


def test_a_page_for_standard_output_from_standard_input() -> None:
    done = turnwire("report", "-", "-o", "-", "--quiet", "--max-messages", "3", stdin=REAL.read_bytes())
    assert (done.code, done.err) == (0, "")
    found = data(done.out)
    assert (found["totals"]["records"], len(found["messages"])) == (4356, 3)
    assert done.out.startswith(b"<!doctype html>") and done.out.endswith(b"</html>\n")


def test_damaged_records_are_code_1(log: Path, tmp_path: Path) -> None:
    log.write_bytes(GOOD + b"\n" + BAD_DIGIT)
    done = turnwire("report", log, "-o", tmp_path / "page.html")
    assert done.code == 1
    assert data((tmp_path / "page.html").read_bytes())["reject_counts"] == [["nslip", "bad_digit", 1]]


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
