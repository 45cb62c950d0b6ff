"""The page about the command line shows what the commands print."""

from __future__ import annotations

import doctest
import re

import pytest

from tests.cli.running import ROOT, needs_posix, through_shell

PAGE = ROOT / "docs" / "cli.md"
EXAMPLES = re.findall(
    r"^```console\n\$ (.*?)\n(.*?)^```$", PAGE.read_text("utf-8") if PAGE.exists() else "", re.M | re.S
)


@needs_posix
@pytest.mark.skipif(not PAGE.exists(), reason="needs the page")
def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 6


@needs_posix
@pytest.mark.parametrize(("script", "shown"), EXAMPLES, ids=[script[:40] for script, _ in EXAMPLES])
def test_an_example_prints_what_is_shown(script: str, shown: str) -> None:
    done = through_shell(f"exec 2>&1; {script}", cwd=ROOT)
    assert doctest.OutputChecker().check_output(shown, done.out.decode(), doctest.ELLIPSIS), done.out.decode()
