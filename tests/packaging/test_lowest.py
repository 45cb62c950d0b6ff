"""Polars and DuckDB read a scan. .ci/test-lowest runs this on the lowest versions that are allowed."""

from __future__ import annotations

from typing import Any

import pytest

import turnwire

pl = pytest.importorskip("polars")
duckdb = pytest.importorskip("duckdb")
pytestmark = pytest.mark.once

LOG = b"".join(b'@a3|f0|c%d|S0|d1|T1|t"x%d"#\n' % (number % 7, number % 3) for number in range(1, 201))
ROWS = [(number % 7, f"x{number % 3}") for number in range(1, 201)]


@pytest.mark.parametrize(
    ("predicate", "wanted"),
    [
        (pl.col("conv_id") == 3, [row for row in ROWS if row[0] == 3]),
        (pl.col("conv_id").is_between(2, 4), [row for row in ROWS if 2 <= row[0] <= 4]),
        (pl.col("priority").is_null(), ROWS),
        (pl.col("tag").is_in(["x1"]), [row for row in ROWS if row[1] == "x1"]),
        (pl.col("act") == "REQUEST", ROWS),
        (pl.col("act") == "ASK", []),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::polars.exceptions.PolarsWarning")
def test_polars(predicate: Any, wanted: list[tuple[int, str]]) -> None:
    frame = turnwire.polars.scan(LOG, wire="nslip")
    assert frame.collect().shape == (200, len(turnwire.scan(LOG, wire="nslip").columns))
    assert frame.filter(predicate).select("conv_id", "tag").collect().rows() == wanted
    assert frame.head(3).collect().height == 3
    assert frame.select(pl.len()).collect().item() == 200


def test_duckdb() -> None:
    messages = turnwire.scan(LOG, wire="nslip")
    with duckdb.connect() as connection:
        assert connection.sql("select count(*) from messages where conv_id = 3").fetchall() == [(29,)]
    assert messages.counts.records == 200
