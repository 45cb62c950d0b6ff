"""The results on the page are those that its script gives."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("splintr")
ROOT = Path(__file__).parent.parent.parent
PAGE = ROOT / "docs" / "token_tables.md"
pytestmark = [
    pytest.mark.skipif(not (ROOT / "benchmarks").is_dir() or not PAGE.exists(), reason="needs the source tree"),
    pytest.mark.once,
]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT))
    for package in ("toon_format", "gcf", "soon_format", "yaml", "msgpack"):
        pytest.importorskip(package)
    from benchmarks import token_tables

    return token_tables


def structure(text: str) -> list[str]:
    """Headings, and the head and the formats of each table."""
    return sorted(re.findall(r"^#+ .*$|^\| format .*$", text, re.MULTILINE)) + sorted(
        re.findall(r"^\| ([^|]+) \| [\d,]+ ", text, re.MULTILINE)
    )


def test_the_page_is_in_step(made: Any) -> None:
    page = PAGE.read_text("utf-8")
    shown = page.partition(made.BEGIN)[2].partition(made.END)[0].strip()
    anew = made.tables().strip()
    assert structure(shown) == structure(anew)
    assert "One REQUEST in every format" in shown and "| nslip |" in shown
    if made.versions() in page:  # other versions of the formats may count otherwise
        assert shown == anew, "python -m benchmarks.token_tables"
