"""The pages show what the commands print: that about the command line, and every other with a console in it."""

from __future__ import annotations

import doctest
import re
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cli.running import ROOT, needs_posix, through_shell
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
