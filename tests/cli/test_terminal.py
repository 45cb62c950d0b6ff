"""What reaches a terminal: nothing that strangers wrote may steer it; UTF-8 whatever the locale; progress."""

from __future__ import annotations

import io
import json
import re
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.aside import Aside
from tests.cli.running import REAL, needs_posix, on_terminal, process, turnwire
from turnwire import csp, nslip, progress
from turnwire.characters import escaped_json
from turnwire.cli.terminal import escaped, printable, shortened, width

pytestmark = pytest.mark.once

UNSAFE = {"Cc", "Cf", "Zl", "Zp", "Cs"}
EVIL = "\x1b]0;owned\x07 \x9b31m \u202eright\u2066 \x00 \x7f \u2028 \U000e0041 [red]"
ESCAPED = r"\x1b]0;owned\x07 \x9b31m \u202eright\u2066 \x00 \x7f \u2028 \U000e0041 [red]"
PLAIN = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}


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
    """Whether nothing of what strangers wrote arrived as it was."""
    return not re.search(rb"\x1b\]|\x1b\[31m|\x07|\x00|\x7f|\xc2\x9b|\xe2\x80\xae|\xe2\x81\xa6|\xe2\x80\xa8", sent)


def test_every_unsafe_character_is_escaped_and_no_other() -> None:
    for code in range(sys.maxunicode + 1):
        character = chr(code)
        unsafe = unicodedata.category(character) in UNSAFE
        if unsafe:
            assert escaped(character) != character
            assert printable(character) != character
        elif unicodedata.category(character) != "Cn":
            assert printable(character) == character


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
        ("\U0001f3fd", 2),
        ("1\ufe0f\u20e3", 2),
        ("🇩🇪", 2),
        ("ﬁ½", 2),
    ],
)
def test_the_width_is_that_of_a_terminal(text: str, cells: int) -> None:
    assert width(text) == cells
    assert width(f"{text}|{text}") == 2 * cells + 1


@needs_posix
@pytest.mark.parametrize(
    "arguments", [["scan"], ["scan", "--json", "--rejects", "-"], ["validate"], ["validate", "--json"]], ids=" ".join
)
def test_a_terminal_gets_nothing_that_steers_it(aside: Aside, evil: Path, arguments: list[str]) -> None:
    code, sent = aside.on_terminal(*arguments, evil)
    assert code == 1
    assert harmless(sent), sent


@needs_posix
def test_tables_on_a_terminal_with_and_without_rich(aside: Aside, evil: Path, tmp_path: Path) -> None:
    (tmp_path / "absent").mkdir()
    (tmp_path / "absent" / "rich.py").write_text("raise ImportError('not installed')\n")
    from tests.cli.running import environment

    path = environment()["PYTHONPATH"]
    _, with_rich = aside.on_terminal("scan", evil)
    _, without = on_terminal("scan", evil, PYTHONPATH=f"{tmp_path / 'absent'}:{path}")
    assert "─" in with_rich.decode()
    assert b"\x1b[1m" in with_rich
    assert "─" not in without.decode()
    assert b"\x1b" not in without
    for sent in (with_rich, without):
        assert ESCAPED[:20] in sent.decode()
        assert "日本語" in sent.decode()
        assert harmless(sent)


def test_names_of_files_are_escaped_in_messages_and_tables(evil: Path) -> None:
    for arguments in (
        ["scan", evil, evil],
        ["validate", evil],
        ["scan", f"{evil}.missing"],
        ["scan", evil, "--nope\x1b[31m"],
    ):
        done = turnwire(*arguments)
        assert harmless(done.out + done.err.encode())
    assert r"a\x1b[31m\n\u202e.log" in turnwire("scan", evil, "--columns", "file").out.decode()
    assert turnwire("scan", evil, "--json").records[0]["file"] == str(evil), "JSON keeps the name itself"


