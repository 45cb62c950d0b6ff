"""``where=``: the rows that a plain loop over all rows would choose, with the numbers they have there."""

from __future__ import annotations

import itertools
import random
from datetime import UTC, datetime
from itertools import pairwise
from math import inf
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.log.engines import GOOD, UPSTREAM, VECTORS
from tests.log.test_scan import everything, scan_nslip, table
from turnwire.contract import Column
from turnwire.log.engine.where import _CONVERT, _number_among, _number_within, rows_with
from turnwire.nslip.spec import Act, FrameType

pytestmark = [pytest.mark.usefixtures("scan_core"), pytest.mark.once]
LINES = UPSTREAM.read_bytes().split(b"\n")[:25] + VECTORS
DATA = b"\n".join([*LINES, b"@a3|f0 bad", b'@a3|f0|c9|S3|d1|T1|t"a \\"b\\" c"|u""#', GOOD, b"refactor " + GOOD])
ALL, BAD, COUNTS = everything(scan_nslip(DATA))
ROWS = [dict(zip(ALL, values, strict=True)) for values in zip(*ALL.values(), strict=True)]
RAW = [DATA[row["offset"] : row["offset"] + row["length"]] for row in ROWS]


def act(row: dict[str, Any]) -> str:
    return Act(row["act"]).name


CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "a number": ({"src": 3}, lambda row: row["src"] == 3),
    "several numbers": ({"src": {1, 3, 5}}, lambda row: row["src"] in {1, 3, 5}),
    "a list of numbers": ({"src": [1, 3]}, lambda row: row["src"] in {1, 3}),
    "numbers nobody has": ({"src": {-1, 1 << 64, 1 << 70}}, lambda row: False),
    "a range": ({"turn": (2, 5)}, lambda row: 2 <= row["turn"] < 5),
    "open at the start": ({"turn": (None, 5)}, lambda row: row["turn"] < 5),
    "open at the end": ({"turn": (3, None)}, lambda row: row["turn"] >= 3),
    "open": ({"goal_id": (None, None)}, lambda row: row["goal_id"] is not None),
    "empty": ({"turn": (5, 2)}, lambda row: False),
    "beyond the type": ({"turn": (-5, 1 << 80)}, lambda row: True),
    "above the type": ({"turn": (1 << 64, None)}, lambda row: False),
    "below the type": ({"turn": (None, 0)}, lambda row: False),
    "no value": ({"goal_id": None}, lambda row: row["goal_id"] is None),
    "no value or one": ({"goal_id": {None, 1}}, lambda row: row["goal_id"] in {None, 1}),
    "a number as text": ({"sender": {"3", b"5"}}, lambda row: row["src"] in {3, 5}),
    "text that is no number's": ({"sender": ["9" * 5000, "\ud800", b"\xff", "03", "x"]}, lambda row: False),
    "nothing": ({"src": set()}, lambda row: False),
    "an enum": ({"act": "REQUEST"}, lambda row: act(row) == "REQUEST"),
    "enums": ({"act": {"REQUEST", Act.ASK}}, lambda row: act(row) in {"REQUEST", "ASK"}),
    "an enum that may be absent": ({"frame": FrameType.TASK}, lambda row: row["frame"] == FrameType.TASK),
    "a text": ({"tag": "hello"}, lambda row: row["tag"] == "hello"),
    "a text in bytes": ({"tag": b"hello"}, lambda row: row["tag"] == "hello"),
    "an escaped text": ({"tag": 'a "b" c'}, lambda row: row["tag"] == 'a "b" c'),
    "an empty text": ({"status": ""}, lambda row: row["status"] == ""),
    "texts": ({"tag": {"hello", 'a "b" c', None}}, lambda row: row["tag"] in {"hello", 'a "b" c', None}),
    "a range of texts": (
        {"tag": ("b", "i")},
        lambda row: row["tag"] is not None and b"b" <= row["tag"].encode() < b"i",
    ),
    "containing": ({"text": b"hello"}, lambda row: b"hello" in row["raw"]),
    "containing one of": ({"text": {"hello", "|T1"}}, lambda row: b"hello" in row["raw"] or b"|T1" in row["raw"]),
    "containing what stands between": ({"text": b"#\n"}, lambda row: False),
    "containing nothing": ({"text": b""}, lambda row: True),
    "what stands in front": ({"text": "refactor"}, lambda row: b"refactor" in row["raw"]),
    "the wire": ({"wire": "nslip"}, lambda row: True),
    "another wire": ({"wire": {"csp", "sap"}}, lambda row: False),
    "places": (
        {"offset": (100, 9000), "length": (None, 40)},
        lambda row: 100 <= row["offset"] < 9000 > row["length"] < 40,
    ),
    "all of several": (
        {"act": {"INFORM", "REQUEST"}, "turn": (1, None), "goal_id": None},
        lambda row: act(row) in {"INFORM", "REQUEST"} and row["turn"] >= 1 and row["goal_id"] is None,
    ),
    "no condition": ({}, lambda row: True),
}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_a_plain_loop(name: str) -> None:
    where, test = CASES[name]
    expected = [row for row, raw in zip(ROWS, RAW, strict=True) if test({**row, "raw": raw})]
    for options in ({}, {"threads": 2, "batch_bytes": 1000}, {"borrow": True, "batch_bytes": 3000}):
        found = scan_nslip(DATA, where=where, **options)  # type: ignore[arg-type]
        columns = table(found)
        assert columns["record"] == [row["record"] for row in expected]
        assert columns == {column: [row[column] for row in expected] for column in ALL}
        assert found.counts == COUNTS._replace(selected=len(expected))
        assert found.rejects.rows() == BAD


