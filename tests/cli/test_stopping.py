"""Signals that come where Python drops what they raise: in a destructor, in a function that a library calls."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.running import environment, needs_posix
from turnwire.cli.outcome import Terminated, terminating

pytestmark = [needs_posix, pytest.mark.once]


def in_a_destructor(number: int) -> None:
    class Dying:
        def __del__(self) -> None:
            signal.raise_signal(number)

    Dying()


def in_a_callback(number: int) -> None:
    def called() -> None:
        signal.raise_signal(number)

    ctypes.CFUNCTYPE(None)(called)()


def work_on(drop: Callable[[int], None], number: int) -> None:
    drop(number)
    for _ in range(500):
        time.sleep(0.01)  # it comes at once; the loop ends where it never does


@pytest.mark.parametrize("drop", [in_a_destructor, in_a_callback])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_that_was_dropped_comes_again(
    drop: Callable[[int], None], number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt) as raised, terminating():
        work_on(drop, number)
    if number != signal.SIGINT:
        assert isinstance(raised.value, Terminated) and raised.value.code == 128 + number
    assert signal.getsignal(number) == before
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_what_ends_is_not_ended_a_second_time(number: signal.Signals) -> None:
    """Service managers and terminals send both, one after the other."""
    raised = []
    with terminating():
        for each in (number, signal.SIGTERM, signal.SIGHUP):
            try:
                signal.raise_signal(each)
            except Terminated as terminated:
                raised.append(terminated.code - 128)
    assert raised == [number]


def read_on(number: int, reading: int) -> None:
    in_a_destructor(number)
    os.read(reading, 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_ends_what_waits_for_input(number: signal.Signals) -> None:
    signal.siginterrupt(number, True)  # Polars, which no command imports, lets SIGINT interrupt nothing in the system
    reading, writing = os.pipe()
    rescue = threading.Timer(10, os.write, [writing, b"x"])
    rescue.start()
    try:
        with pytest.raises(KeyboardInterrupt), terminating():
            read_on(number, reading)
        assert rescue.is_alive(), "it waited for more input"
    finally:
        rescue.cancel()
        rescue.join()
        os.close(reading)
        os.close(writing)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_no_signal_raised_is_told_as_ever() -> None:
    class Dying:
        def __del__(self) -> None:
            raise ValueError("told")

    told: list[object] = []
    with pytest.MonkeyPatch.context() as own:
        own.setattr("sys.unraisablehook", lambda dropped: told.append(dropped.exc_value))
        with terminating():
            Dying()
    assert [str(error) for error in told] == ["told"]


PROGRAM = """
import signal, sys
from turnwire.cli import main, program

def executed(*_):
    exec("signal.raise_signal(int(sys.argv[1]))", globals())

program._invoke = executed
sys.exit(main(["info"]))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_in_the_middle_of_a_text_that_is_executed(tmp_path: Path, number: signal.Signals) -> None:
    """As namedtuple does, in an import: at the end of a module that it runs Python would send SIGINT to itself,
    whatever the exit code."""
    (tmp_path / "interrupted.py").write_text(PROGRAM, "utf-8")
    path = os.pathsep.join((str(tmp_path), environment()["PYTHONPATH"]))
    command = [sys.executable, "-m", "interrupted", str(int(number))]
    done = subprocess.run(command, env=environment(PYTHONPATH=path), capture_output=True, check=False)
    said = b"interrupted" if number == signal.SIGINT else b"ended by SIGTERM"
    assert (done.returncode, done.stderr) == (128 + number, b"turnwire: " + said + b"\n")
