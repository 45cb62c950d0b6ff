"""``turnwire scan --output``: the formats, and whole or nothing on a full disk, a closed pipe and an interruption."""

from __future__ import annotations

import csv
import errno
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import turnwire as library
from tests.cli.running import GOOD, REAL, command, environment, needs_posix, on_terminal, process, turnwire
from turnwire import nslip
from turnwire.cli.output import opened

pytestmark = pytest.mark.once

FORMATS = ["parquet", "arrow", "csv", "ndjson"]


def records() -> list[dict[str, object]]:
    return pa.table(library.scan(str(REAL), wire="nslip")).to_pylist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_of_each_format(tmp_path: Path, format: str) -> None:
    path = tmp_path / f"out.{format}"
    done = turnwire("scan", "--wire", "nslip", REAL, "-o", path)
    assert (done.code, done.out) == (0, b"")
    assert f"written {path}" in done.err
    assert os.listdir(tmp_path) == [path.name]
    if format == "parquet":
        assert parquet.read_table(path).to_pylist() == records()
    elif format == "arrow":
        assert ipc.open_file(path).read_all().to_pylist() == records()
    elif format == "ndjson":
        assert path.read_bytes() == turnwire("scan", "--wire", "nslip", REAL, "--json").out
    else:
        with open(path, newline="") as file:
            assert [row["tag"] for row in csv.DictReader(file)] == [row["tag"] for row in records()]


@pytest.mark.parametrize("format", FORMATS)
def test_a_pipe_gets_each_format(format: str) -> None:
    arguments = ("scan", "--wire", "nslip", REAL, "-q", "--output", "-", "--format", format)
    done = process(*arguments, out="| cat") if format == "parquet" else turnwire(*arguments)
    assert (done.code, done.err) == (0, "")
    if format == "parquet":
        assert parquet.read_table(io.BytesIO(done.out)).to_pylist() == records()
    elif format == "arrow":
        assert ipc.open_stream(done.out).read_all().to_pylist() == records()
    elif format == "ndjson":
        assert done.records == turnwire("scan", "--wire", "nslip", REAL, "--json").records
    else:
        assert len(done.out.splitlines()) == 4357


def test_a_formula_in_a_tag_is_none_in_csv(tmp_path: Path) -> None:
    message = nslip.SlipMessage(1, 2, 3, 4, nslip.Act.ASK, nslip.FrameType.TASK, {nslip.Slot.TAG: '=HYPERLINK("evil")'})
    (tmp_path / "log").write_text(nslip.encode(message))
    for option, cell in ((), '\'=HYPERLINK("evil")'), (("--formulas", "keep"), '=HYPERLINK("evil")'):
        done = turnwire(
            "scan", "--wire", "nslip", tmp_path / "log", "-o", "-", "--format", "csv", "--columns", "tag", *option
        )
        assert list(csv.reader(io.StringIO(done.out.decode()))) == [["tag"], [cell]]


@needs_posix
def test_no_text_of_a_log_steers_a_terminal_and_none_is_sent_binary(tmp_path: Path) -> None:
    """Whatever the format keeps as it is; a pipe gets the bytes."""
    log, events = tmp_path / "log", tmp_path / "events"
    log.write_text('@a3|f0|c1|S0|d1|T1|t"\u009b31m \u202e \u200b mark"#\n')
    events.write_text('{"text":"\u009b31m \u202e \u200b mark"}\n')
    texts = ["scan", log, "-o", "-", "--format", "csv"], ["session", "pack", "--events", events]
    code, sent = on_terminal("scan", REAL, "-o", "-", "--format", "parquet", before=texts, NO_COLOR="1")
    shown = sent.decode()
    assert not set("\u009b\u202e\u200b\x1b") & set(shown)
    assert shown.count("mark") == 2
    assert all("\u202e" in turnwire(*arguments).out.decode() for arguments in texts), "a pipe gets it as it is"
    assert code == 2
    assert "a terminal cannot show" in shown and "PAR1" not in shown


# --- whole or not at all --------------------------------------------------------------------------------------------


@needs_posix
def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    """A file that may not grow beyond 8 KiB is as good as a full disk."""
    some = tmp_path / "some.log"
    some.write_bytes(REAL.read_bytes() * 4)
    out = tmp_path / "out"
    out.mkdir()
    (out / "x.parquet").write_bytes(b"what was there before")
    done = process("scan", some, "-o", out / "x.parquet", "--batch-bytes", "100000", limit=8192)
    assert done.code == 3
    assert done.err.splitlines()[-1] == f"turnwire: {out}/x.parquet: File too large"
    assert "Traceback" not in done.err and "Exception ignored" not in done.err
    assert (os.listdir(out), (out / "x.parquet").read_bytes()) == (["x.parquet"], b"what was there before")