def test_columns_that_are_looked_at_need_not_be_read() -> None:
    found = scan_nslip(DATA, where={"src": 3, "tag": {"hello", None}, "act": "REQUEST"}, columns=["conv_id", "record"])
    columns = table(found)
    expected = [row for row in ROWS if row["src"] == 3 and act(row) == "REQUEST" and row["tag"] in {"hello", None}]
    assert columns == {name: [row[name] for row in expected] for name in ("conv_id", "record")}
    for batch in scan_nslip(DATA, where={"src": 3}, columns=[]):
        assert batch.names == ()
        assert all(batch.message(row).src == 3 for row in range(len(batch)))


def test_arrow_gets_the_chosen_rows() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(scan_nslip(DATA, where={"act": "REQUEST"}, batch_bytes=3000))
    expected = [row for row in ROWS if act(row) == "REQUEST"]
    assert frame["record"].to_list() == [row["record"] for row in expected]
    assert frame["tag"].to_list() == [row["tag"] for row in expected]
    assert set(frame["act"].to_list()) == {"REQUEST"}


def test_the_first_error_comes_behind_the_chosen_rows() -> None:
    data = GOOD + b"\n" + GOOD.replace(b"S0", b"S7") + b"\n@a3|f0 bad\n" + GOOD
    found = scan_nslip(data, where={"src": 7}, errors="raise")
    batches = iter(found)
    assert next(batches)["record"].tolist() == [1]
    with pytest.raises(ValueError, match="bad"):
        next(batches)
    assert (found.counts.wires, found.counts.selected) == ({"nslip": 2}, 1)


@pytest.mark.parametrize(
    ("where", "kind", "words"),
    [
        ({"source": 3}, ValueError, "has no column 'source' of nslip; the columns are text, .*wire, .*tag"),
        ({"line": 3}, ValueError, "has no column 'line'"),
        ({3: 3}, ValueError, "has no column 3"),
        ({"src": "3"}, TypeError, "src must be a whole number, not str"),
        ({"src": 1.5}, TypeError, "whole number"),
        ({"src": (1,)}, ValueError, r"a range of src is \(from, to\)"),
        ({"src": (1, "x")}, TypeError, "whole number"),
        ({"act": "SING"}, ValueError, "act must be one of .*REQUEST.*, not 'SING'"),
        ({"act": 3}, TypeError, "act must be one of"),
        ({"act": ("ASK", None)}, TypeError, "no order"),
        ({"tag": 3}, TypeError, r"^where: the column tag accepts text \(str or bytes\), not int$"),
        ({"text": 3}, TypeError, r"^where: the column text accepts text \(str or bytes\), not int$"),
        ({"text": True}, TypeError, r"^where: the column text accepts text \(str or bytes\), not True \(bool\)$"),
        (
            {"sender": 1.0},
            TypeError,
            r"^where: the column sender accepts text \(str or bytes\) or an int, not 1\.0 \(float\)$",
        ),
        ({"wire": "morse"}, ValueError, "'morse' is not a wire; the wires are nslip"),
        ([("src", 3)], TypeError, "where must be a dict"),
    ],
)
def test_conditions_that_make_no_sense(where: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        scan_nslip(DATA, where=where)


def test_times() -> None:
    column = Column("time", "timestamp")
    micros = 1_777_896_000_000_001
    for value in (
        micros,
        datetime(2026, 5, 4, 12, 0, 0, 1, tzinfo=UTC),
        datetime(2026, 5, 4, 12, 0, 0, 1),
        "2026-05-04T14:00:00.000001+02:00",
        "2026-05-04T12:00:00.000001Z",
        np.datetime64("2026-05-04T12:00:00.000001"),
    ):
        assert _CONVERT["timestamp"]("time", column, value) == micros
    for wrong, kind in (("noon", ValueError), (1.5, TypeError), (True, TypeError)):
        with pytest.raises(kind, match="time must be a"):
            _CONVERT["timestamp"]("time", column, wrong)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.uint64, np.bool_, np.float64])
