"""Outputs that cannot be written: a line that names what is wrong, before the log is read, and nothing left behind."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import turnwire
from turnwire.cli.output import opened

pytestmark = pytest.mark.once

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
