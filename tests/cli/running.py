"""Runs ``turnwire``: in this process where that is enough, else in one of its own, with real pipes and terminals."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

from turnwire.cli.outcome import program

GOOD = b'@a3|f0|c1|S0|d1|T1|g1|q3|t"goal_1"#'
WIDE = b"@a3|f0|cLygHa16AHYF|S0|d1|T1#"
BAD_DIGIT = b"@a3|f0|c$|S0|d1|T1#"
BAD_TEXT = b'@a3|f0|c1|S0|d1|T1|u"\xff"#'
ROOT = Path(__file__).parent.parent.parent
REAL = ROOT / "examples" / "data" / "nslip_upstream.txt"

needs_posix = pytest.mark.skipif(os.name != "posix", reason="pipes, signals and terminals of POSIX")


class Finished(NamedTuple):
    """A finished command: its exit code and what it wrote."""

    code: int
    out: bytes
    err: str

    @property
    def records(self) -> list[dict[str, Any]]:
        """The JSON lines of standard output."""
        return [json.loads(line) for line in self.out.split(b"\n")[:-1]]


def environment(**changes: str) -> dict[str, str]:
    """The environment of a command: this interpreter's path, nothing that changes how Python reads or writes."""
    ours = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**ours, "PYTHONPATH": path, **changes}


HASTY = "from turnwire import cli, progress as bar; bar.PATIENCE = bar.INTERVAL = 0; raise SystemExit(cli.main())"
"""A ``turnwire`` that shows progress from the first moment, however fast the machine is."""
PATIENT = HASTY.replace("bar.INTERVAL = 0", "float('inf')")
"""One that never shows any, however slow the machine is."""


def command(*arguments: str | Path) -> list[str]:
    return [sys.executable, "-m", "turnwire", *map(str, arguments)]


def turnwire(*arguments: str | Path, stdin: bytes = b"") -> Finished:
    """Runs ``turnwire`` in this process."""
    done = CliRunner().invoke(program, [str(argument) for argument in arguments], input=stdin, prog_name="turnwire")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Finished(done.exit_code, done.stdout_bytes, done.stderr)


def process(
    *arguments: str | Path, stdin: bytes = b"", cwd: Path | None = None, out: str = "", limit: int = -1, **changes: str
) -> Finished:
    """Runs ``turnwire`` in a process of its own to its end. ``out``: the path of standard output, or what reads it, in
    bash, behind "|"; otherwise it is what is given back. ``limit``: how many bytes a file may have."""
    started = command(*arguments)
    if out or limit >= 0:
        target = out if out.startswith("|") else f"> {shlex.quote(out)}" if out else ""
        limited = f"ulimit -f {limit // 1024}; " if limit >= 0 else ""
        started = ["bash", "-c", f"{limited}{shlex.join(started)} {target}; exit ${{PIPESTATUS[0]}}"]
    done = subprocess.run(started, input=stdin, capture_output=True, env=environment(**changes), cwd=cwd, timeout=600)
    return Finished(done.returncode, done.stdout, done.stderr.decode())


@contextmanager
def unprivileged() -> Iterator[None]:
    """Runs the block as an unprivileged user if the tests run as root; paths must be relative to a folder that
    everybody can enter."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


def through_shell(script: str, cwd: Path | None = None, **changes: str) -> Finished:
    """Runs a line of bash in which ``turnwire`` is the command, and ``python`` this interpreter."""
    wrapped = (
        f'turnwire() {{ "{sys.executable}" -m turnwire "$@"; }}; python() {{ "{sys.executable}" "$@"; }}; {script}'
    )
    done = subprocess.run(
        ["bash", "-c", wrapped], capture_output=True, env=environment(**changes), cwd=cwd, timeout=600
    )
    return Finished(done.returncode, done.stdout, done.stderr.decode())


def on_terminal(
    *arguments: str | Path, before: Sequence[Sequence[str | Path]] = (), hasty: bool = False, **changes: str
) -> tuple[int, bytes]:
    """Runs ``turnwire`` with standard output and error on a terminal: (exit code, all that the terminal was sent).
    Progress is shown from the first moment (``hasty``) or never. ``before``: commands that are run before it, in the
    same process."""
    ours, theirs = pty.openpty()
    settings = environment(**{"TERM": "xterm", "COLUMNS": "120", **changes})
    first = "".join(f"; cli.main({[*map(str, one)]!r})" for one in before)
    program = (HASTY if hasty else PATIENT).replace("; raise", f"{first}; raise")
    started = [sys.executable, "-c", program, *map(str, arguments)]
    process = subprocess.Popen(started, stdin=theirs, stdout=theirs, stderr=theirs, env=settings)
    os.close(theirs)
    sent = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        sent += piece
    os.close(ours)
    return process.wait(300), sent


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of two good and two damaged records among other text."""
    path = tmp_path / "agents.log"
    lines = [b"09:00 INFO a: " + GOOD, b"09:01 INFO b: " + BAD_DIGIT, b"nothing here", BAD_TEXT + b" and " + WIDE]
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return path
