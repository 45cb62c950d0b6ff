"""``turnwire scan``: tables, JSON lines, rejects, limits and the sums."""

from __future__ import annotations

import base64
import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest

import turnwire as library
from examples.mixed_log import Log, log as mixed
from tests.cli.running import BAD_DIGIT, BAD_TEXT, GOOD, REAL, WIDE, turnwire
from turnwire import WIRES

pytestmark = pytest.mark.once

COLUMNS = [column.name for column in library.scan(b"", wire="nslip").columns]


def summary(text: str) -> dict[str, int]:
    """The byte counts of a summary, by the name of their line."""
    return {
        name: int(size.replace(",", "")) for name, size in re.findall(r"^(\w+) .*?([\d,]+) bytes", text, re.MULTILINE)
    }


def test_a_table_of_the_first_rows_and_a_summary(log: Path) -> None:
    done = turnwire("scan", "--wire", "nslip", log)
    header, first, second = done.out.decode().splitlines()
    assert header.split() == ["line", "act", "frame", "conv_id", "src", "dst", "turn", "goal_id", "priority", "tag"]
    assert first.split() == ["1", "REQUEST", "TASK", "1", "0", "1", "1", "1", "3", "goal_1"]
    assert second.split() == ["4", "REQUEST", "TASK", str(2**64 - 1), "0", "1", "1"]
    assert header.index("conv_id") + len("conv_id") == first.index(" 1    0") + 2, "numbers are aligned to the right"
    assert done.code == 1
    assert f"{log}:2: byte {14 + len(GOOD) + 1 + 14 + 8}: bad_digit: {BAD_DIGIT.decode()}" in done.err
    assert "bad_digit 1, bad_utf8 1" in done.err
    sizes = summary(done.err)
    assert sizes["records"] == len(GOOD + WIDE)
    assert sizes["records"] + sizes["rejects"] + sizes["text"] == sizes["total"] == log.stat().st_size


def test_json_lines_hold_every_column_with_exact_values(log: Path) -> None:
    done = turnwire("scan", "--wire", "nslip", log, "--json")
    first, second = done.records
    assert list(first) == list(second) == COLUMNS
    assert (first["file"], first["act"], first["tag"], first["status"]) == (str(log), "REQUEST", "goal_1", None)
    assert b'"conv_id":18446744073709551615,' in done.out
    assert done.code == 1


def test_chosen_columns_come_in_their_order(log: Path) -> None:
    done = turnwire("scan", "--wire", "nslip", log, "--columns", "tag, src", "--json")
    assert [list(row.items()) for row in done.records] == [[("tag", "goal_1"), ("src", 0)], [("tag", None), ("src", 0)]]
    assert turnwire("scan", "--wire", "nslip", log, "--columns", "tag,src").out.decode().split("\n") == [
        "tag     src",
        "goal_1    0",
        "          0",
        "",
    ]


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["table", "json"])
def test_the_limit_bounds_what_is_shown_not_what_is_counted(form: list[str]) -> None:
    for limit in (0, 3):
        done = turnwire("scan", REAL, "--limit", str(limit), *form)
        assert len(done.out.splitlines()) == limit + (not form and limit > 0)
        assert re.search(r"^records +4,356 ", done.err, re.MULTILINE)


def test_rejects_in_a_file_are_lossless(log: Path, tmp_path: Path) -> None:
    done = turnwire("scan", log, "--rejects", tmp_path / "bad", "--json")
    text, data = map(json.loads, (tmp_path / "bad").read_text("utf-8").splitlines())
    assert len(done.records) == 2
    assert (text["reject"], text["reason"], text["raw"], text["line"]) == (True, "bad_digit", BAD_DIGIT.decode(), 2)
    assert "raw" not in data
    assert base64.b64decode(data["raw_base64"]) == BAD_TEXT + b" and "
    whole = log.read_bytes()
    assert whole[data["offset"] : data["offset"] + data["length"]] == BAD_TEXT + b" and "
    assert whole[data["fault"]] == 0xFF


def test_rejects_on_the_output_stand_beside_records_or_alone(log: Path) -> None:
    both = turnwire("scan", log, "--json", "--rejects", "-").records
    assert [row.get("reject", False) for row in both] == [False, False, True, True]
    alone = turnwire("scan", log, "--rejects", "-").records
    assert alone == both[2:]


