"""Commands that are forked from a process that has turnwire loaded: starting one takes 0.2 CPU seconds otherwise.

``client.py`` is started like the command itself, by a test or by a shell. It hands its arguments, environment, folder,
limits and open files to ``server.py``, which forks; it passes signals on and ends as the command ends. What looks at
the start (a closed stream, an environment that Python or turnwire read when they start) gets a start of its own.
"""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent


def environment(ours: Mapping[str, str], **changes: str) -> dict[str, str]:
    """That of a command: this interpreter's path, nothing that changes how Python reads or writes."""
    kept = {name: value for name, value in ours.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return {**kept, "PYTHONPATH": path, **changes}


@cache
def _server() -> str:
    """The socket of the server, which is started when it is first asked for and ends with this process."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    place = os.path.join(folder.name, "socket")
    start, settings = [sys.executable, HERE / "server.py", place], environment(os.environ)
    server = subprocess.Popen(start, env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert server.stdin is not None and server.stdout is not None

    def end() -> None:
        assert server.stdin is not None
        server.stdin.close()
        server.wait(60)
        folder.cleanup()

    atexit.register(end)
    if server.stdout.readline() != b"ready\n":
        raise RuntimeError("the server of commands did not start")
    return place


def client(*arguments: str | Path, code: str = "", told: int = -1) -> list[str]:
    """What to start for a command ``turnwire``, or for ``code`` with these arguments."""
    start = [sys.executable, "-I", "-S", str(HERE / "client.py"), _server(), str(told), code]
    return [*start, *map(str, arguments)]


class Started(subprocess.Popen[bytes]):
    """A command that goes on beside the test. Signals, SIGKILL too, go to its own process."""

    def __init__(self, *arguments: str | Path, code: str = "", **options: Any) -> None:
        options.setdefault("env", environment(os.environ))
        ours, theirs = os.pipe()
        try:
            super().__init__(client(*arguments, code=code, told=theirs), pass_fds=(theirs,), **options)
            os.close(theirs)
            self.command = int(os.read(ours, 20))
        finally:
            os.close(ours)

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.command, sig)
