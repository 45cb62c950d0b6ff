"""The pages say what is true: links lead somewhere, and every `>>>` example prints what the page shows."""

from __future__ import annotations

import doctest
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.cli.running import environment

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/**/*.md")]
)
NAME = re.compile(r"`(?:turnwire\.)?(nslip|slip|csp|sstp|sap|kick|tokens|session|ledger|log|conversion)\.([A-Z]\w*)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """The anchors that a reader of Markdown gives the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs the source tree")
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page: Path) -> None:
    dead = []
    for target in LINK.findall(FENCE.sub("", page.read_text("utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        if not there.exists() or (anchor and there.suffix == ".md" and anchor not in anchors(there)):
            dead.append(target)
    assert dead == []


def examples(page: Path) -> str:
    """The interactive examples of a page, its fences removed so that they do not count as output."""
    return re.sub(r"^```.*$", "", page.read_text("utf-8"), flags=re.MULTILINE)


def test_named_classes_are_there() -> None:
    named = {(name(page), *found) for page in PAGES for found in NAME.findall(page.read_text("utf-8"))}
    assert len(named) > 15
    assert not [one for one in named if not hasattr(import_module(f"turnwire.{one[1]}"), one[2])]


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs the source tree")
def test_files_of_the_map_are_there() -> None:
    """The table of rooms in CONTRIBUTING: files and folders in the first column of a row."""
    rows = re.findall(r"^\| (`[^|]+`) \|", (ROOT / "CONTRIBUTING.md").read_text("utf-8"), re.MULTILINE)
    files = [file for row in rows for file in re.findall(r"`([\w./]+)`", row)]
    assert len(files) > 15
    assert not [file for file in files if not any((root / file).exists() for root in (ROOT, ROOT / "src" / "turnwire"))]


@pytest.mark.parametrize("page", [page for page in PAGES if ">>> " in page.read_text("utf-8")], ids=name)
def test_examples_print_what_is_shown(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    test = doctest.DocTestParser().get_doctest(examples(page), {"__name__": "__main__"}, name(page), str(page), 0)
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=OPTIONS).run(test, out=said.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(said)


def blocks(page: Path) -> list[str]:
    """The Python of a page that is not an interactive example."""
    found = re.findall(r"^```python\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in found if ">>> " not in block]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name)
def test_blocks_run_one_after_the_other(page: Path, tmp_path: Path) -> None:
    """From a fresh interpreter, in an empty folder, as somebody who copies them would."""
    finished = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks(page))],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
