"""``python server.py SOCKET``: loads turnwire and what its commands use, then forks for each client, until standard
input ends. Two processes for each: one waits for the command and tells its client, the other becomes the command."""

from __future__ import annotations

import fcntl
import gc
import io
import marshal
import os
import pkgutil
import resource
import runpy
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any

LOADED = ("pyarrow.parquet", "pyarrow.csv", "pyarrow.ipc", "pyarrow.compute", "rich.table", "rich.progress")
"""Beside the modules of turnwire: what commands import when they need it."""
LEFT = ("_native", "_pure", "__main__", "distributed", "sap.transports")
"""Parts of turnwire that commands load themselves: the core that is not active, servers and clusters."""
ASKED = {"NO_COLOR", "TERM", "COLUMNS", "LINES", "PWD", "OLDPWD", "SHLVL", "_", "PYTEST_CURRENT_TEST"}
ASKED |= {"_RJEM_MALLOC_CONF"}  # which Polars sets when it is imported
"""What is read in the environment when it is needed. A change of anything else needs a start of its own."""
ABOVE = 256
"""Files are moved there before they get their numbers."""


def load() -> None:
    """Imports; no thread is started, since only the one that forks is there afterwards."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as turnwire.cli.main says
    os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
    package = import_module("turnwire")
    ours = [module.name for module in pkgutil.walk_packages(package.__path__, "turnwire.")]
    for name in (*ours, *LOADED):
        if any(f".{part}." in f"{name}." for part in LEFT):
            continue
        try:
            import_module(name)
        except ImportError:  # an extra that is not installed, as the command says that needs it
            continue
    if os.path.isdir("/proc/self/task") and len(os.listdir("/proc/self/task")) != 1:
        raise RuntimeError("an import started a thread: this process cannot be forked")


def received(connection: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """What a client asks for, and its files."""
    head, files, _, _ = socket.recv_fds(connection, 8, 253)
    size, data = int.from_bytes(head, "big"), b""
    while len(data) < size:
        piece = connection.recv(size - len(data))
        if not piece:
            raise EOFError("a client went away")
        data += piece
    return marshal.loads(data), files


def keep(connection: socket.socket, surroundings: dict[str, str]) -> dict[str, Any] | None:
    """Forks the command, waits for it and tells the client. What the command is to do, in its own process."""
    request, files = received(connection)
    there = request["environment"]
    changed = {name for name in there.keys() | surroundings.keys() if there.get(name) != surroundings.get(name)}
    if changed - ASKED:
        connection.send(bytes(8))
        return None
    process = os.fork()
    if not process:
        connection.close()
        become(request, files)
        return request
    for number in files:
        os.close(number)
    connection.send(process.to_bytes(8, "big"))
    _, status = os.waitpid(process, 0)
    with suppress(BrokenPipeError):  # where the client was killed
        connection.send(os.waitstatus_to_exitcode(status).to_bytes(8, "big", signed=True))
    return None


def become(request: dict[str, Any], files: list[int]) -> None:
    """Makes this process what the client is: its files under their numbers, folder, limits, environment, streams."""
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, ABOVE) for number in files]
    os.closerange(0, ABOVE)
    for number, wanted in zip(moved, request["files"], strict=True):
        os.dup2(number, wanted)
        os.close(number)
    os.chdir(request["folder"])
    os.umask(request["mask"])
    for limit, soft, hard in request["limits"]:
        resource.setrlimit(limit, (soft, hard))
    for name in os.environ.keys() - request["environment"].keys():
        del os.environ[name]
    os.environ.update(request["environment"])
    sys.stdin = sys.__stdin__ = stream(0, "r", sys.stdin)  # type: ignore[misc]
    sys.stdout = sys.__stdout__ = stream(1, "w", sys.stdout)  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = stream(2, "w", sys.stderr)  # type: ignore[misc]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def stream(number: int, mode: str, like: Any) -> io.TextIOWrapper:
    """A standard stream as Python makes it at its start, with the encoding of the server's own."""
    raw = io.FileIO(number, mode, closefd=False)
    raw.name = like.name  # type: ignore[misc]
    unbuffered = mode == "w" and os.environ.get("PYTHONUNBUFFERED", "") != ""
    buffer: Any = io.BufferedReader(raw) if mode == "r" else raw if unbuffered else io.BufferedWriter(raw)
    made = io.TextIOWrapper(
        buffer,
        like.encoding,
        like.errors,
        newline=None if mode == "r" else "\n",
        line_buffering=not unbuffered and (raw.isatty() or number == 2),
        write_through=unbuffered,
    )
    made.mode = mode  # type: ignore[misc]
    return made


def serve(place: str) -> dict[str, Any] | None:
    """Forks for each client. What a command is to do, in its own process; None at the end of each other one."""
    surroundings = dict(os.environ)
    load()
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it comes to all processes of a terminal
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(place)
        listening.listen(64)
        print("ready", flush=True)
        while True:
            ready, _, _ = select.select([0, listening], [], [], 1)
            reap()
            if 0 in ready:
                return None
            if listening in ready:
                connection, _ = listening.accept()
                if not os.fork():
                    listening.close()
                    return keep(connection, surroundings)
                connection.close()


def reap() -> None:
    """Sees to it that none of those that waited for a command is left behind."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            continue


def main() -> None:
    request = serve(sys.argv[1])
    if request is None:
        os._exit(0)
    sys.path[0] = "" if request["code"] else os.getcwd()  # which was the folder of this file
    if request["code"]:
        sys.argv = ["-c", *request["arguments"]]
        exec(request["code"], {"__name__": "__main__"})
    else:
        sys.argv = ["turnwire", *request["arguments"]]
        runpy.run_module("turnwire", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
