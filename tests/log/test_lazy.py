"""``turnwire.polars.scan``: always the rows of a whole scan, with less read for them."""

from __future__ import annotations

import io
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

import turnwire
from tests.conftest import SHARED
from tests.log.engines import GOOD
from tests.log.mixed_logs import GOOD_JSON
from turnwire.errors import MissingDependency

pytestmark = pytest.mark.once
pl = pytest.importorskip("polars")
pytest.importorskip("pyarrow")

both_cores = pytest.mark.usefixtures("scan_core")
c = pl.col
RECENT = tuple(int(part) for part in pl.__version__.split(".")[:2]) > (1, 22)
"""Polars 1.22, the lowest that is allowed, has no engine that takes batches."""
NOON = datetime(2026, 1, 4, 12, tzinfo=UTC)


def same(one: Any, other: Any) -> bool:
    """True if two frames are equal; before 1.32 ``equals`` said no where words were learnt in another order."""
    return bool(one.schema == other.schema and one.rows() == other.rows())


def line(number: int) -> bytes:
    score = b"|q3" if number % 2 else b""
    record = b'@a%d|f%d|c%d|S%d|d1|T%d|t"x%d"%s#' % (
        number % 5, number % 4, number % 7, number % 3, number % 10, number % 4, score,
    )  # fmt: skip
    return b"2026-01-0%dT12:00:00Z %s\n" % (number % 9 + 1, record)


LOG = b"".join(map(line, range(200)))
ALL = b"".join(LOG.splitlines(keepends=True)[:30]) + b"\n".join(GOOD_JSON)
FULL: dict[str | None, Any] = {}


def full(wire: str | None) -> Any:
    """The frame of a whole scan."""
    if wire not in FULL:
        FULL[wire] = pl.DataFrame(turnwire.scan(LOG if wire == "nslip" else ALL, wire=wire))
    return FULL[wire]


def lazy(wire: str | None, **options: Any) -> Any:
    return turnwire.polars.scan(LOG if wire == "nslip" else ALL, wire=wire, batch_bytes=1000, **options)


PREDICATES = [
    c("conv_id") > 3,
    c("conv_id") >= 3,
    c("conv_id") < 3,
    c("conv_id") <= 3,
    c("conv_id") == 3,
    c("conv_id") > -1,
    c("conv_id").is_in([1, 2, 9]),
    c("conv_id").is_between(2, 4),
    c("conv_id").is_between(2, 4, closed="none"),
    (c("conv_id") > 1) & (c("conv_id") < 6) & c("conv_id").is_in([0, 2, 6]),
    (c("conv_id") == 1) & (c("conv_id") == 2),
    (c("act") == "ASK") & (c("tag") == "x1"),
    c("act").is_in(["ASK", "INFORM", "SING"]),
    c("act") == "SING",
    c("act") > "ASK",
    c("tag") > "x1",
    (c("tag") <= "x1") & (c("tag") == "x1"),
    c("tag").is_in(["x0", "x1", "x2", "x3", "x4"]),
    c("priority").is_null(),
    c("priority").is_not_null(),
    ~c("priority").is_null(),
    c("time") > NOON,
    c("time").is_between(NOON, NOON, closed="left"),
    c("sender") == "2",
    (c("conv_id") == 1) & (c("line") > 9) & c("tag").str.contains("x"),
    (c("conv_id") == 1) | (c("src") == 2),
    c("conv_id") != 3,
    c("conv_id") == 2.5,
    c("conv_id") == c("src"),
    c("conv_id") + 1 == 3,
    c("record") < 10,
    c("file").is_null(),
    c("conv_id").eq_missing(3),
    c("tag").is_in(["x1", None]),
    c("conv_id") == pl.lit(None),
    c("conv_id").map_elements(lambda number: len(f"{number:b}") > 2, return_dtype=pl.Boolean),
]


@pytest.mark.parametrize("predicate", PREDICATES, ids=lambda one: str(one)[:60])
def test_filters(predicate: Any) -> None:
    wanted = full("nslip").filter(predicate)
    frame = lazy("nslip")
    engine = {"engine": "streaming"} if RECENT else {}
    assert same(frame.filter(predicate).select("subject", "dst").collect(**engine), wanted.select("subject", "dst"))
    assert same(frame.head(50).filter(predicate).collect(), full("nslip").head(50).filter(predicate))


