"""The demo prints what its readers are promised."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

pytest.importorskip("polars")
pytest.importorskip("duckdb")

pytestmark = pytest.mark.once

DEMO = Path(__file__).parent.parent / "examples" / "demo.py"


def test_the_demo_reads_damages_and_queries_the_real_messages(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(DEMO), run_name="__main__")
    said = capsys.readouterr().out
    assert "4,356 of 4,356 came back byte for byte" in said
    assert "nslip: unterminated_string at byte 20, line 1" in said
    assert "4,347 good, 9 rejected" in said
    assert 'duplicate     @a1|f2|c5S|S2|S0|T3|g5S|k5S|r5S|u"waiting"|t"exec_status"#' in said
    assert "│ partial ┆ 467      ┆ 5      ┆ 6.04 ┆ 7       │" in said
    assert "itself, says the same." in said