def test_rejects_are_complete_over_many_batches(tmp_path: Path) -> None:
    many = tmp_path / "many"
    many.write_bytes(b"".join(b"%b\n@a3|f0|c%d$|S0|d1|T1#\n" % (GOOD, number) for number in range(5000)))
    done = turnwire("scan", many, "--json", "--rejects", "-", "--batch-bytes", "3000", "-q")
    raws = [row["raw"] for row in done.records if "reject" in row]
    assert raws == [f"@a3|f0|c{number}$|S0|d1|T1#" for number in range(5000)]
    assert len(done.records) == 10_000


def test_errors_raise_stops_at_the_first_behind_what_stood_before_it(log: Path) -> None:
    done = turnwire("scan", "--wire", "nslip", log, "--json", "--errors", "raise")
    assert [row["tag"] for row in done.records] == ["goal_1"]
    assert done.code == 1
    assert re.fullmatch(r"turnwire: nslip: bad_digit at byte \d+, line 2 in .*\n", done.err)


def test_errors_skip_counts_and_keeps_nothing(log: Path) -> None:
    done = turnwire("scan", log, "--errors", "skip")
    assert done.code == 1
    assert "bad_digit 1, bad_utf8 1" in done.err
    assert BAD_DIGIT.decode() not in done.err


def test_standard_input_directories_and_globs(log: Path) -> None:
    (log.parent / "b.log").write_bytes(GOOD)
    assert [row["file"] for row in turnwire("scan", "-", "--json", stdin=log.read_bytes()).records] == ["-", "-"]
    for source in (log.parent, log.parent / "*.log"):
        rows = turnwire("scan", source, "--json").records
        assert [os.path.basename(row["file"]) for row in rows] == ["agents.log", "agents.log", "b.log"]
    assert turnwire("scan", log, log.parent / "b.log").out.startswith(b"file "), "two files: the table names them"


def test_programs_in_a_folder_give_no_false_rejects(tmp_path: Path) -> None:
    """Messages in them are found, and so is what is damaged in one that is named."""
    code = tmp_path / "make.py"
    code.write_bytes(b'TASK = {"protocolVersion": VERSION, "taskId": get()}\n# @class|@protocol\n' + GOOD + b"\n")
    for source in (tmp_path, tmp_path / "*.py"):
        done = turnwire("scan", source, "--json")
        assert (done.code, len(done.records)) == (0, 1) and "0 damaged" not in done.err
    assert turnwire("validate", tmp_path).code == 0
    assert turnwire("scan", code, "--json").code == 1


def test_a_log_without_records_says_so(tmp_path: Path) -> None:
    (tmp_path / "mail").write_bytes(b"bob@example.com #1\n")
    done = turnwire("scan", "--wire", "nslip", tmp_path / "mail")
    assert (done.code, done.out) == (0, b"")
    assert "there is no nslip record here" in done.err


# --- a seeded log of all wires, where no wire is named ---


@pytest.fixture(scope="module")
def made() -> Log:
    return mixed(40, seed=8, every=4)


@pytest.fixture
def path(made: Log, tmp_path: Path) -> Path:
    file = tmp_path / "mixed.log"
    file.write_text(made.text, "utf-8")
    return file


def test_a_table_shows_what_all_wires_have(made: Log, path: Path) -> None:
    done = turnwire("scan", path)
    head, *rows = done.out.decode().splitlines()
    names = ["line", "wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"]
    assert head.split() == names
    assert [row.split()[1:3] for row in rows] == [[entry.wire, entry.kind] for entry in made.sound[: len(rows)]]
    counts = Counter(entry.wire for entry in made.sound)
    assert ", ".join(f"{wire} {counts[wire]}" for wire in WIRES) in done.err
    assert ": nslip: bad_digit: " in done.err
    assert done.code == 1


def test_what_is_counted(made: Log, path: Path) -> None:
    rows = turnwire("stats", path, "--json").records
    counts = Counter(entry.wire for entry in made.sound)
    assert {row["wire"]: row["records"] for row in rows if row["stat"] == "wire"} == counts
    pytest.importorskip("splintr")
    counted = turnwire("tokens", path, "--json").records
    assert [(row["wire"], row["messages"]) for row in counted] == [(wire, counts[wire]) for wire in WIRES]


def test_faults_say_their_wire(made: Log, path: Path) -> None:
    rows = turnwire("validate", path, "--json").records
    errors = [row for row in rows if row["severity"] == "error"]
    assert [(row["wire"], row["reason"]) for row in errors] == [("nslip", "bad_digit")] * made.damaged
    done = turnwire("validate", path)
    assert f"{len(made.sound)} good records, {made.damaged} faults" in done.err
    assert done.out.decode().count(": nslip: bad_digit: ") == made.damaged
