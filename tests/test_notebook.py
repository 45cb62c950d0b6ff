"""The notebook of the examples runs from its first cell to its last, on the real messages, in a kernel of its own."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.once
nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
for needed in ("ipykernel", "duckdb", "polars", "splintr"):
    pytest.importorskip(needed)

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOK = EXAMPLES / "tour.ipynb"


def read() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def test_it_is_kept_without_what_a_run_left() -> None:
    notebook = read()
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.filterwarnings("ignore")
def test_every_cell_runs_and_says_what_is_true(tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES / "data", tmp_path / "data")
    notebook = read()
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    said = [
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")) for output in cell.outputs)
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]
    assert "act=REQUEST" in said[0]
    assert said[1] == """'@a6|f0|c3|S1|d0|T2|gH|kg|q2|t"refactor_auth"#'"""
    assert "('EVAL', 1089)" in said[3]
    assert "('partial', 467, 6.04)" in said[4]
    assert "'bad_digit'" in said[6] and said[6].startswith("(3,")
    assert said[7] == "'6,651 tokens one by one, 704 as one session'"
    assert (tmp_path / "damaged.html").read_text("utf-8").startswith("<!doctype html>")
