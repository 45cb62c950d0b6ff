"""The pages say what is true: links lead somewhere, every `>>>` example prints what the page shows, what repeats the
code repeats it rightly; and the site has every page in its navigation and fetches nothing."""

from __future__ import annotations

import doctest
import re
import runpy
import shutil
import subprocess
import sys
from enum import EnumType
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

import pytest

import turnwire
from tests.cli.running import environment
from turnwire import LIMITS, Reason

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/*.md"), *ROOT.glob("examples/**/*.md")]
)
NAME = re.compile(r"`(?:turnwire\.)?(nslip|slip|csp|sstp|sap|kick|tokens|session|ledger|log|conversion)\.([A-Z]\w*)")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
in_the_tree = pytest.mark.skipif(not (ROOT / "mkdocs.yml").exists(), reason="needs the source tree")
OPTIONS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def anchors(page: Path) -> set[str]:
    """The anchors that a reader of Markdown gives the headings of a page."""
    headings = re.findall(r"^#+ +(.*)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower()).replace(" ", "-") for heading in headings}


@in_the_tree
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


@in_the_tree
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


# --- the site ---


@pytest.fixture
def site() -> Any:
    """mkdocs.yml, but for its tags."""
    yaml = pytest.importorskip("yaml")
    loader = type("Loader", (yaml.SafeLoader,), {})
    yaml.add_multi_constructor("", lambda loader, suffix, node: None, loader)
    return yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), loader)


def leaves(entry: object) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(entry, str):
        return [entry]
    parts = entry.values() if isinstance(entry, dict) else entry
    return [page for part in parts for page in leaves(part)]  # type: ignore[attr-defined]


@in_the_tree
def test_every_page_is_in_the_navigation(site: Any) -> None:
    hook = (ROOT / ".ci" / "site.py").read_text("utf-8")
    outside = dict(re.findall(r'^    "(.*)": "(.*)",$', hook, re.MULTILINE))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    named = leaves(site["nav"])
    assert sorted(named) == sorted(pages | set(outside.values()))
    assert all((ROOT / path).exists() for path in outside)


@in_the_tree
def test_the_site_is_strict_and_fetches_nothing(site: Any) -> None:
    assert site["strict"] is True
    assert site["theme"]["font"] is False
    assert "extra_javascript" not in site
    for sheet in site["extra_css"]:
        text = (ROOT / "docs" / sheet).read_text("utf-8")
        assert "url(" not in text and "@import" not in text
    assert set(site["validation"]["links"].values()) == {"warn"}


@in_the_tree
def test_pictures_are_small_and_fetch_nothing() -> None:
    pictures = sorted((ROOT / "docs" / "images").iterdir())
    assert len(pictures) >= 8
    for picture in pictures:
        assert picture.suffix in (".png", ".svg") and picture.stat().st_size <= 150_000, picture
        other = picture.with_name(picture.name.replace("-light", "-dark") if "-light" in picture.name else
                                  picture.name.replace("-dark", "-light"))  # fmt: skip
        assert other != picture and other.exists(), picture
        if picture.suffix == ".svg":
            assert re.findall(r"url\((?!#)|href=|@import", picture.read_text("utf-8")) == []


@in_the_tree
def test_the_page_of_reasons_has_all_of_them() -> None:
    text = (ROOT / "docs" / "reference" / "reasons.md").read_text("utf-8")
    groups = text[text.index("\n## ") :]
    assert re.findall(r"`(\w+)`", groups) == [reason.value for reason in Reason]


@in_the_tree
def test_the_page_of_limits_has_all_of_them() -> None:
    text = (ROOT / "docs" / "reference" / "limits.md").read_text("utf-8")
    rows = {name: int(value.replace(",", "")) for name, value in re.findall(r"^\| `(\w+)` \| ([\d,]+) \|", text, re.M)}
    assert rows == LIMITS._asdict()
    assert set(re.findall(r"^\| `\w+` \| [\d,]+ \| `(\w+)`", text, re.M)) <= {reason.value for reason in Reason}


@in_the_tree
def test_the_reference_names_what_is_there_and_shows_every_name() -> None:
    """A name that has gone is a warning of mkdocstrings; here it is seen without mkdocs."""
    text = (ROOT / "docs" / "reference" / "python.md").read_text("utf-8")
    named = re.findall(r"^::: ([\w.]+)$", text, re.M)
    assert len(named) == len({*named})
    for name in named:
        assert (resolve_name(name).__doc__ or "").strip(), name
    shown = re.findall(r"^::: ([\w.]+)\n    options: { members: true }$", text, re.M)
    source = Path(turnwire.__file__).parent
    faces = {".".join(("turnwire", *path.parent.relative_to(source).parts)) for path in source.rglob("__init__.pyi")}
    assert {*shown} == faces - {"turnwire.slip"}
    for face in shown:
        module = import_module(face)
        for name in module.__all__:
            found = getattr(module, name)
            if isinstance(found, ModuleType):
                assert f"{face}.{name}" in {*named, "turnwire.slip"}
            elif callable(found) and not isinstance(found, EnumType):  # some have it behind them
                assert (found.__doc__ or "").strip(), name


# --- the demo prints what its readers are promised; the notebook runs from its first cell to its last, in a kernel ----


EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_demo_reads_damages_and_queries_the_real_messages(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("polars")
    pytest.importorskip("duckdb")
    runpy.run_path(str(EXAMPLES / "demo.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "4,356 of 4,356 came back byte for byte" in said
    assert "nslip: unterminated_string at byte 20, line 1" in said
    assert "4,347 good, 9 rejected" in said
    assert 'duplicate     @a1|f2|c5S|S2|S0|T3|g5S|k5S|r5S|u"waiting"|t"exec_status"#' in said
    assert "│ partial ┆ 467      ┆ 5      ┆ 6.04 ┆ 7       │" in said
    assert "itself, says the same." in said


@pytest.mark.filterwarnings("ignore")
def test_every_cell_of_the_notebook_runs_and_says_what_is_true(tmp_path: Path) -> None:
    """It is kept without what a run left."""
    for needed in ("nbclient", "nbformat", "ipykernel", "splintr"):
        pytest.importorskip(needed)
    import nbclient
    import nbformat

    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    notebook = nbformat.read(EXAMPLES / "tour.ipynb", as_version=4)
    nbformat.validate(notebook)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [(cell.outputs, cell.execution_count) for cell in cells] == [([], None)] * len(cells)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = [
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")) for output in cell.outputs)
        for cell in cells
    ]
    assert "act=REQUEST" in said[0]
    assert said[1] == """'@a6|f0|c3|S1|d0|T2|gH|kg|q2|t"refactor_auth"#'"""
    assert "('EVAL', 1089)" in said[3]
    assert "('partial', 467, 6.04)" in said[4]
    assert "'bad_digit'" in said[6] and said[6].startswith("(3,")
    assert said[7] == "'6,651 tokens one by one, 704 as one session'"
    assert (tmp_path / "damaged.html").read_text("utf-8").startswith("<!doctype html>")
