"""``turnwire scan --output``: the formats, and whole or nothing on a full disk, a closed pipe and an interruption."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import ipc, parquet

import turnwire as library
from tests.cli.running import GOOD, REAL, command, environment, needs_posix, on_terminal, process, turnwire
from turnwire import nslip

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
