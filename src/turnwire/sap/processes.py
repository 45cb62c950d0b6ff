"""Isolated handlers: one call in a forked process, which can be ended whatever it does.

The process begins with a copy of all that the program has in memory, but for its sockets, and gives back what the
handler returns; what it changes in memory nobody else sees. Systems without ``fork`` have no isolated handlers.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import multiprocessing
import os
import signal
import stat
import threading
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from turnwire.sap.handlers import Refusal
from turnwire.sap.spec import ErrorCode

_log = logging.getLogger("turnwire.sap")
LEAVING = 5.0
"""Seconds that a process may take to end when it has given its value."""
_forking = threading.Lock()
"""Held while a pipe is open for writing here: a process forked then would keep it open, and hide the other's end."""


def is_possible() -> bool:
    """True if this system has ``fork``."""
    return "fork" in multiprocessing.get_all_start_methods()


class Process:
    """One call in a process. Called itself, in a thread, it gives the value of the call.

    Args:
        call: a function, or a coroutine function. values: its arguments.
    """

    def __init__(self, call: Callable[..., Any], values: tuple[Any, ...]) -> None:
        self._call = call
        self._values = values
        self._process: Any = None
        self._ended = False

    def __call__(self) -> Any:
        """The value. Raises Refusal as the call raised it, and INTERNAL in words for all else."""
        context: Any = multiprocessing.get_context("fork")
        with _forking, warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the threads here the process uses nothing
            coming, going = context.Pipe(duplex=False)
            process = context.Process(target=_serve, args=(self._call, self._values, going), daemon=True)
            process.start()
            going.close()
        self._process = process
        if self._ended:
            process.kill()
        try:
            kind, value, told = coming.recv()
        except EOFError:
            process.join()  # it is dead, or on its way
            raise Refusal(ErrorCode.INTERNAL, f"its process ended with exit code {process.exitcode}") from None
        finally:
            coming.close()
            process.join(LEAVING)
            process.kill()  # of one that has said what it had to say, and does not end
            process.join()
        if kind == "value":
            return value
        if isinstance(value, Refusal):
            raise value
        _log.error("an isolated handler failed: %s", told)
        raise Refusal(ErrorCode.INTERNAL, f"{value} in an isolated handler")

    def end(self) -> None:
        """Kills the process, or has it killed as soon as it begins."""
        self._ended = True
        if self._process is not None:
            self._process.kill()


def _serve(call: Callable[..., Any], values: tuple[Any, ...], going: Any) -> None:
    """Runs in the process."""
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    _close_sockets()
    try:
        made = call(*values)
        if inspect.isawaitable(made):
            made = asyncio.run(_awaited(made))
        going.send(("value", made, ""))
    except Refusal as refusal:
        going.send(("error", refusal, ""))
    except BaseException as error:
        going.send(("error", type(error).__name__, traceback.format_exc()))


async def _awaited(made: Any) -> Any:
    return await made


def _close_sockets() -> None:
    """Closes the program's connections and listening sockets: they would stay open as long as the process lives."""
    folder = "/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd"
    nothing = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir(folder):
        with suppress(OSError):  # the descriptor of the listing itself is gone
            if stat.S_ISSOCK(os.fstat(int(name)).st_mode):
                os.dup2(nothing, int(name))  # not closed: objects that know the number may close it again
