"""The ways in which commands end: exit codes, closed pipes, full disks, signals, inputs and outputs of no use."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.running import GOOD, REAL, command, environment, needs_posix, process, through_shell, turnwire
from tests.conftest import raised
from turnwire.cli.outcome import Terminated, stopping, terminating
from turnwire.ledger import Ledger, verify_file

pytestmark = [needs_posix, pytest.mark.once]


@pytest.fixture
def long_log(tmp_path: Path) -> Path:
    """A log whose JSON lines fill any pipe."""
    path = tmp_path / "long.log"
    path.write_bytes(REAL.read_bytes() * 8)
    return path


def test_a_closed_pipe_is_quiet(long_log: Path) -> None:
    done = process("scan", "--json", long_log, out="| head -1 > /dev/null")
    assert (done.code, done.err) == (0, "")


def test_a_closed_error_pipe_is_quiet_too(log: Path) -> None:
    done = through_shell(f'turnwire scan "{log}" 2>&1 >/dev/null | true; exit ${{PIPESTATUS[0]}}')
    assert (done.code, done.err) == (1, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("what", ["scan {log}", "--help"])
def test_a_full_disk_is_said_and_is_code_3(log: Path, what: str) -> None:
    done = process(*what.format(log=log).split(), out="/dev/full")
    assert done.code == 3
    assert done.err.splitlines() == ["turnwire: standard output: No space left on device"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_under_the_rejects(log: Path) -> None:
    done = turnwire("scan", log, "--rejects", "/dev/full")
    assert done.code == 3
    assert done.err == "turnwire: /dev/full: No space left on device\n"


def test_an_interruption_in_mid_write_leaves_no_traceback(long_log: Path) -> None:
    with subprocess.Popen(
        command("scan", long_log, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as running:
        assert running.stdout.read(1) == b"{"  # it writes now, and soon nobody takes any more
        running.send_signal(signal.SIGINT)
        assert running.wait(120) == 130
        assert running.stderr.read() == b"turnwire: interrupted\n"


def test_every_input_that_cannot_be_read_is_named_before_anything_is_read(log: Path, tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as there:
        there.bind(os.path.relpath(tmp_path / "socket"))
        names = ["missing", "loop", "empty", "pipe", "socket", "*.none", "agents.log/x"]
        done = turnwire("scan", log, *(tmp_path / name for name in names))
    assert (done.code, done.out) == (3, b"")
    assert done.err.replace(f"{tmp_path}/", "").splitlines() == [
        "turnwire: missing: No such file or directory",
        "turnwire: loop: Too many levels of symbolic links",
        "turnwire: empty: the directory contains no files",
        "turnwire: pipe: is a named pipe; pass it as standard input: - < pipe",
        "turnwire: socket: is a socket",
        "turnwire: *.none: no file matches",
        "turnwire: agents.log/x: Not a directory",
    ]


def test_pipes_are_read() -> None:
    """On standard input, and those that the shell makes."""
    done = through_shell(f'cat "{REAL}" | turnwire scan - <(cat "{REAL}") --json --borrow')
    assert (done.code, len(done.records)) == (0, 2 * 4356)
    assert [line.split()[0] for line in done.err.splitlines()][:4] == ["records", "rejects", "text", "total"]


def test_closed_standard_streams() -> None:
    closed_output = through_shell(f'turnwire scan "{REAL}" >&-')
    assert (closed_output.code, closed_output.err) == (3, "turnwire: standard output: is closed\n")
    closed_input = through_shell("turnwire scan - <&-")
    assert (closed_input.code, closed_input.err) == (3, "turnwire: <stdin>: is closed\n")
    assert through_shell(f'turnwire validate "{REAL}" 2>&-').code == 0


@pytest.mark.parametrize(
    "script",
    [
        "scan {log} --resume /dev/zero",
        "convert {log} --to csp --context /dev/zero",
        "tokens {log} --advise --context /dev/zero",
        "verify {log} --head /dev/zero",
    ],
)
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="needs /dev/zero")
def test_what_has_no_end_is_not_read_for_ever(log: Path, script: str) -> None:
    done = turnwire(*script.format(log=log).split())
    assert (done.code, done.out, done.err) == (3, b"", "turnwire: /dev/zero: more than 64 MiB cannot be read at once\n")


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


def test_whoever_asks_is_told_of_the_first_interruption() -> None:
    before = signal.getsignal(signal.SIGINT)
    with stopping() as is_stopped:
        raised(KeyboardInterrupt, signal.raise_signal, signal.SIGINT)
        assert not is_stopped()
        signal.raise_signal(signal.SIGINT)
        assert is_stopped()
        raised(KeyboardInterrupt, signal.raise_signal, signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


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
    rescue = threading.Timer(100, os.write, [writing, b"x"])
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
from turnwire.cli import main, outcome

def executed(*_):
    exec("signal.raise_signal(int(sys.argv[1]))", globals())

outcome._invoke = executed
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


def test_the_first_refused_files_of_a_folder_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(GOOD)
    for number in range(25):
        (tmp_path / f"{number}.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = turnwire("scan", tmp_path)
    assert done.code == 3 and done.err.count(".png: ") == 20 and "5 more" in done.err


# --- each command that writes a file, ended by signals at each step of writing: whole or as it was, alone -------------


OLD = "what was there before"
COMMANDS = {
    "x.parquet": ["scan", "{log}", "-o", "{out}"],
    "x.arrow": ["scan", "{log}", "-o", "{out}"],
    "x.csv": ["scan", "{log}", "-o", "{out}"],
    "x.ndjson": ["scan", "{log}", "-o", "{out}"],
    "folders": ["scan", "{log}", "--partition-by", "wire", "-o", "{out}"],
    "rejects": ["scan", "{log}", "--rejects", "{out}"],
    "position": ["scan", "{log}", "--resume", "{out}"],
    "page.html": ["report", "{log}", "-o", "{out}"],
    "packed": ["session", "pack", "{log}", "-o", "{out}"],
    "unpacked": ["session", "unpack", "{session}", "-o", "{out}"],
    "backup": ["ledger", "backup", "{ledger}", "{out}"],
}
NEW = ("folders", "backup", "position")
"""Must not be there before; a position that is there would be gone on with."""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
STEPS = {"flush": ["fsync"], "name": ["replace", "rename", "link"]}

# Runs the commands one after the other, each of them struck by one signal, and tells how each ended: what they need is
# imported once. (What a command does to standard output would be the end of what is told there.)
RUNNER = """
import json, os, signal, sys
from turnwire.cli import main
told, cases = json.loads(sys.argv[1])
for arguments, calls, after, number in cases:
    left = [1]
    def struck(real):
        def call(*a, **more):
            now = bool(left and left.pop())
            if now and not after:
                os.kill(os.getpid(), number)
            done = real(*a, **more)
            if now and after:
                os.kill(os.getpid(), number)
            return done
        return call
    before = {one: getattr(os, one) for one in calls}
    handlers = [signal.getsignal(each) for each in signal.valid_signals()]
    for one, real in before.items():
        setattr(os, one, struck(real))
    code = main(arguments)
    for one, real in before.items():
        setattr(os, one, real)
    assert handlers == [signal.getsignal(each) for each in signal.valid_signals()], arguments
    with open(told, "a") as file:
        print(json.dumps(code), file=file)
