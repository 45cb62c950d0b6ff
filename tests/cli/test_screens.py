"""Tables on terminals of 80, 100 and 120 columns, with and without rich; the cursor after an interruption."""

from __future__ import annotations

import io
import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.aside import Aside
from tests.cli.running import GOOD, HASTY, REAL, environment, needs_posix, turnwire
from turnwire import progress
from turnwire.cli import program, tables
from turnwire.cli.text import width

pytestmark = pytest.mark.once

STYLE = re.compile(r"\x1b\[[0-9;]*m")
NAMES = ["line", "wire", "conversation", "tag", "count", "last"]
ROWS: list[list[Any]] = [
    [1, "nslip", "550e8400-e29b-41d4-a716-446655440000", "a tag of thirty-three characters!", 1234567, None],
    [20000, "csp", "C1", "日本語のタグ", 5, "x"],
]


class Screen(io.StringIO):
    """Standard output that is a terminal of some width."""

    def isatty(self) -> bool:
        return True


@pytest.fixture(params=["rich", "plain"])
def screen(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A table as it is shown on a terminal of so many columns, with or without rich; the style taken away."""
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "rich.box", None)

    def shown(columns: int, *arguments: Any, **named: Any) -> list[str]:
        make, *arguments = arguments if callable(arguments[0]) else (tables.table, *arguments)
        with monkeypatch.context() as meanwhile:
            meanwhile.setenv("COLUMNS", str(columns))
            meanwhile.setenv("TERM", "xterm")
            meanwhile.setattr(sys, "stdout", Screen())
            text = make(*arguments, **named)
        lines = STYLE.sub("", text).split("\n")[:-1]
        assert ("─" in text) is (request.param == "rich")
        return [line.rstrip() for line in lines if not set(line) <= {"─"}]

    return shown


def test_texts_are_cut_before_columns_go(screen: Any) -> None:
    assert screen(120, NAMES, ROWS)[1:] == [
        "     1  nslip  550e8400-e29b-41d4-a716-446655440000  a tag of thirty-three characters!  1,234,567",
        "20,000  csp    C1                                    日本語のタグ                               5  x",
    ]


@pytest.mark.parametrize("columns", [100, 80])
def test_texts_are_cut_on_narrower_ones(screen: Any, columns: int) -> None:
    lines = screen(columns, NAMES, ROWS)
    assert [line.split()[0] for line in lines] == ["line", "1", "20,000"]
    assert all(width(line) <= columns for line in lines)
    assert lines[0].split() == NAMES
    assert "1,234,567" in lines[1], "a number is never cut"


def test_columns_go_from_the_right_and_are_named(screen: Any) -> None:
    lines = screen(54, NAMES, ROWS, amounts=False, option="--columns")
    assert lines[-1] == "+1 column: --columns last"
    assert lines[0].split() == NAMES[:-1]
    lines = screen(42, NAMES, ROWS, option="--json")
    assert lines[-1] == "+2 columns: count, last (--json)"
    assert width(lines[1]) <= 42


def test_the_names_of_columns_that_went_are_whole(screen: Any) -> None:
    names = [f"a_column_of_some_length_{place}" for place in range(9)]
    lines = screen(40, names, [["x"] * 9], option="--columns")
    assert lines[-1] == f"+8 columns: --columns {','.join(names[1:])}"


def test_a_shorter_time_makes_room_for_a_column(screen: Any) -> None:
    rows = [["2026-01-05T09:06:37.746Z", "REQUEST", "x" * 30], ["2026-01-05T09:06:40.157Z", "PROPOSE", "y"]]
    lines = screen(38, ["time", "act", "tag"], rows)
    assert lines[1:] == ["09:06:37.746  REQUEST  xxxxxxxxxxxxxx…", "09:06:40.157  PROPOSE  y"]
    assert screen(25, ["time", "act", "tag"], rows)[1:3] == ["09:06:37.746  REQUEST", "09:06:40.157  PROPOSE"]


def test_cells_of_text_are_a_table_like_the_others(screen: Any) -> None:
    rows = [["nslip", "≈ 1,327", "", "yes"], ["\x1b[1m", "5", "", "no"]]
    lines = screen(80, tables.text_table, ["log", "tokens", "cached", "carries all"], rows, frozenset({"tokens"}))
    assert lines == [
        "log       tokens  carries all",
        "nslip    ≈ 1,327  yes",
        "\\x1b[1m        5  no",
    ]


@needs_posix
def test_prices_fit_on_a_narrow_terminal(aside: Aside) -> None:
    code, sent = aside.on_terminal("tokens", REAL, "--price", "2.5,.25", "--sample", "50", COLUMNS="80", NO_COLOR="1")
    lines = STYLE.sub("", sent.decode()).split("\r\n")
    (head,) = [place for place, line in enumerate(lines) if line.startswith("log ")]
    assert code == 0
    assert lines[head].split()[:7] == ["log", "wire", "messages", "tokens", "cached", "once", "growing"]
    assert all(width(line) <= 80 for line in lines[head : head + 4])
    assert any(line.startswith("once, growing, uncached: USD") for line in lines)


@needs_posix
@pytest.mark.parametrize(("columns", "wrapped"), [(80, 1), (64, 2), (20, 4), (200, 0)])
def test_a_long_sum_of_wires_goes_on_below(aside: Aside, tmp_path: Path, columns: int, wrapped: int) -> None:
    from examples.mixed_log import log

    (tmp_path / "mixed.log").write_text("".join(entry.text for entry in log(60).sound), "utf-8")
    counts = turnwire("scan", tmp_path / "mixed.log", "--limit", "1").err.splitlines()
    _, sent = aside.on_terminal("scan", tmp_path / "mixed.log", "--limit", "1", COLUMNS=str(columns), NO_COLOR="1")
    lines = STYLE.sub("", sent.decode()).split("\r\n")
    (head,) = [place for place, line in enumerate(lines) if line.startswith("records ")]
    (whole,) = [line for line in counts if line.startswith("records ")]
    assert " ".join([lines[head], *(line.strip() for line in lines[head + 1 : head + 1 + wrapped])]) == whole
    assert all(line.startswith(" " * whole.index("nslip")) for line in lines[head + 1 : head + 1 + wrapped])
    assert lines[head + 1 + wrapped].startswith("rejects ")


def test_a_column_that_is_too_wide_alone_is_cut(screen: Any) -> None:
    assert screen(8, ["conversation"], [["550e8400-e29b"]]) == ["convers…", "550e840…"]


def test_names_have_no_separators(screen: Any) -> None:
    assert screen(80, ["line", "x"], [[20000, "y"]], amounts=False)[1].split() == ["20000", "y"]
    assert screen(80, ["line", "x"], [[True, "y"]])[1].split() == ["True", "y"]
    assert screen(80, ["mean", "x"], [[1234.5678, "y"]], {"mean": 2})[1].split() == ["1,234.57", "y"]


@given(
    st.lists(st.tuples(st.text("ab日", min_size=1, max_size=20), st.booleans()), min_size=1, max_size=12).flatmap(
        lambda heads: st.tuples(
            st.just(heads),
            st.lists(st.lists(st.text("xyz日", max_size=40), min_size=len(heads), max_size=len(heads)), max_size=3),
        )
    ),
    st.integers(1, 200),
)
def test_what_fits_fits(table: tuple[list[tuple[str, bool]], list[list[str]]], room: int) -> None:
    heads, cells = table
    names, numbers = [name for name, _ in heads], [number for _, number in heads]
    widths = tables.fitted(names, cells, numbers, room)
    assert 1 <= len(widths) <= len(names)
    assert sum(widths) + tables.GAP * (len(widths) - 1) <= room
    if len(widths) > 1:
        for place, wide in enumerate(widths):
            widest = max(width(names[place]), *(width(row[place]) for row in cells), 0)
            assert wide <= widest
            assert wide >= (widest if numbers[place] else min(widest, tables.NARROW))


@needs_posix
@pytest.mark.parametrize("columns", [80, 120])
def test_a_scan_on_a_terminal(aside: Aside, columns: int) -> None:
    arguments = ("scan", REAL, "--wire", "nslip", "--limit", "3", "-q")
    code, sent = aside.on_terminal(*arguments, COLUMNS=str(columns), NO_COLOR="1")
    lines = [line.rstrip() for line in STYLE.sub("", sent.decode()).split("\r\n")]
    lines = [line for line in lines if line and not set(line) <= {"─"}]
    assert code == 0
    assert all(len(line) <= columns for line in lines)
    names = "line  act      frame        conv_id  src  dst  turn  goal_id  task_id  result_id"
    if columns == 80:
        assert lines[0] == names
        assert lines[3] == "   3  INFORM   OBSERVATION        1    2    0     3        1        1          1"
        assert lines[4] == "+3 columns: --columns priority,status,tag"
    else:
        assert lines[0] == f"{names}  priority  status       tag"


def test_times_in_tables_have_milliseconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('2026-01-05T09:00:01.123456Z @a3|f0|c1|S0|d1|T1|t"x"#\n')
    assert b" 2026-01-05T09:00:01.123Z " in turnwire("scan", log).out
    assert turnwire("scan", log, "--json").records[0]["time"] == "2026-01-05T09:00:01.123456Z"


class Interrupted:
    """A bar that is interrupted while it goes away."""

    task_ids = (0,)

    def start(self) -> None:
        sys.stderr.write("\x1b[?25l")

    def update(self, *_: Any, **__: Any) -> None:
        pass

    def stop(self) -> None:
        raise KeyboardInterrupt


def test_an_interruption_within_the_clearing_leaves_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "_rich_bar", lambda total: Interrupted())
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    assert program.run(["scan", str(REAL), "-o", str(tmp_path / "out.ndjson")]) == 130
    assert capsys.readouterr().err.endswith("\x1b[?25h")
    assert list(tmp_path.iterdir()) == []


def test_an_interruption_within_the_first_drawing_leaves_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(self: Any) -> None:
        raise KeyboardInterrupt

    live = pytest.importorskip("rich.live")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(live.Live, "refresh", interrupted)
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda self: True, raising=False)
    before = sys.stdout, sys.stderr
    assert program.run(["scan", str(REAL), "-o", str(tmp_path / "out.ndjson")]) == 130
    assert (sys.stdout, sys.stderr) == before
    said = capsys.readouterr().err
    assert "\x1b[?25l" in said
    assert said.endswith("turnwire: interrupted\n\r\x1b[K\x1b[?25h")


@needs_posix
def test_control_c_leaves_the_cursor(tmp_path: Path) -> None:
    """Interrupted once the bar is there: what is waited for is that state, never a time."""
    ours, theirs = pty.openpty()
    arguments = ["scan", "-", "-o", str(tmp_path / "out.ndjson"), "--batch-bytes", "20000"]
    with subprocess.Popen(
        [sys.executable, "-c", HASTY, *arguments],
        stdin=subprocess.PIPE,
        stdout=theirs,
        stderr=theirs,
        env=environment(TERM="xterm", COLUMNS="80"),
    ) as running:
        os.close(theirs)
        assert running.stdin is not None
        running.stdin.write(REAL.read_bytes())
        running.stdin.flush()  # and is left open: the scan waits for more
        sent = b""
        while b"\x1b[?25l" not in sent or b" records" not in sent:
            sent += os.read(ours, 1 << 16)
        running.send_signal(signal.SIGINT)
        try:
            while piece := os.read(ours, 1 << 16):
                sent += piece
        except OSError:  # the other side is closed
            pass
        assert running.wait(60) == 130
    os.close(ours)
    assert sent.rfind(b"\x1b[?25h") > sent.rfind(b"\x1b[?25l")
    assert list(tmp_path.iterdir()) == []


def test_only_what_prints_takes_the_bar_away(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cleared = []
    monkeypatch.setattr(progress.Progress, "clear", lambda self: cleared.append(self))
    few = ("--batch-bytes", "20000", "--no-progress")
    turnwire("scan", REAL, *few, "-o", tmp_path / "out.ndjson")
    assert len(cleared) == 1, "at the end"
    cleared.clear()
    turnwire("scan", REAL, *few, "--json")
    assert len(cleared) > 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["scna", "x"], "there is no command 'scna'; did you mean 'scan'?"),
        (["frobnicate"], "there is no command 'frobnicate'; there are "),
        (["session", "chekc", "x"], "there is no command 'chekc'; did you mean 'check'?"),
        (["session", "show"], "there is no command 'show'; there are check, pack, quiz, unpack"),
        (["ledger", "exprot", "x"], "there is no command 'exprot'; did you mean 'export'?"),
        (["scan", "--wire", "nslp", str(REAL)], "'nslp' is not a wire; did you mean 'nslip'?"),
        (["scan", "--wire", "nslip", "--columns", "con_id", str(REAL)], "did you mean 'conv_id'?"),
        (["scan", "--columns", "conv_id", str(REAL)], "with --wire nslip there is one"),
        (["scan", "--where", "conv_id=3", str(REAL)], "with --wire nslip there is one"),
        (["scan", "--where", "sendr=3", str(REAL)], "did you mean 'sender'?"),
        (["tokens", "--tokenizer", "o200k", str(REAL)], "did you mean 'o200k_base'?"),
    ],
    ids=lambda value: " ".join(value)[:30] if isinstance(value, list) else "",
)
def test_did_you_mean(arguments: list[str], words: str) -> None:
    done = turnwire(*arguments)
    assert done.code == 2
    assert words in done.err


def test_what_looks_binary_is_said_so(tmp_path: Path) -> None:
    file, text = tmp_path / "state.db", tmp_path / "text.log"
    file.write_bytes(b"SQLite format 3\0" + b"\0@a3|f0|c$#\xff\xfe" * 6)
    text.write_bytes(b"@a3|f0|c$#\n" * 6 + b"\0\n" + "日本".encode() * 1000)
    done = turnwire("scan", file, text)
    assert f"{file}: looks binary: what is damaged there is not shown" in done.err
    assert done.err.count("state.db") == 1
    assert done.code == 1
    done = turnwire("validate", file)
    assert (done.code, done.out) == (1, b"")
    assert f"{file}: looks binary: its faults (6) are not listed; --json lists them" in done.err
    assert len(turnwire("validate", "--json", file).records) == 6
    done = turnwire("validate", text)
    assert done.out.count(b"bad_digit") == 6
    assert "binary" not in done.err


@pytest.mark.parametrize("command", ["scan", "stats", "validate", "tokens", "report -o page.html"])
def test_where_nothing_is_found_what_looks_binary_is_named(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("other.log").write_bytes(GOOD.decode().encode("utf-16"))
    Path("state.db").write_bytes(b"SQLite format 3\0" + bytes(64))
    Path("text.log").write_text("nothing here\n")
    done = turnwire(*command.split(), "other.log", "state.db", "text.log")
    said = [line for line in done.err.splitlines() if "looks" in line or "UTF" in line]
    assert said == [
        "other.log: is UTF-16; logs are read as UTF-8 (iconv -f utf-16 -t utf-8)",
        "state.db: looks binary",
    ]
    assert done.code == 0


def test_where_all_rejects_are_is_said(tmp_path: Path) -> None:
    log, kept = tmp_path / "log", tmp_path / "kept.ndjson"
    log.write_text("@a3|f0|c$#\n" * 7)
    assert "... and 2 more (--rejects FILE keeps them all)" in turnwire("scan", log).err
    assert f"... and 2 more (all are in {kept})" in turnwire("scan", log, "--rejects", kept).err
    assert "... and 2 more (all are in standard output)" in turnwire("scan", log, "--rejects", "-").err


def test_what_is_no_ledger_is_told_calmly(tmp_path: Path) -> None:
    import sqlite3

    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("hello\n")
    with sqlite3.connect(other) as made:
        made.execute("CREATE TABLE t (a)")
    made.close()
    (tmp_path / "empty").touch()
    for name, why in (
        ("text", "it is not an SQLite database"),
        ("other.db", "it is an SQLite database of another application"),
        ("empty", "it is empty"),
    ):
        done = turnwire("verify", tmp_path / name)
        assert (done.code, done.out.decode()) == (1, f"{tmp_path / name}: no ledger: {why}\n")
    done = turnwire("ledger", "check", other, "--head", text)
    assert done.code == 2
    assert f"{text} holds no head of a ledger: JSON is malformed" in done.err


@pytest.mark.parametrize("columns", [40, 44])
def test_a_narrow_time_loses_its_day_before_its_clock(screen: Any, columns: int) -> None:
    times = [[7, "a text that is cut", f"2026-01-05T09:00:0{second}.000Z"] for second in (1, 2)]
    lines = screen(columns, ["line", "text", "time"], times)
    assert [line.split()[-1] for line in lines] == ["time", "09:00:01.000", "09:00:02.000"]
    times[1][2] = "2026-01-06T09:00:02.000Z"
    lines = screen(columns, ["line", "text", "time"], times)
    assert [line.split()[-1][:11] for line in lines] == ["time", "01-05T09:00", "01-06T09:00"]
    assert "2026-01-05T09:00:01.000Z" in screen(80, ["line", "text", "time"], times)[1]


def test_latencies_outlast_the_rare_columns_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    from turnwire.cli.commands.stats import _tables

    row = {"stat": "answers", "wire": "nslip", "rule": "ask", "requests": 7, "answered": 7, "waiting": 0, "given_up": 1}
    seconds = {"count": 7, "min": 1.0, "p50": 2.0, "p90": 2.5, "p99": 3.0, "max": 3.0}
    total = {"stat": "all", "records": 0, "wanted": 0, "wanted_bytes": 0, "rejects": 0, "first": None}
    total |= {"record_bytes": 0, "reject_bytes": 0, "text_bytes": 0, "bytes": 0}
    rare = {"backwards": 0, "progress": 0, "orphans": 0, "ahead": 0, "further": 0, "seconds": seconds}
    [_, shown] = _tables([total, {**row, **rare}])
    assert shown.splitlines()[1].split()[5:] == [
        *("min", "s", "p50", "s", "p90", "s", "p99", "s", "max", "s", "given_up", "backwards", "timed")
    ]
