"""Commands that are forked from a process with turnwire loaded (:mod:`tests.warm`) are as those that are started."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.cli.running import BAD_DIGIT, REAL, environment, needs_posix, process, through_shell

pytestmark = [needs_posix, pytest.mark.once]
SHOW = (
    "import json, os, resource, sys; print(json.dumps([sys.argv, sys.path[0], os.getcwd(), sorted(os.environ.items()),"
    " resource.getrlimit(resource.RLIMIT_FSIZE), [one.encoding for one in (sys.stdin, sys.stdout, sys.stderr)],"
    " [one.errors for one in (sys.stdin, sys.stdout, sys.stderr)], sys.stderr.line_buffering, sys.stdout.name,"
    " sys.stdin.read(), [number for number in range(100) if os.path.exists(f'/dev/fd/{number}')][:3]]));"
    " sys.exit(int(sys.argv[1]))"
)


@pytest.mark.parametrize("changes", [{}, {"COLUMNS": "33"}, {"PYTHONIOENCODING": "latin-1"}], ids=str)
def test_a_forked_process_is_as_one_that_was_started(tmp_path: Path, changes: dict[str, str]) -> None:
    settings = environment(**changes)
    told = []
    for start in (warm.client("7", "\udcff", code=SHOW), [sys.executable, "-c", SHOW, "7", "\udcff"]):
        done = subprocess.run(start, input=b"given \xc3\xa4", capture_output=True, env=settings, cwd=tmp_path)
        told.append((done.returncode, done.stdout, done.stderr))
    assert told[0] == told[1]
    assert told[0][0] == 7 and str(tmp_path).encode() in told[0][1], told


@pytest.mark.parametrize(
    "arguments",
    [["--version"], ["info"], ["scan", REAL, "-q"], ["stats", REAL], ["nope"], ["scan", "nowhere"], []],
    ids=lambda arguments: " ".join(map(str, arguments)).replace(str(REAL), "LOG"),
)
def test_a_forked_command_says_what_one_says_that_was_started(arguments: list[str | Path]) -> None:
    assert process(*arguments) == process(*arguments, anew=True)


def test_damage_has_its_code_and_standard_input_is_read() -> None:
    forked, started = (process("scan", "-", "--json", "-q", stdin=BAD_DIGIT, anew=anew) for anew in (False, True))
    assert forked == started and forked.code == 1


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGPIPE])
def test_a_signal_goes_to_the_command_itself(number: signal.Signals) -> None:
    code = "import os, signal, sys, time; signal.signal(signal.SIGPIPE, signal.SIG_DFL); print(os.getpid(), flush=True)"
    with warm.Started(code=f"{code}; time.sleep(60)", stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        command = int(running.stdout.readline())
        assert command == running.command != running.pid
        running.send_signal(number)
        assert running.wait(30) == -number, "as the command ended"
        with pytest.raises(ProcessLookupError):
            os.kill(command, 0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_a_shell_signals_is_passed_on(number: signal.Signals) -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    pipe = subprocess.PIPE
    with subprocess.Popen(warm.client(code=code), stdout=pipe, stderr=pipe, env=environment()) as running:
        assert running.stdout is not None
        command = int(running.stdout.readline())
        running.send_signal(number)
        assert running.wait(30) == -number, "as the command ended"
        with pytest.raises(ProcessLookupError):
            os.kill(command, 0)


def test_limits_of_a_shell_hold(tmp_path: Path) -> None:
    done = through_shell(f'ulimit -f 1; turnwire scan "{REAL}" --json > "{tmp_path / "out"}"')
    assert (done.code, done.err) == (3, "turnwire: standard output: File too large\n")


def test_a_closed_stream_gets_a_start_of_its_own() -> None:
    code = "import sys; sys.exit(3 if sys.stdin is None else 4)"
    forked = ["bash", "-c", '"$@" <&-', "-", *warm.client(code=code)]
    assert subprocess.run(forked, env=environment(), timeout=60).returncode == 3