assert "pandas" not in sys.modules, "half a second of imports that no writer needs"
"""


def made_sources(folder: Path) -> dict[str, Path]:
    found = {name: folder / name for name in ("log", "session", "ledger")}
    found["log"].write_bytes((GOOD + b"\n") * 40 + b"@a3|f0|broken#\n")
    assert turnwire("session", "pack", found["log"], "-o", found["session"]).code == 1
    with Ledger(found["ledger"]) as ledger:
        ledger.append_many([("x", b"body")] * 300)
    return found


class Ended(NamedTuple):
    """How a command ended that was struck before or after a step, and the folder in which it wrote."""

    step: str
    after: bool
    number: int
    code: int
    folder: Path


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Ended]]:
    """Each command at each step, in one process, which has ended by now."""
    sources = made_sources(tmp_path_factory.mktemp("sources"))
    places, cases = [], []
    for name, words in COMMANDS.items():
        signals = SIGNALS * 2
        for step, calls in STEPS.items():
            for after in (False, True):
                folder = tmp_path_factory.mktemp("there")
                if name not in NEW:
                    (folder / name).write_text(OLD)
                number = signals.pop()
                places.append((name, step, after, number, folder))
                arguments = [part.format(out=folder / name, **sources) for part in words]
                cases.append([arguments, calls, after, number])
    told = tmp_path_factory.mktemp("told") / "codes"
    given = json.dumps([str(told), cases])
    done = subprocess.run([sys.executable, "-c", RUNNER, given], capture_output=True, env=environment(), text=True)
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    found: dict[str, list[Ended]] = {name: [] for name in COMMANDS}
    for (name, *how, folder), code in zip(places, told.read_text().splitlines(), strict=True):
        found[name].append(Ended(*how, int(code), folder))
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_step_leaves_a_file_whole_or_as_it_was(ended: dict[str, list[Ended]], name: str) -> None:
    assert len(ended[name]) == 4
    for step, after, number, code, folder in ended[name]:
        there, out = os.listdir(folder), folder / name
        assert code == 128 + number, (step, after, number, code)
        if name not in NEW and (step, after) != ("name", True):
            assert (there, out.read_text()) == ([name], OLD), (step, after, number)
            continue
        whole = (step, after) == (
            "name",
            True,
        ) and name != "folders"  # whose first part gets its name, not yet the whole
        assert there == ([name] if whole else []), (step, after, number)
        if there and name not in NEW:
            assert out.read_bytes() != OLD.encode()
    if name == "backup":
        assert verify_file(out).size == 300
    if name == "unpacked":
        assert len(out.read_bytes().splitlines()) == 40
    if name.endswith(".html"):
        assert out.read_bytes().endswith(b"</html>\n")
