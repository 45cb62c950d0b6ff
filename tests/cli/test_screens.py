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

from tests.cli.running import HASTY, REAL, environment, needs_posix, turnwire
from turnwire import progress
from turnwire.cli import program
from turnwire.cli import terminal as tables
from turnwire.cli.terminal import width

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


def test_a_shorter_time_makes_room_for_a_column(screen: Any) -> None:
    rows = [["2026-01-05T09:06:37.746Z", "REQUEST", "x" * 30], ["2026-01-05T09:06:40.157Z", "PROPOSE", "y"]]
    lines = screen(38, ["time", "act", "tag"], rows)
    assert lines[1:] == ["09:06:37.746  REQUEST  xxxxxxxxxxxxxx…", "09:06:40.157  PROPOSE  y"]
    assert screen(25, ["time", "act", "tag"], rows)[1:3] == ["09:06:37.746  REQUEST", "09:06:40.157  PROPOSE"]


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


def test_times_in_tables_have_milliseconds(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text('2026-01-05T09:00:01.123456Z @a3|f0|c1|S0|d1|T1|t"x"#\n')
    assert b" 2026-01-05T09:00:01.123Z " in turnwire("scan", log).out
    assert turnwire("scan", log, "--json").records[0]["time"] == "2026-01-05T09:00:01.123456Z"


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
