"""Runs commands one after the other in a second process, where each has standard streams of its own.

What they need is imported once. Each begins with streams as the interpreter makes them and ends as it ends: what is
held back is flushed, and where that fails it is said and the code is 120. What a process itself has (its exit, signals
from elsewhere, limits at its start) is tried with processes of their own, by ``tests/cli/running.py``.
"""

from __future__ import annotations

import gc
import io
import json
import os
import pty
import resource
import select
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, Self

from tests.cli.running import Finished, environment

PATIENCE = 60
"""Seconds that a command may take."""


class Aside:
    """The second process, from its first command on."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = TemporaryDirectory(prefix="turnwire-aside-")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
        self._folder.cleanup()

    def __call__(
        self, *arguments: str | Path, out: str = "", limit: int = -1, hasty: bool = False, **changes: str
    ) -> Finished:
        """Runs ``turnwire`` to its end. ``out``: where standard output goes: a path, or what reads it, in bash, behind
        "|"; otherwise it is what is given back. ``limit``: how many bytes a file may have."""
        return self._ask(arguments, out=out, limit=limit, hasty=hasty, environ=changes)

    def on_terminal(self, *arguments: str | Path, hasty: bool = False, **changes: str) -> tuple[int, bytes]:
        """As :func:`tests.cli.running.on_terminal`."""
        settings = {"TERM": "xterm", "COLUMNS": "120", **changes}
        done = self._ask(arguments, terminal=True, hasty=hasty, environ=settings)
        return done.code, done.out

    def _ask(self, arguments: tuple[str | Path, ...], **case: Any) -> Finished:
        folder = Path(self._folder.name)
        code = self._told(json.dumps({"arguments": list(map(str, arguments)), **case}).encode())
        return Finished(code, (folder / "out").read_bytes(), (folder / "err").read_bytes().decode())

    def _told(self, case: bytes) -> int:
        if self._process is None or self._process.poll() is not None:
            command = [sys.executable, "-c", "from tests.cli.aside import serve; serve()", self._folder.name]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(), bufsize=0
            )
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(case + b"\n")
        there, _, _ = select.select([self._process.stdout], [], [], PATIENCE)
        line = self._process.stdout.readline() if there else b""
        if not line:
            self.close()
            raise AssertionError(f"{'it ended' if there else 'no end'}: {case.decode()}")
        return int(line)

    def close(self) -> None:
        """Ends the process; the next command has a new one."""
        if self._process is not None:
            with self._process as process:
                process.kill()
            self._process = None


# --- the second process ---------------------------------------------------------------------------------------------


def serve() -> None:
    """Runs a command for each line of standard input, and says its code."""
    asked, told, errors = (os.fdopen(os.dup(number), mode) for number, mode in ((0, "r"), (1, "w"), (2, "w")))
    folder = Path(sys.argv[1])
    for line in asked:
        case = json.loads(line)
        before = dict(os.environ)
        os.environ.update(case["environ"])
        for name in ("out", "err"):
            (folder / name).write_bytes(b"")
        try:
            code = _on_terminal(case, folder) if case.get("terminal") else _with_files(case, folder)
        except BaseException:
            traceback.print_exc(file=errors)
            raise SystemExit(1) from None
        finally:
            os.environ.clear()
            os.environ.update(before)
        print(code, file=told, flush=True)


def _with_files(case: dict[str, Any], folder: Path) -> int:
    out, reader = case["out"], None
    if out.startswith("|"):
        there, standard_output = os.pipe()
        with open(folder / "out", "wb") as kept:
            reader = subprocess.Popen(["bash", "-c", out[1:]], stdin=there, stdout=kept)
        os.close(there)
    else:
        standard_output = os.open(out or folder / "out", os.O_WRONLY)
    code = _run(case, [os.open(os.devnull, os.O_RDONLY), standard_output, os.open(folder / "err", os.O_WRONLY)])
    if reader is not None:
        reader.wait(PATIENCE)
    return code


def _on_terminal(case: dict[str, Any], folder: Path) -> int:
    ours, theirs = pty.openpty()
    reading = threading.Thread(target=_copy, args=(ours, folder / "out"))
    reading.start()
    try:
        return _run(case, [theirs, os.dup(theirs), os.dup(theirs)])
    finally:
        reading.join(PATIENCE)


def _copy(terminal: int, path: Path) -> None:
    with open(path, "wb") as kept:
        while True:
            try:
                piece = os.read(terminal, 1 << 16)
            except OSError:  # the other side is closed
                piece = b""
            if not piece:
                break
            kept.write(piece)
    os.close(terminal)


def _run(case: dict[str, Any], given: list[int]) -> int:
    """Runs the command with these as its standard streams, which are closed then."""
    from turnwire import progress
    from turnwire.cli import main

    for number, descriptor in enumerate(given):
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdin = sys.__stdin__ = _stream(0)  # type: ignore[assignment, misc]
    sys.stdout = sys.__stdout__ = _stream(1)  # type: ignore[assignment, misc]
    sys.stderr = sys.__stderr__ = _stream(2)  # type: ignore[assignment, misc]
    bar = progress.PATIENCE, progress.INTERVAL
    progress.PATIENCE, progress.INTERVAL = (0, 0) if case["hasty"] else (float("inf"), bar[1])  # type: ignore[assignment]
    usual = resource.getrlimit(resource.RLIMIT_FSIZE)
    if case.get("limit", -1) >= 0:
        resource.setrlimit(resource.RLIMIT_FSIZE, (case["limit"], usual[1]))
    try:
        code = _ended(main(case["arguments"]))
    finally:
        progress.PATIENCE, progress.INTERVAL = bar
        resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
        os.close(nowhere)
    return code


def _stream(number: int) -> IO[str]:
    """A standard stream as the interpreter makes it."""
    if number == 0:
        return open(0, encoding="utf-8", errors="surrogateescape", closefd=False)
    raw = open(number, "wb", closefd=False)  # noqa: SIM115
    errors = "backslashreplace" if number == 2 else "strict"
    return io.TextIOWrapper(raw, "utf-8", errors, line_buffering=number == 2 or raw.isatty())


def _ended(code: int) -> int:
    """What the interpreter does at its end: nothing is left to be thrown away later, and nothing to be written."""
    gc.collect()
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception as error:
            sys.stderr.write(f"Exception ignored in: {stream!r}\n{error!r}\n")
            code = 120
    return code
