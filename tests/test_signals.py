"""Signals are heard in the middle of long loops of the compiled core."""

from __future__ import annotations

import gc
import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import raised
from tests.hostile import GOOD
from turnwire import csp, kick, nslip, sstp

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(turnwire.backend == "pure", reason="plain Python hears signals by itself"),
    pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers of CPU time here"),
]
MANY = 3_000_000
NO_LIMIT = turnwire.LIMITS._replace(message=1 << 40)


LOOPS: dict[str, Callable[[], Callable[[], Any]]] = {
    "decode_many": lambda: (lambda data: lambda: nslip.decode_many(data))(GOOD["nslip"] * MANY),
    "csp.parse": lambda: (lambda data: lambda: csp.parse(data, limits=NO_LIMIT))(GOOD["csp"] * (MANY // 2)),
    "sstp.decode": lambda: (lambda data: lambda: sstp.decode(data, limits=NO_LIMIT))(
        b'{"a":[' + b"1," * 12 * MANY + b"1]}"
    ),
    "parse_space": lambda: (lambda data: lambda: kick.parse_space(data))("⫻a/b:c\ntext\n".encode() * MANY),
    "base62": lambda: (lambda data: lambda: nslip.base62.encode_array(data))(
        np.full(5 * MANY, (1 << 64) - 1, np.uint64)
    ),
    "scan of one line": lambda: (lambda data, limits: lambda: list(turnwire.scan(data, limits=limits)))(
        b"{}" * 10 * MANY, turnwire.LIMITS._replace(message=1 << 29)
    ),
}


class Interrupted(Exception):
    """Raised by the handler of a signal."""


@pytest.mark.parametrize("name", LOOPS)
def test_signals_are_heard_in_long_loops(name: str) -> None:
    """A signal comes for each 20 ms of CPU time, and the third that is heard ends the loop. Where a loop hears none,
    those that wait are one when it is through."""
    run, heard = LOOPS[name](), []

    def handler(*_: object) -> None:
        heard.append(name)
        if len(heard) == 3:
            raise Interrupted

    before = signal.signal(signal.SIGPROF, handler)
    gc.disable()  # what a handler raises in a callback of the collector (hypothesis has one) is lost
    try:
        signal.setitimer(signal.ITIMER_PROF, 0.02, 0.02)
        raised(Interrupted, run)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
        gc.enable()
