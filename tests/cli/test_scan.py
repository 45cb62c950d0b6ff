"""``turnwire scan``: tables, JSON lines, rejects, limits and the sums."""

from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

import turnwire as library
from examples.mixed_log import Log, log as mixed
from tests.cli.running import (
    BAD_DIGIT,
    BAD_TEXT,
    GOOD,
    REAL,
    WIDE,
    command,
    environment,
    needs_posix,
    process,
    turnwire,
)
from tests.conftest import put
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


def test_errors_raise_stops_at_the_first_behind_what_stood_before_it(log: Path) -> None:
    done = turnwire("scan", "--wire", "nslip", log, "--json", "--errors", "raise")
    assert [row["tag"] for row in done.records] == ["goal_1"]
    assert done.code == 1
    assert re.fullmatch(r"turnwire: nslip: bad_digit at byte \d+, line 2 in .*\n", done.err)


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
    file = put(tmp_path / "mixed.log", made.text)
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


# --- turnwire scan --where --threads --resume --follow --dask: the options of the engine, from the command line -------


def shown(*arguments: str) -> list[dict[str, object]]:
    return turnwire(
        "scan", "--wire", "nslip", REAL, "--json", "-q", "--columns", "act,src,conv_id,tag", *arguments
    ).records


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        (["act=INFORM"], lambda row: row["act"] == "INFORM"),
        (["kind=INFORM,EVAL"], lambda row: row["act"] in ("INFORM", "EVAL")),
        (["act=INFORM", "act=EVAL"], lambda row: row["act"] in ("INFORM", "EVAL")),
        (["src=0,2", "conv_id=10..20"], lambda row: row["src"] in (0, 2) and 10 <= row["conv_id"] < 20),
        (["conv_id=..3"], lambda row: row["conv_id"] < 3),
        (["conv_id=400.."], lambda row: row["conv_id"] >= 400),
        (["tag=goal_1"], lambda row: row["tag"] == "goal_1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_where(conditions: list[str], wanted) -> None:  # type: ignore[no-untyped-def]
    found = shown(*(part for condition in conditions for part in ("--where", condition)))
    assert found == [row for row in shown() if wanted(row)]
    assert found


def test_where_a_record_contains_a_text() -> None:
    assert {row["tag"] for row in shown("--where", "text=goal_1")} >= {"goal_1"}
    assert len(shown("--where", "text=goal_1")) < 4356


@pytest.mark.parametrize(
    "columns", [[], ["--columns", "line"], ["--columns", "carrier,line"]], ids=["none", "line", "both"]
)
def test_explain_says_what_a_record_came_through(columns: list[str], tmp_path: Path) -> None:
    log = tmp_path / "docker.log"
    log.write_bytes(json.dumps({"log": GOOD.decode() + "\n", "stream": "stdout"}).encode() + b"\n" + GOOD + b"\n")
    rows = turnwire("scan", str(log), "--explain", "--json", "-q", *columns).records
    assert [row["carrier"] for row in rows] == ["docker", "file"]
    assert ("kind" in rows[0]) == (not columns)


def test_the_summary_says_how_many_were_wanted() -> None:
    done = turnwire("scan", "--wire", "nslip", REAL, "--where", "act=INFORM", "--limit", "0")
    assert [line.split()[:2] for line in done.err.splitlines()[:2]] == [["selected", "1,089"], ["records", "4,356"]]


@pytest.mark.parametrize("words", [(), ("--wire", "nslip"), ("--json",), ("-o", "OUT")])
def test_a_scan_that_goes_on_and_finds_nothing_new_says_so(words: tuple[str, ...], tmp_path: Path) -> None:
    """Not what the log holds, which was read before."""
    log, place = tmp_path / "a.log", tmp_path / "place"
    words = tuple(word.replace("OUT", str(tmp_path / "out.ndjson")) for word in words)
    for added, new in ((GOOD, False), (b"\n", True), (b"", False), (b"text\n", False), (GOOD + b"\n", True)):
        with log.open("ab") as file:
            file.write(added)
        done = turnwire("scan", log, *words, "--resume", place)
        assert done.code == 0 and " of other " not in done.err
        assert (" new " in done.err.splitlines()[-1]) != new


def test_a_scan_goes_on_where_it_ended(tmp_path: Path) -> None:
    log, place = tmp_path / "log", tmp_path / "place"
    arguments = ("scan", log, "--json", "-q", "--columns", "record,line", "--resume", place)
    log.write_bytes((GOOD + b"\n") * 2 + GOOD[:5])
    assert turnwire(*arguments).records == [{"record": 0, "line": 1}, {"record": 1, "line": 2}]
    with open(log, "ab") as file:
        file.write(GOOD[5:] + b"\n")
    assert turnwire(*arguments).records == [{"record": 2, "line": 3}]
    assert turnwire(*arguments).records == []
    log.write_bytes(GOOD)
    cut = turnwire(*arguments)
    assert cut.code == 6 and "log: file_shrunk: gap from byte 108 to an unknown end" in cut.err and not cut.records
    log.write_bytes(GOOD + b"\n")
    again = turnwire(*arguments)
    assert (again.code, again.err, again.records) == (0, "", [{"record": 3, "line": 1}])
    place.write_text("no position")
    assert turnwire(*arguments).code == 2


def test_a_gap_is_told_and_the_scan_goes_on(tmp_path: Path) -> None:
    log, place, rejects = tmp_path / "a.log", tmp_path / "place", tmp_path / "rejects"
    arguments = ("scan", log, "--json", "-q", "--columns", "line", "--rejects", rejects, "--resume", place)
    log.write_bytes((GOOD + b"\n") * 3)
    assert len(turnwire(*arguments).records) == 3
    for number, old in enumerate((GOOD, b"@a1|f2 bad")):
        log.unlink()
        log.write_bytes(old + b"\n" + GOOD + b"\n")
        done = turnwire(*arguments)
        assert (done.code, done.records[-1]) == (6, {"line": 2}), "also where there are bad records"
        assert done.err.startswith(f"{log}: file_") and done.err.count("\n") == 1
        lines = [json.loads(line) for line in rejects.read_text().splitlines()]
        gap = next(line for line in reversed(lines) if line.get("gap"))
        assert gap == {"gap": True, "file": str(log), "from": (108, 72)[number], "to": None, "why": gap["why"]}
        assert turnwire(*arguments).code == 0


def test_a_position_is_kept_only_when_all_was_written(tmp_path: Path) -> None:
    log, place = tmp_path / "log", tmp_path / "place"
    log.write_bytes(GOOD + b"\n")
    assert turnwire("scan", log, "-o", tmp_path, "--format", "csv", "--resume", place).code == 3
    assert not place.exists()
    assert turnwire("scan", log, "-o", tmp_path / "x.csv", "--resume", place).code == 0
    assert json.loads(place.read_bytes())["files"]


@needs_posix
@pytest.mark.parametrize(("output", "number"), [(False, signal.SIGINT), (True, signal.SIGTERM)])
def test_following_ends_well_with_a_signal(tmp_path: Path, output: bool, number: signal.Signals) -> None:
    log, place, file = tmp_path / "log", tmp_path / "place", tmp_path / "x.ndjson"
    log.write_bytes(GOOD + b"\n")
    form = ("-o", file, "--rejects", "-") if output else ("--json",)
    arguments = ("scan", log, "--follow", "-q", "--columns", "line", "--resume", place, *form)
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        if not output:
            assert running.stdout.readline() == b'{"line":1}\n'
        with open(log, "ab") as growing:
            growing.write(GOOD + b"\n@a3|f0|c$\n")
        if output:
            assert b"bad_digit" in running.stdout.readline()
        else:
            assert running.stdout.readline() == b'{"line":2}\n'
        running.send_signal(number)
        try:
            assert running.wait(120) == 1
        finally:
            running.kill()
        assert running.stderr.read() == b""
    if output:
        assert (file / "part-00001.ndjson").read_bytes() == b'{"line":1}\n{"line":2}\n'
        assert json.loads((tmp_path / f".{file.name}.commit").read_bytes())["position"] == json.loads(
            place.read_bytes()
        )
    assert json.loads(place.read_bytes())["files"][0]["line"] in (3, 4)


def parts(folder: Path) -> list[int]:
    """The lines of all parts, in order."""
    texts = [path.read_bytes() for path in sorted(folder.glob("part-*.ndjson"))]
    return [json.loads(line)["line"] for text in texts for line in text.splitlines()]


def test_what_goes_on_is_a_folder_of_parts(tmp_path: Path) -> None:
    log, place, out = tmp_path / "log", tmp_path / "place", tmp_path / "x.ndjson"
    arguments = ("scan", log, "-q", "--columns", "line", "--resume", place, "-o", out)
    for count in range(1, 4):
        with open(log, "ab") as growing:
            growing.write((GOOD + b"\n") * count)
        assert turnwire(*arguments).code == 0
        assert turnwire(*arguments).code == 0, "nothing new makes no part"
    assert sorted(path.name for path in out.iterdir()) == [f"part-0000{number}.ndjson" for number in (1, 2, 3)]
    assert parts(out) == [1, 2, 3, 4, 5, 6]
    place.unlink()  # killed between the part and the position: the part says how far it is
    with open(log, "ab") as growing:
        growing.write(GOOD + b"\n")
    assert turnwire(*arguments).code == 0
    assert parts(out) == [1, 2, 3, 4, 5, 6, 7]
    assert turnwire("scan", log, "-q", "--resume", place, "-o", tmp_path, "--format", "csv").code == 3
    (tmp_path / "y.ndjson").write_bytes(b"of somebody else")
    done = turnwire("scan", log, "-q", "--resume", place, "-o", tmp_path / "y.ndjson")
    assert (done.code, "folder of parts" in done.err) == (3, True)
    assert (tmp_path / "y.ndjson").read_bytes() == b"of somebody else"


@needs_posix
@pytest.mark.parametrize("rounds", [int(os.environ.get("TURNWIRE_KILL_ROUNDS", "3"))])
def test_kill_9_and_going_on_gives_every_record_once(tmp_path: Path, rounds: int) -> None:
    log, place, out = tmp_path / "log", tmp_path / "place", tmp_path / "x.ndjson"
    count = 0
    arguments = ("scan", log, "--follow", "-q", "--columns", "line", "--resume", place, "-o", out)
    for round_ in range(rounds):
        with open(log, "ab") as growing:
            growing.write((GOOD + b"\n") * 500)
        count += 500
        with subprocess.Popen(command(*arguments, "--batch-bytes", "2000"), env=environment()) as running:
            deadline = time.monotonic() + 120
            while not any(tmp_path.glob(".x.ndjson.*.run/.turnwire-*")) and time.monotonic() < deadline:
                time.sleep(0.01)
            time.sleep(0.05 * round_)
            running.kill()
    assert turnwire(*[word for word in arguments if word != "--follow"]).code == 0
    assert parts(out) == list(range(1, count + 1))
    assert not any(tmp_path.glob(".x.ndjson.*.run"))


@needs_posix
@pytest.mark.parametrize("threads", ["1", "2"])
def test_a_log_that_goes_quiet_hides_nothing(tmp_path: Path, threads: str) -> None:
    """A part that is old enough at once is ended while the scan waits for more, not when it ends."""
    log, out, place = tmp_path / "log", tmp_path / "x.ndjson", tmp_path / "place"
    log.write_bytes((GOOD + b"\n") * 3)
    start = (
        "import sys; from turnwire.log import scanning; from turnwire.log.output import outputs; "
        "steps = scanning.steps; scanning.steps = lambda found: aged(steps(found)); outputs.PART_SECONDS = 1e9\n"
        "def aged(steps):\n"
        "    quiet = 0\n"
        "    for step in steps:\n"
        "        quiet = quiet + 1 if step is None else 0\n"
        "        outputs.PART_SECONDS = 0.0 if quiet > 2 else 1e9\n"
        "        yield step\n"
        "from turnwire.cli import main; sys.exit(main())"
    )
    arguments = ("scan", log, "--follow", "-q", "--columns", "line", "--threads", threads, "--resume", place, "-o", out)
    words = [sys.executable, "-c", start, *map(str, arguments)]
    with subprocess.Popen(words, env=environment()) as running:
        try:
            for number in (1, 2):
                deadline = time.monotonic() + 120
                while not (out / f"part-0000{number}.ndjson").exists() and time.monotonic() < deadline:
                    time.sleep(0.01)
                assert parts(out) == list(range(1, 3 * number + 1)), "the scan goes on"
                with open(log, "ab") as growing:
                    growing.write((GOOD + b"\n") * 3)
        finally:
            running.kill()
    assert turnwire(*[word for word in arguments if word != "--follow"]).code == 0
    assert parts(out) == list(range(1, 10))


# --- Dask -----------------------------------------------------------------------------------------------------------


@pytest.mark.once
def test_blocks_on_processes_of_this_machine(log: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from pyarrow import parquet

    from turnwire.distributed import Manifest

    out = tmp_path / "out"
    arguments = ("scan", REAL, log, "--dask", "local", "--threads", "2", "--block-bytes", "60000", "-o", out)
    done = process(*arguments, "--columns", "line,wire,subject")
    assert done.code == 1, done.err
    told = ["records", "rejects", "text", "total", "written"]  # on a busy machine Dask's own words stand between them
    lines = [line for line in done.err.splitlines() if line.split()[:1] and line.split()[0] in told]
    assert [line.split()[0] for line in lines] == told, done.err
    assert lines[3].endswith("5 blocks")
    rows = parquet.read_table(Manifest.read(out).paths()).to_pylist()
    assert rows == turnwire("scan", REAL, log, "--json", "-q", "--columns", "line,wire,subject").records


def test_a_scheduler_that_does_not_answer_is_named(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("turnwire.cli.commands.scan.CONNECTING", 0.5)
    done = turnwire("scan", log, "--dask", "tcp://127.0.0.1:9", "-o", tmp_path / "out")
    assert done.code == 3
    assert done.err.startswith("turnwire: tcp://127.0.0.1:9: cannot reach the Dask scheduler")
