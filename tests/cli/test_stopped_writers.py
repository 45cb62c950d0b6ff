"""Each command that writes a file, ended by signals at each step of writing: whole or as it was, alone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cli.running import GOOD, environment, needs_posix, turnwire
from turnwire.ledger import Ledger, verify_file

pytestmark = [needs_posix, pytest.mark.once]

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
    for name, command in COMMANDS.items():
        signals = SIGNALS * 2
        for step, calls in STEPS.items():
            for after in (False, True):
                folder = tmp_path_factory.mktemp("there")
                if name not in NEW:
                    (folder / name).write_text(OLD)
                number = signals.pop()
                places.append((name, step, after, number, folder))
                arguments = [part.format(out=folder / name, **sources) for part in command]
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
