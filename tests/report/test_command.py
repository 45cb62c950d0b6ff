"""``turnwire report``: what it writes, what it says, how it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import BAD_DIGIT, GOOD, REAL, needs_posix, turnwire

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


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("-o", "{log}"), "is an input"),
        (("-o", "{folder}/x.html", "--max-messages", "0"), "x>=1"),
        (("-o", "{folder}/x.html", "--wire", "tcp"), "'tcp' is not one of"),
    ],
)
def test_what_makes_no_sense_is_code_2(log: Path, tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = turnwire("report", log, *(part.format(log=log, folder=tmp_path) for part in arguments))
    assert done.code == 2
    assert said in done.err
    assert log.read_bytes().startswith(GOOD)


@needs_posix
def test_a_page_that_cannot_be_written_is_code_3(log: Path, tmp_path: Path) -> None:
    done = turnwire("report", log, "-o", tmp_path / "no" / "page.html")
    assert (done.code, done.out) == (3, b"")
    assert f"{tmp_path / 'no'} does not exist" in done.err
    missing = turnwire("report", tmp_path / "missing.log", "-o", tmp_path / "page.html")
    assert missing.code == 3
    assert not (tmp_path / "page.html").exists()
