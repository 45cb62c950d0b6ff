"""``turnwire stats``: the same as the library says, safe for terminals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import GOOD, REAL, turnwire
from turnwire import nslip
from turnwire.log import stats

DAMAGED = Path(__file__).parents[2] / "examples" / "data" / "damaged.log"

pytestmark = pytest.mark.once


def test_json_lines_are_the_rows_of_the_library() -> None:
    done = turnwire("stats", REAL, "--json", "--top", "3")
    assert done.code == 0
    assert done.records == [json.loads(json.dumps(row)) for row in stats(str(REAL), wire="nslip").rows(3)]


def test_only_what_is_wanted_counts() -> None:
    rows = turnwire("stats", "--wire", "nslip", REAL, "--json", "--where", "act=INFORM").records
    lines = [line for line in REAL.read_bytes().splitlines() if nslip.decode(line).act == nslip.Act.INFORM]
    size = sum(map(len, lines))
    assert [(row["records"], row["bytes"]) for row in rows if row["stat"] == "wire"] == [(1089, size)]
    assert (rows[0]["records"], rows[0]["selected"], rows[0]["selected_bytes"]) == (4356, 1089, size)
    kinds = [(row["kind"], row["records"]) for row in rows if row["stat"] == "kind"]
    assert kinds == [("INFORM", 1089)]
    text = turnwire("stats", "--wire", "nslip", REAL, "--where", "act=INFORM").out.decode()
    assert text.splitlines()[0].split() == ["selected", "1,089", f"{size:,}", "bytes"]
    assert f"\nnslip    1,089  {size:,}\n" in text
    none = turnwire("stats", "--wire", "nslip", REAL, "--where", "conv_id=987654321").out.decode()
    assert none.split()[:2] == ["selected", "0"] and "\nwires\n" not in none
    assert b"selected" not in turnwire("stats", REAL).out


def test_nothing_that_strangers_wrote_steers_a_terminal(tmp_path: Path) -> None:
    message = nslip.SlipMessage(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {nslip.Slot.TAG: "\x1b[2Jevil\u202e"})
    (tmp_path / "log\x1b[2J").write_text(nslip.encode(message))
    for form in ((), ("--json",)):
        done = turnwire("stats", tmp_path, *form)
        assert done.code == 0
        assert b"\x1b" not in done.out and "\u202e".encode() not in done.out


def test_answers_in_a_newer_file_are_paired_with_questions_in_older_ones(tmp_path: Path) -> None:
    ask, answer = "@a3|f0|c1|S0|d1|T1|k%d#\n", "@a1|f0|c1|S1|d0|T1|k%d#\n"
    files = [tmp_path / name for name in ("app.log.2", "app.log.1", "app.log")]
    for file, text in zip(files, (ask % 1, ask % 2 + ask % 3, answer % 1 + answer % 2 + answer % 3), strict=True):
        file.write_text(text)
    whole = turnwire("stats", "-", "--json", stdin=b"".join(file.read_bytes() for file in files)).records
    for source in ([tmp_path], files, files[::-1], [tmp_path / "*.log*"]):
        found = turnwire("stats", *source, "--json").records
        assert [row for row in found if row.get("answered")] == [row for row in whole if row.get("answered")] != []


def test_an_empty_log_and_wrong_usage(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    done = turnwire("stats", tmp_path / "none")
    assert (done.code, done.out.split()[:2]) == (0, [b"records", b"0"])
    assert turnwire("stats").code == 2
    assert turnwire("stats", tmp_path / "missing").code == 3
    assert turnwire("stats", "-", stdin=GOOD).code == 0


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
    assert turnwire("report", DAMAGED, "--by", "day", "-o", "-").code == 2


def test_a_report_has_a_usual_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written again over one of its own, and over nothing else."""
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "report.html"
    for _ in range(2):
        done = turnwire("report", DAMAGED)
        assert done.code == 1 and "report.html" in done.err and page.read_bytes().startswith(b"<!doctype html>")
    page.write_text("<!doctype html><title>mine</title>")
    assert turnwire("report", DAMAGED).code == 2 and page.stat().st_size < 99