@needs_posix
def test_a_file_name_that_is_no_text_is_kept(tmp_path: Path) -> None:
    import base64
    import os

    name = os.fsencode(tmp_path) + b"/a\xff.log"
    with open(name, "wb") as file:
        file.write(b"@a3|f0|c1|S0|d1|T1#\n@a3|f0|c$#\n")
    path = os.fsdecode(name)
    good, bad = process("scan", path, "--json", "--rejects", "-").records
    assert "file" not in {*good, *bad}
    assert base64.b64decode(good["file_base64"]) == base64.b64decode(bad["file_base64"]) == name
    shown = turnwire("scan", "--wire", "nslip", path, "--columns", "file,src")
    assert rb"/a\udcff.log" in shown.out
    assert r"a\udcff.log:2: byte" in shown.err


@pytest.mark.parametrize("form", [["scan", "--wire", "nslip"], ["scan", "--wire", "nslip", "--json"]], ids=" ".join)
def test_utf8_whatever_the_locale(evil: Path, form: list[str]) -> None:
    done = process(*form, evil, **PLAIN)
    assert "日本語" in done.out.decode()
    assert "日本語" in done.err
    assert done.code == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def hasty(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal as standard error, progress from the first moment, no rich."""
    there = Terminal()
    monkeypatch.setattr(sys, "stderr", there)
    monkeypatch.setattr(progress, "PATIENCE", 0)
    monkeypatch.setattr(progress, "_rich_bar", lambda total: None)
    monkeypatch.setenv("TERM", "xterm")
    return there


def test_progress_tells_and_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = hasty(monkeypatch)
    with progress.Progress(20_000_000) as shown:
        shown.update(5_000_000, 1234)
    assert re.fullmatch(
        r"\r\x1b\[K5\.0 MB of 20\.0 MB \(25%\), 1,234 records, .*/s, .* s left\r\x1b\[K", terminal.getvalue()
    )


def test_progress_is_for_terminals_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = hasty(monkeypatch)
    monkeypatch.setenv("TERM", "dumb")
    with progress.Progress(None) as shown:
        shown.update(5, 1)
    assert terminal.getvalue() == ""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(terminal, "isatty", lambda: False)
    with progress.Progress(None) as shown:
        shown.update(5, 1)
    assert terminal.getvalue() == ""


@needs_posix
@pytest.mark.parametrize("rich", [True, False])
def test_a_long_scan_shows_progress_on_a_terminal_only(aside: Aside, tmp_path: Path, rich: bool) -> None:
    from tests.cli.running import environment

    (tmp_path / "rich.py").write_text("raise ImportError('not installed')\n")
    path = environment()["PYTHONPATH"]
    changes = {} if rich else {"PYTHONPATH": f"{tmp_path}:{path}"}
    arguments = ("scan", REAL, "--limit", "0", "--batch-bytes", "50000")
    code, sent = (aside.on_terminal if rich else on_terminal)(*arguments, hasty=True, **changes)
    assert code == 0
    before, summary = sent.decode().rsplit("4,356 ", 1)
    assert " records" in before
    assert "\x1b[" in before
    assert "\x1b" not in summary
    quiet = aside(*arguments, hasty=True) if rich else process(*arguments, **changes)
    assert "\r" not in quiet.err
    assert "\x1b" not in quiet.err


@needs_posix
def test_converted_messages_do_not_steer_a_terminal(aside: Aside, tmp_path: Path) -> None:
    """A pipe gets the canonical text, a terminal the same with what could steer it escaped."""
    log = tmp_path / "log"
    text = EVIL.replace("\x00", "").replace("\n", "")
    message = csp.message("A", "B", "C0", csp.Task("T1", {"REQ": text}))
    log.write_text(csp.encode(message), "utf-8")
    arguments = ("convert", log, "--to", "csp", "-q")
    code, sent = aside.on_terminal(*arguments)
    assert code == 0
    assert harmless(sent)
    assert b"[red]" in sent
    assert "\u202e" in aside(*arguments, out="| cat").out.decode()