@needs_posix
def test_a_signal_leaves_nothing(tmp_path: Path) -> None:
    """The input is a pipe that is never closed: the command is in the middle of it for certain."""
    rejects = tmp_path / "bad.ndjson"
    arguments = ("scan", "-", "-o", tmp_path / "x.parquet", "--rejects", rejects, "--batch-bytes", "1000")
    with subprocess.Popen(
        command(*arguments), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as running:
        assert running.stdin is not None and running.stderr is not None
        running.stdin.write((GOOD + b"\n") * 1000)
        running.stdin.flush()
        deadline = time.monotonic() + 120
        while not any(path.endswith(".tmp") for path in os.listdir(tmp_path)) and time.monotonic() < deadline:
            time.sleep(0.02)
        running.send_signal(signal.SIGINT)
        try:
            assert running.wait(120) == 130
        finally:
            running.kill()
        assert running.stderr.read() == b"turnwire: interrupted\n"
    assert os.listdir(tmp_path) == []


def test_a_missing_extra_is_named(log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.setitem(sys.modules, name, None)
    done = turnwire("scan", log, "-o", tmp_path / "x.parquet")
    assert (done.code, "pip install 'turnwire[files]'" in done.err) == (2, True)
    fine = turnwire("scan", log, "-o", tmp_path / "x.ndjson")
    assert fine.code == 1, "JSON lines need nothing"
    assert sorted(os.listdir(tmp_path)) == ["agents.log", "x.ndjson"]


# ----------------------------------------------------------------------------------------------------------------------
# Outputs that cannot be written: a line that names what is wrong, before the log is read, and nothing left behind.


COMMANDS = {
    "scan -o": ["scan", "{log}", "-o", "{out}.parquet"],
    "scan -o --format": ["scan", "{log}", "--format", "csv", "-o", "{out}"],
    "scan -o --partition-by": ["scan", "{log}", "--partition-by", "wire", "-o", "{out}"],
    "scan -o --resume": ["scan", "{log}", "--resume", "{log}.position", "--format", "ndjson", "-o", "{out}"],
    "scan --rejects": ["scan", "{log}", "--rejects", "{out}"],
    "scan --rejects --resume": ["scan", "{log}", "--resume", "{log}.position", "--rejects", "{out}"],
    "scan --resume": ["scan", "{log}", "--resume", "{out}"],
    "report -o": ["report", "{log}", "-o", "{out}"],
    "convert -o": ["convert", "{log}", "--to", "nslip", "-o", "{out}"],
    "session pack -o": ["session", "pack", "{log}", "-o", "{out}"],
    "session unpack -o": ["session", "unpack", "{log}", "-o", "{out}"],
}
each_command = pytest.mark.parametrize("command", COMMANDS)


def said(command: str, log: Path, out: str) -> str:
    """The one line on standard error of a command that cannot write ``out``, without the name of what it is about."""
    done = turnwire(*(part.format(log=log, out=out) for part in COMMANDS[command]))
    assert (done.code, done.out) == (3, b""), done.err
    first, _, rest = done.err.partition(f"turnwire: {out}")
    assert first == "" and rest.count("\n") == 1, done.err
    return rest.removeprefix(".parquet").removeprefix(": ").rstrip("\n")


@each_command
def test_a_folder_that_is_missing_is_named(log: Path, tmp_path: Path, command: str) -> None:
    before = sorted(os.listdir(tmp_path))
    assert said(command, log, f"{tmp_path}/no/x") == os.strerror(errno.ENOENT)
    assert sorted(os.listdir(tmp_path)) == before


@each_command
def test_a_file_is_no_folder(log: Path, tmp_path: Path, command: str) -> None:
    assert said(command, log, f"{log}/x") == os.strerror(errno.ENOTDIR)


ONE_FILE = [name for name in COMMANDS if name not in ("scan -o", "scan -o --partition-by", "scan -o --resume")]


@pytest.mark.parametrize("command", ONE_FILE)
@pytest.mark.parametrize("there", [True, False])
def test_what_only_a_folder_is_called_is_no_name_of_a_file(
    log: Path, tmp_path: Path, command: str, there: bool
) -> None:
    """Nor of the log itself, which would be replaced."""
    before = log.read_bytes()
    name = f"{log if there else tmp_path / 'new'}/"
    assert said(command, log, name) == os.strerror(errno.EISDIR)
    with pytest.raises(OSError):
        opened(name)  # as what a run that follows goes on with
    assert log.read_bytes() == before and not (tmp_path / "new").exists()


@each_command
def test_an_input_is_never_overwritten(log: Path, tmp_path: Path, command: str) -> None:
    """By whatever name, and wherever the sources name it."""
    data, named = log.read_bytes(), [str(log)]
    for alias in ("alias", "alias.parquet"):
        (tmp_path / alias).symlink_to(log)
    for source in named if command.startswith("session") else (*named, str(tmp_path / "*.log"), str(tmp_path)):
        done = turnwire(*(part.format(log=source, out=tmp_path / "alias") for part in COMMANDS[command]))
        assert (done.code, done.out) == (2, b"") and "is an input; writing to it would destroy it" in done.err
        assert log.read_bytes() == data


@pytest.mark.parametrize("number", [errno.EIO, errno.ENOSPC])
@pytest.mark.parametrize("arguments", [["report"], ["session", "pack"], ["session", "unpack"]])
def test_a_disk_that_takes_no_more_leaves_the_old_file(
    log: Path, tmp_path: Path, unflushed: Callable[..., None], arguments: list[str], number: int
) -> None:
    """That is only known when it is flushed. (What a file and its folder go through is in test_atomic.)"""
    folder, source = tmp_path / "out", log
    folder.mkdir()
    (folder / "x").write_text("kept")
    if arguments[-1] == "unpack":
        source = tmp_path / "packed"
        assert turnwire("session", "pack", log, "-o", source).code in (0, 1)
    unflushed(number)
    done = turnwire(*arguments, source, "-o", folder / "x")
    assert (done.code, done.err.splitlines()[-1]) == (3, f"turnwire: {folder}/x: {os.strerror(number)}")
    assert {path.name: path.read_text() for path in folder.iterdir()} == {"x": "kept"}
