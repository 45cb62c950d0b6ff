"""The demo prints what its readers are promised; the notebook runs from its first cell to its last, in a kernel."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("duckdb")

pytestmark = pytest.mark.once

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_the_demo_reads_damages_and_queries_the_real_messages(capsys: pytest.CaptureFixture[str]) -> None:
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
