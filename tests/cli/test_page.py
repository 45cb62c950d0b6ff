"""The pages show what the commands print: that about the command line, and every other with a console in it."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from tests.cli.running import ROOT, needs_posix, through_shell

pytestmark = pytest.mark.once

PAGES = [
    page for page in (ROOT / "docs" / "cli.md", ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))) if page.exists()
]
EXAMPLES = [
    pytest.param(fence, id=f"{page.name}-{fence[2:40]}")
    for page in dict.fromkeys(PAGES)
    for fence in re.findall(r"^```console\n(\$ .*?)^```$", page.read_text("utf-8"), re.M | re.S)
]


@needs_posix
@pytest.mark.skipif(not PAGES, reason="needs the pages")
def test_the_pages_have_examples() -> None:
    assert len(EXAMPLES) >= 20


@needs_posix
@pytest.mark.parametrize("fence", EXAMPLES)
def test_an_example_prints_what_is_shown(fence: str, tmp_path: Path) -> None:
    """In a folder that looks like the top of the project, where examples may leave files."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for script, shown in re.findall(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", fence, re.M | re.S):
        done = through_shell(f"exec 2>&1; {script}", cwd=tmp_path)
        assert doctest.OutputChecker().check_output(shown, done.out.decode(), doctest.ELLIPSIS), done.out.decode()