@both_cores
def test_the_schema_is_that_of_a_scan() -> None:
    for wire in (None, *turnwire.WIRES):
        assert lazy(wire).collect_schema() == full(wire).schema
        assert same(lazy(wire).collect(), full(wire))
        nothing = turnwire.polars.scan(b"", wire=wire).collect()
        assert (nothing.schema, nothing.height) == (full(wire).schema, 0)
    chosen = lazy("nslip", columns=iter(["tag", "act"]))
    assert same(chosen.collect(), full("nslip").select("tag", "act"))


@pytest.mark.parametrize("rows", [0, 1, 5, 199, 200, 1000])
def test_head(rows: int) -> None:
    frame = lazy("nslip")
    assert same(frame.head(rows).collect(), full("nslip").head(rows))
    assert same(frame.slice(3, rows).collect(), full("nslip").slice(3, rows))
    assert same(frame.tail(rows).collect(), full("nslip").tail(rows))
    chosen = frame.filter(c("conv_id") > 3)
    wanted = full("nslip").filter(c("conv_id") > 3)
    assert same(chosen.head(rows).collect(), wanted.head(rows))
    assert chosen.select(pl.len()).collect().item() == wanted.height


@both_cores
def test_conditions_of_the_scan_and_of_the_query() -> None:
    frame = lazy("nslip", where={"conv_id": (2, 5), "text": b"x1"})
    found = frame.filter((c("conv_id") > 2) & (c("src") == 1)).collect()
    wanted = full("nslip").filter(c("conv_id").is_between(3, 4) & (c("src") == 1) & (c("tag") == "x1"))
    assert found.equals(wanted) and wanted.height


_NUMBERS = st.sampled_from([-1, 0, 1, 3, 6, 2**63, 2**64 - 1])
_TEXTS = st.sampled_from(["", "x", "x1", "x2", "x1\0", "ü", "ASK"])
_OPERATIONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "eq_missing")


@st.composite
def predicates(draw: st.DrawFn, depth: int = 3) -> Any:
    """Expressions of columns and values, of any nesting."""
    way = draw(st.sampled_from(["compare", "in", "between", "null"] + ["and", "or", "not"] * (depth > 0)))
    if way in ("and", "or"):
        left, right = draw(predicates(depth - 1)), draw(predicates(depth - 1))
        return left & right if way == "and" else left | right
    if way == "not":
        return ~draw(predicates(depth - 1))
    column, values = draw(
        st.sampled_from([*((name, _NUMBERS) for name in ("conv_id", "priority", "sequence", "line")), ("tag", _TEXTS)])
    )
    if way == "null":
        return draw(st.sampled_from([c(column).is_null(), c(column).is_not_null()]))
    if way == "in":
        return c(column).is_in(draw(st.lists(values.filter(lambda one: one != -1), max_size=3, min_size=1)))
    if way == "between":
        return c(column).is_between(draw(values), draw(values), closed=draw(st.sampled_from(["both", "left", "none"])))
    return getattr(c(column), draw(st.sampled_from(_OPERATIONS)))(draw(values))


@SHARED
@given(predicates())
def test_any_filter(predicate: Any) -> None:
    try:
        wanted = full("nslip").filter(predicate)
    except pl.exceptions.PolarsError as refused:  # no such value fits the column
        with pytest.raises(type(refused)):
            lazy("nslip").filter(predicate).collect()
        return
    assert same(lazy("nslip").filter(predicate).collect(), wanted)


def test_what_can_be_read_only_once() -> None:
    frame = turnwire.polars.scan(io.BytesIO(LOG), wire="nslip")
    assert frame.collect().height == 200
    with pytest.raises(Exception, match="a file object can be read only once"):
        frame.collect()


def test_errors(tmp_path: Path) -> None:
    scan = turnwire.polars.scan
    for options, kind, words in (
        ({"wire": "morse"}, turnwire.UnknownName, "morse"),
        ({"columns": ["no"]}, ValueError, "no column 'no'"),
        ({"follow": True}, ValueError, "not support follow="),
        ({"resume": {}}, ValueError, "not support resume="),
        ({"unheard": 1}, TypeError, "unheard"),
    ):
        with pytest.raises(kind, match=words):
            scan(LOG, **options)
    damaged = scan(GOOD + b"\n@a3|f0|c-|S0|d1|T1#\n", wire="nslip", errors="raise")
    with pytest.raises(Exception, match="bad_digit"):
        damaged.collect()
    gone = scan(tmp_path / "gone.log", wire="nslip")
    with pytest.raises(Exception, match=r"gone\.log"):
        gone.collect()


def test_without_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "1.21.0")
    with pytest.raises(MissingDependency, match=r"Polars 1\.22 or newer"):
        turnwire.polars.scan(LOG)
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(MissingDependency, match=r"Polars 1\.22 or newer"):
        turnwire.polars.scan(LOG)
