"""Text that reaches a terminal: nothing of a log steers it; tables fit; progress, the cursor, UTF-8 in any locale."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import signal
import subprocess
import sys
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.cli.running import HASTY, REAL, environment, needs_posix, on_terminal, process, turnwire
from turnwire import nslip, progress
from turnwire.cli import outcome, output as tables
from turnwire.cli.output import escaped, printable, shortened, width
from turnwire.showing import escaped_json

pytestmark = pytest.mark.once


UNSAFE = {"Cc", "Cf", "Zl", "Zp", "Cs"}
EVIL = "\x1b]0;owned\x07 \x9b31m \u202eright\u2066 \x00 \x7f \u2028 \U000e0041 [red]"
ESCAPED = r"\x1b]0;owned\x07 \x9b31m \u202eright\u2066 \x00 \x7f \u2028 \U000e0041 [red]"
PLAIN = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


class Terminal(io.StringIO):
    """Standard output or error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """A log with a good and a damaged record that try to steer the terminal, in a file whose name does too."""
    path = tmp_path / "a\x1b[31m\n\u202e.log"
    message = nslip.SlipMessage(
        1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {nslip.Slot.STATUS: "日本語", nslip.Slot.TAG: EVIL[:40]}
    )
    good = nslip.encode(message)
    path.write_text(f"{good}\n{good.replace('c1', 'c$')}\n", "utf-8")
    return path


def harmless(sent: bytes) -> bool:
    """True if nothing of what strangers wrote arrived as it was."""
    return not re.search(rb"\x1b\]|\x1b\[31m|\x07|\x00|\x7f|\xc2\x9b|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa8", sent)


def test_every_unsafe_character_is_escaped_and_no_other() -> None:
    characters = list(map(chr, range(sys.maxunicode + 1)))
    for character in (one for one in characters if unicodedata.category(one) in UNSAFE):
        assert escaped(character) != character != printable(character)
    safe = "".join(one for one in characters if unicodedata.category(one) not in {*UNSAFE, "Cn"})
    assert printable(safe) == safe


@given(st.text())
def test_escaping_is_reversible_and_on_one_line(text: str) -> None:
    shown = escaped(text)
    assert shown.isprintable() or {unicodedata.category(each) for each in shown if not each.isprintable()} <= {
        "Zs",
        "Co",
        "Cn",
    }
    back = re.sub(r"\\(x..|u....|U.{8}|[nrt\\])", lambda found: found[0].encode().decode("unicode_escape"), shown)
    assert back == text


