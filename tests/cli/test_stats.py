"""``turnwire stats``: the same as the library says, safe for terminals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.running import GOOD, REAL, turnwire
from turnwire import nslip
from turnwire.log import stats

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


def test_answers_in_a_newer_file_are_paired_with_questions_in_older_ones(tmp_path: Path) -> None:
    ask, answer = "@a3|f0|c1|S0|d1|T1|k%d#\n", "@a1|f0|c1|S1|d0|T1|k%d#\n"
    files = [tmp_path / name for name in ("app.log.2", "app.log.1", "app.log")]
    for file, text in zip(files, (ask % 1, ask % 2 + ask % 3, answer % 1 + answer % 2 + answer % 3), strict=True):
        file.write_text(text)
    whole = turnwire("stats", "-", "--json", stdin=b"".join(file.read_bytes() for file in files)).records
    for source in ([tmp_path], files, files[::-1], [tmp_path / "*.log*"]):
        found = turnwire("stats", *source, "--json").records
        assert [row for row in found if row.get("answered")] == [row for row in whole if row.get("answered")] != []


def test_an_empty_log(tmp_path: Path) -> None:
    (tmp_path / "none").write_bytes(b"")
    done = turnwire("stats", tmp_path / "none")
    assert (done.code, done.out.split()[:2]) == (0, [b"records", b"0"])
    assert turnwire("stats", "-", stdin=GOOD).code == 0
