"""Requests of other programs: completion in shells, and the calls of the action."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import GOOD, ROOT, environment, needs_posix, turnwire

pytestmark = pytest.mark.once
ACTION = ROOT / "packaging" / "action"


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("scan lo", ["file,lo"]),
        ("conform nslip lo", ["file,lo"]),
        ("scan x -o lo", ["file,lo"]),
        ("ledger head lo", ["file,lo"]),
        ("convert x --context lo", ["file,lo"]),
        ("scan --wire n", ["plain,nslip"]),
        ("tokens --tokenizer ./voc", ["file,./voc"]),
        ("replay x --at C", []),
        ("nosuch sca", ["plain,scan"]),
    ],
)
def test_shells_complete_files_and_names(words: str, found: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {"_TURNWIRE_COMPLETE": "bash_complete", "COMP_WORDS": f"turnwire {words}"}
    for name, value in {**asked, "COMP_CWORD": str(len(words.split()))}.items():
        monkeypatch.setenv(name, value)
    done = turnwire()
    assert (done.code, done.err, done.out.decode().split()) == (0, "", found)


def action(tmp_path: Path, **given: str) -> tuple[int, str, str]:
    """Exit code, standard output and what was said to the workflow of a run of the action's script."""
    said = tmp_path / "said"
    said.write_text("")
    inputs = {"COMMAND": "validate", "FILES": "", "WIRE": "", "MOST": "", "ARGUMENTS": "", "GITHUB_OUTPUT": str(said)}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", ACTION], capture_output=True, text=True, env=environment(PATH=path, **{**inputs, **given}), timeout=300
    )
    return done.returncode, done.stdout, said.read_text()


@needs_posix
@pytest.mark.skipif(not ACTION.exists(), reason="needs the source tree")
def test_the_action_calls_turnwire(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.nslip", tmp_path / "bad.nslip"
    good.write_bytes(GOOD + b"\n")
    bad.write_bytes(b"@a3|f0|c$|S0|d1|T1#\n")
    assert action(tmp_path, FILES=str(good), WIRE="nslip") == (0, "", "exit-code=0\n")
    code, out, said = action(tmp_path, FILES=f"{tmp_path}/*.nslip\n")
    assert (code, said) == (1, "exit-code=1\n")
    assert "bad_digit" in out
    assert action(tmp_path, COMMAND="conform", WIRE="nslip", FILES=str(bad))[0] == 1
    usage = action(tmp_path, COMMAND="conform", FILES=str(good))
    assert usage == (2, "::error::conform needs the input wire\n", "exit-code=2\n")
    for wrong in ({"COMMAND": "rm"}, {"MOST": "3"}):
        code, _, said = action(tmp_path, FILES=str(good), **wrong)
        assert (code, said) == (2, "exit-code=2\n")
    assert turnwire("validate", good).code == 0