@given(st.text())
def test_json_lines_keep_their_value_and_their_lines(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    lines = json.dumps({"a": text}, ensure_ascii=False).encode() + b"\n"
    safe = escaped_json(lines)
    assert json.loads(safe) == {"a": text}
    assert len(safe.decode().splitlines()) == 1
    assert not {unicodedata.category(each) for each in safe.decode()[:-1]} & UNSAFE


DRAWN = st.text(
    st.one_of(st.characters(), st.sampled_from("日조\u1112\u1161\u11ab❤👍\ufe0f\U0001f3fd\u0301\u0e31🇩1\u20e3"))
)


@given(DRAWN, st.integers(1, 20), st.booleans())
def test_cut_text_fits(text: str, cells: int, from_start: bool) -> None:
    cut = shortened(text, cells, from_start)
    assert width(cut) <= cells
    kept = cut.removeprefix("…") if from_start else cut.removesuffix("…")
    assert kept == text or kept != cut, "what is cut is marked"
    assert text.endswith(kept) if from_start else text.startswith(kept)
    if cut != text and not from_start:
        assert width(text[: len(kept) + 1]) >= cells, "as much as fits is kept"


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("日本語", 6),
        ("조사원", 6),
        ("\u1112\u1161\u11ab", 2),  # one Korean syllable of three letters
        ("นักวิจารณ์", 7),
        ("e\u0301", 1),
        ("❤\ufe0f", 2),
        ("🤖\ufe0f", 2),
        ("👍\U0001f3fd", 2),
        ("1\ufe0f\u20e3", 2),
        ("🇩🇪", 2),
        ("ﬁ½", 2),
    ],
)
def test_the_width_is_that_of_a_terminal(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(f"{text}|{text}") == 2 * cells + 1


@needs_posix
def test_a_terminal_gets_nothing_that_steers_it(evil: Path) -> None:
    code, sent = on_terminal("scan", evil, before=[["scan", "--json", "--rejects", "-", evil]])
    assert code == 1 and sent.count("日本語".encode()) >= 2
    assert harmless(sent), sent


STEERED = ("stats", "stats --json", "validate", "tokens --max 1 --advise", "scan --json --rejects -")


@pytest.mark.parametrize("words", STEERED)
def test_what_strangers_wrote_steers_nobody(evil: Path, words: str) -> None:
    done = turnwire(*words.split(), evil)
    assert done.code == 1 and harmless(done.out) and harmless(done.err.encode())
    rows = [json.loads(line) for line in done.out.splitlines()] if "--json" in words else []
    assert str(evil) in [row.get("file") for row in rows] or "scan" not in words, "it is kept where it is a value"


def test_tables_on_a_terminal_with_and_without_rich(evil: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdout", Terminal())
    rows = [["日本語", EVIL]]
    with_rich = tables.table(["status", "tag"], rows)
    monkeypatch.setitem(sys.modules, "rich.box", None)
    without = tables.table(["status", "tag"], rows)
    assert "─" in with_rich and "\x1b[1m" in with_rich
    assert "─" not in without and "\x1b" not in without
    for shown in (with_rich, without):
        assert ESCAPED[:20] in shown and "日本語" in shown
        assert harmless(shown.encode())


@needs_posix
def test_a_file_name_that_is_no_text_is_kept(tmp_path: Path) -> None:
    import base64
    import os

    name = os.fsencode(tmp_path) + b"/a\xff.log"
    with open(name, "wb") as file:
        file.write(b"@a3|f0|c1|S0|d1|T1#\n@a3|f0|c$#\n")
    path = os.fsdecode(name)
    good, bad = turnwire("scan", path, "--json", "--rejects", "-").records
    assert "file" not in {*good, *bad}
    assert base64.b64decode(good["file_base64"]) == base64.b64decode(bad["file_base64"]) == name
    shown = turnwire("scan", "--wire", "nslip", path, "--columns", "file,src")
    assert rb"/a\udcff.log" in shown.out
    assert r"a\udcff.log:2: byte" in shown.err


def test_utf8_whatever_the_locale(evil: Path) -> None:
    done = process("scan", "--wire", "nslip", evil, **PLAIN)
    assert "日本語" in done.out.decode()
    assert "日本語" in done.err
    assert done.code == 1


def hasty(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error, progress from the first moment."""
    there = Terminal()
    monkeypatch.setattr(sys, "stderr", there)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setenv("TERM", "xterm")
    return there


@pytest.mark.parametrize("lacks", ["power", "a terminal", "rich"])
def test_progress_is_for_terminals_that_can(monkeypatch: pytest.MonkeyPatch, lacks: str) -> None:
    terminal = hasty(monkeypatch)
    if lacks == "power":
        monkeypatch.setenv("TERM", "dumb")
    elif lacks == "rich":
        monkeypatch.setitem(sys.modules, "rich.progress", None)
    else:
        monkeypatch.setattr(terminal, "isatty", lambda: False)
    with progress.Progress(None) as shown:
        shown.update(5, 1)
        shown.update(6, 1)
    assert terminal.getvalue() == ""


@needs_posix
def test_a_long_scan_shows_progress_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ("scan", REAL, "--limit", "0", "--batch-bytes", "50000")
    code, sent = on_terminal(*arguments, hasty=True)
    assert code == 0
    before, summary = sent.decode().rsplit("4,356 ", 1)
    assert " records" in before and "\x1b[" in before
    assert "\x1b" not in summary
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "INTERVAL", 0)
    quiet = turnwire(*arguments)
    assert "\r" not in quiet.err and "\x1b" not in quiet.err


STYLE = re.compile(r"\x1b\[[0-9;]*m")
NAMES = ["line", "wire", "conversation", "tag", "count", "last"]
ROWS: list[list[Any]] = [
    [1, "nslip", "550e8400-e29b-41d4-a716-446655440000", "a tag of thirty-three characters!", 1234567, None],
    [20000, "csp", "C1", "日本語のタグ", 5, "x"],
]


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A table as it is shown on a terminal of so many columns; the style taken away."""

    def shown(columns: int, *arguments: Any, **named: Any) -> list[str]:
        with monkeypatch.context() as meanwhile:
            meanwhile.setenv("COLUMNS", str(columns))
            meanwhile.setenv("TERM", "xterm")
            meanwhile.setattr(sys, "stdout", Terminal())
            text = tables.table(*arguments, **named)
        lines = STYLE.sub("", text).split("\n")[:-1]
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
    assert outcome.run(["scan", str(REAL), "-o", str(tmp_path / "out.ndjson")]) == 130
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
        assert running.wait(300) == 130
    os.close(ours)
    assert sent.rfind(b"\x1b[?25h") > sent.rfind(b"\x1b[?25l")
    assert list(tmp_path.iterdir()) == []


def test_what_looks_binary_is_said_so(tmp_path: Path) -> None:
    file, text = tmp_path / "state.db", tmp_path / "text.log"
    file.write_bytes(b"state of something\0" + b"\0@a3|f0|c$#\xff\xfe" * 6)
    text.write_bytes(b"@a3|f0|c$#\n" * 6 + b"\0\n" + "日本".encode() * 1000)
    done = turnwire("validate", file)
    assert (done.code, done.out) == (1, b"")
    assert f"{file}: looks binary: its faults (6) are not listed; --json lists them" in done.err
    assert len(turnwire("validate", "--json", file).records) == 6
    done = turnwire("validate", text)
    assert done.out.count(b"bad_digit") == 6
    assert "looks binary" not in done.err


@needs_posix
def test_a_terminal_gets_the_first_converted_messages(tmp_path: Path) -> None:
    log = tmp_path / "agents.log"
    log.write_bytes(b"".join(b'@a3|f0|c%d|S0|d1|T1|gH|kg|q2|t"refactor"#\n' % (place % 10) for place in range(25)))
    convert = ["convert", log, "--to", "csp"]
    code, sent = on_terminal(*convert, before=[[*convert, "-v"]])
    assert code in (0, 5) and sent.count(b"CSP/1\r\n") == 25 + 20 and sent.count(b"5 more messages") == 1
