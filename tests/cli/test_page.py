"""The pages show what the commands print: that about the command line, and every other with a console in it."""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import GOOD, ROOT, environment, needs_posix, through_shell, turnwire
from turnwire.cli.outcome import program

pytestmark = pytest.mark.once

PAGES = [
    page for page in (ROOT / "docs" / "cli.md", ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()
]
EXAMPLES = [
    pytest.param(fence, id=f"{page.name}-{fence[2:40]}")
    for page in dict.fromkeys(PAGES)
    for fence in re.findall(r"^```console\n(\$ .*?)^```$", page.read_text("utf-8"), re.M | re.S)
]


PLAIN = re.compile(
    r"(?:(?P<before>printf '[^']*') \| )?turnwire (?P<words>[-\w ./,=]+?)(?P<both> 2>&1)?"
    r"(?: \| (?P<behind>[^|;&]*))?(?P<then>; echo \"[^\"]*\")?"
)
"""An example with one command of plain words: the shell makes what it reads, filters what it prints, shows its code."""


def printed(script: str, folder: Path) -> str:
    """The output of an example: one command of plain words in this process, all else as the shell understands it."""
    plain = PLAIN.fullmatch(script)
    if plain is None:
        return through_shell(f"exec 2>&1; {script}", cwd=folder).out.decode()
    given = of_shell(plain["before"]) if plain["before"] else b""
    done = CliRunner().invoke(program, plain["words"].split(), input=given, prog_name="turnwire")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    said, code = done.output_bytes, done.exit_code
    if plain["behind"]:
        filtered = of_shell(plain["behind"], said if plain["both"] else done.stdout_bytes)
        said, code = filtered if plain["both"] else done.stderr_bytes + filtered, 0
    return (said + (of_shell(f"(exit {code}){plain['then']}") if plain["then"] else b"")).decode()


def of_shell(script: str, given: bytes = b"") -> bytes:
    return subprocess.run(["bash", "-c", script], input=given, stdout=subprocess.PIPE, timeout=300).stdout


@needs_posix
@pytest.mark.skipif(not PAGES, reason="needs the pages")
def test_the_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 15


@needs_posix
@pytest.mark.parametrize("fence", EXAMPLES)
def test_an_example_prints_what_is_shown(fence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that looks like the top of the project, where examples may leave files."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    for script, shown in re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", fence, re.M | re.S):
        said = printed(script, tmp_path)
        assert doctest.OutputChecker().check_output(shown, said, doctest.ELLIPSIS), said


# --- requests of other programs: completion in shells, and the calls of the action ------------------------------------


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