def test_ranges_and_values_at_the_edges_of_each_type(dtype: Any) -> None:
    """From the least number that a column can hold to the greatest, and beyond."""
    ends: list[Any] = [-inf, -1.5, 0, inf] if dtype is np.float64 else [0, 1]
    if dtype not in (np.float64, np.bool_):
        ends = [int(np.iinfo(dtype).min), 0, 1, int(np.iinfo(dtype).max)]
    array = np.array(ends, dtype)
    asked = [None, *ends] if dtype is np.float64 else [None, -(1 << 70), *range(-2, 3), 1 << 70]
    asked += [] if dtype is np.float64 else [end + more for end in ends for more in (-1, 0, 1)]
    for low, high in itertools.product(asked, repeat=2):
        wanted = [(low is None or end >= low) and (high is None or end < high) for end in ends]
        assert _number_within(array, low, high).tolist() == wanted, (low, high)
    for one in filter(lambda one: one is not None, asked):
        assert _number_among(array, {one}).tolist() == [end == one for end in ends], one
        assert _number_among(array, {one, 1}).tolist() == [end in (one, 1) for end in ends], one


LENGTHS = (1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 70, 130)


def test_texts_are_found_where_they_are() -> None:
    chance = random.Random(50)
    met = 0
    for _ in range(60):
        letters = chance.choice((b"ab", b"abc", b"abcdefgh\0\xff"))
        data = bytes(chance.choices(letters, k=chance.randint(1, 300)))
        texts = [bytes(chance.choices(letters, k=chance.choice(LENGTHS[chance.randint(0, 9) :]))) for _ in range(12)]
        for _ in range(chance.randint(0, 3)):
            start = chance.randrange(len(data))
            texts.append(data[start : start + chance.choice(LENGTHS)])
        edges = sorted(chance.sample(range(len(data) + 1), min(len(data) + 1, chance.randint(2, 9))))
        parts = [part for part in pairwise(edges) if chance.random() < 0.8] or [(0, 1)]
        starts, stops = (np.array(ends) for ends in zip(*parts, strict=True))
        expected = [any(text in data[start:stop] for text in texts) for start, stop in parts]
        assert rows_with(texts, data[starts[0] :], starts - starts[0], stops - starts[0]).tolist() == expected, (
            data,
            texts,
            parts,
        )
        met += sum(expected)
    assert met > 50


def test_a_text_without_a_letter_is_in_all_records() -> None:
    data = b"@a3|f0|c1|S0|d1|T1#\n" * 5
    for texts in ([""], ["", *(f"x{number}" for number in range(20))], [*(f"{number}x" for number in range(20)), ""]):
        assert sum(map(len, turnwire.scan(data, where={"text": texts}))) == 5
    assert sum(map(len, turnwire.scan(data, where={"text": []}))) == 0


def test_many_values_are_asked_for_as_few_are() -> None:
    data = b"".join(b'@a3|f0|c%d|S0|d1|T1|t"n%d\\"x"#\n' % (number, number % 7) for number in range(90))
    data += b"".join(b'@a3|f0|c%d|S0|d1|T1|t"n%d"#\n' % (number, number % 7) for number in range(60))
    wanted = ['n3"x', "n4"]
    few = sum(len(batch) for batch in turnwire.scan(data, where={"subject": set(wanted)}))
    many = {*wanted, *(f"other {number}" for number in range(200))}
    assert sum(len(batch) for batch in turnwire.scan(data, where={"subject": many})) == few > 10
    line = data[: data.index(b"\n")]
    for text, count in ((line, 1), (line + b"\n@a3", 0), (data, 0), (b"n3", 22)):
        assert sum(len(batch) for batch in turnwire.scan(data, where={"text": text})) == count
