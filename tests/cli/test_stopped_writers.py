"""Each command that writes a file, ended by signals at each step of writing: whole or as it was, alone."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

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
    "advice.html": ["tokens", "{log}", "--advise", "--sample", "2", "--html", "{out}"],
    "compared.html": ["tokens", "{log}", "--compare", "--html", "{out}"],
    "packed": ["session", "pack", "{log}", "-o", "{out}"],
    "unpacked": ["session", "unpack", "{session}", "-o", "{out}"],
    "backup": ["ledger", "backup", "{ledger}", "{out}"],
}
NEW = ("folders", "backup", "position")
"""What must not be there before; a position that is there would be gone on with."""
SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
STEPS = {"flush": ["fsync"], "name": ["replace", "rename", "link"]}

# Runs the command in a child for each step, and prints a line for each: how it ended and what is there. What
# is imported here the children need not import; nothing of it starts a thread, which a child would lack.
RUNNER = """
import json, os, shutil, signal, sys
from pathlib import Path
import turnwire.ledger, turnwire.log, turnwire.report, turnwire.session, turnwire.tokens
from turnwire.cli import main
arguments, folder, name, old, steps, signals = json.loads(sys.argv[1])
if arguments[0] in ("session", "tokens"):
    turnwire.tokens.load("o200k_base")
folder, out = Path(folder), Path(folder, name)
signals *= 2
for step, calls in steps.items():
    for after in (False, True):
        number = signals.pop()
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        if old is not None:
            out.write_text(old)
        child = os.fork()
        if not child:
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
            for one in calls:
                setattr(os, one, struck(getattr(os, one)))
            code = main(arguments)
            assert "pandas" not in sys.modules, "half a second of imports that no writer needs"
            sys.exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        there = sorted(os.listdir(folder))
        kept = old is not None and out.is_file() and out.read_bytes() == old.encode()
        print(json.dumps([step, after, number, code, there, kept]), flush=True)
"""


@pytest.fixture
def sources(tmp_path: Path) -> dict[str, Path]:
    found = {name: tmp_path / name for name in ("log", "session", "ledger")}
    found["log"].write_bytes((GOOD + b"\n") * 40 + b"@a3|f0|broken#\n")
    assert turnwire("session", "pack", found["log"], "-o", found["session"]).code == 1
    with Ledger(found["ledger"]) as ledger:
        ledger.append_many([("x", b"body")] * 300)
    return found


@pytest.mark.parametrize("name", COMMANDS)
def test_a_signal_at_any_step_leaves_a_file_whole_or_as_it_was(
    sources: dict[str, Path], tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "there"
    out = folder / name
    arguments = [part.format(out=out, **sources) for part in COMMANDS[name]]
    old = None if name in NEW else OLD
    given = json.dumps([arguments, str(folder), name, old, STEPS, SIGNALS])
    done = subprocess.run([sys.executable, "-c", RUNNER, given], capture_output=True, env=environment(), text=True)
    assert "Traceback" not in done.stderr, done.stderr
    told: list[list[Any]] = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('["')]
    assert len(told) == 4, done.stderr
    for step, after, number, code, there, kept in told:
        assert code == 128 + number, (step, after, number, code)
        if (step, after) == ("name", True):
            assert (there, kept) == ([name], False)
        else:
            assert (there, kept) == ([] if old is None else [name], old is not None), (step, after, number)
    if name == "backup":
        assert verify_file(out).size == 300
    if name == "unpacked":
        assert len(out.read_bytes().splitlines()) == 40
    if name.endswith(".html"):
        assert out.read_bytes().endswith(b"</html>\n")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_command_writes_over_its_input(sources: dict[str, Path], tmp_path: Path, name: str) -> None:
    """Named as it is, or by a link."""
    command = COMMANDS[name]
    (source,) = (path for key, path in sources.items() if f"{{{key}}}" in command)
    (tmp_path / f"alias-{name}").symlink_to(source)
    before = source.read_bytes()
    for out in (source, tmp_path / f"alias-{name}"):
        more = ["--format", "csv"] if name == "x.csv" else ["--format", name[2:]] if name.startswith("x.") else []
        done = turnwire(*(part.format(out=out, **sources) for part in command), *more)
        assert done.code in (2, 3), (out, done.err)
        assert "is an input" in done.err or "exists already" in done.err, done.err
        assert source.read_bytes() == before
