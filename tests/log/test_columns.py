"""The promise of docs/scan_columns.md: columns, types and names of enums change only with the major version."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from turnwire import WIRES, scan
from turnwire.contract import Column
from turnwire.log.output.arrow import FORMATS
from turnwire.log.output.rejects import COLUMNS as REJECT_COLUMNS

PAGE = Path(__file__).parents[2] / "docs" / "scan_columns.md"
pytestmark = [pytest.mark.skipif(not PAGE.exists(), reason="needs the source tree"), pytest.mark.once]
ARROW = {
    "u64": "L",
    "i64": "l",
    "u8": "C",
    "f64": "g",
    "bool": "b",
    "timestamp": "tsu:UTC",
    "text": "vu",
    "enum": "C",
    "file": "i",
    "name": "U",
    "binary": "Z",
}
ALL = "All wires at once"


def promised(title: str) -> list[tuple[str, str, bool]]:
    """(name, type, nullable) of each column of a section."""
    section = PAGE.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^(\w+) +(\w+)(\??)$", section, re.MULTILINE)
    return [(name, kind, nullable == "?") for name, kind, nullable in rows]


def shape(columns: tuple[Column, ...]) -> list[tuple[str, str, bool]]:
    return [(column.name, column.kind, column.nullable) for column in columns]


@pytest.mark.parametrize("wire", [*WIRES, None])
def test_columns_are_the_promised_ones(wire: str | None) -> None:
    own = {row[0]: row for row in promised(wire or ALL)}
    common = [own.pop(row[0], row) for row in promised("Any wire")]
    assert shape(scan(b"", wire=wire).columns) == [*common, *own.values()]
    assert len(common) == 13


def test_rejects_are_the_promised_ones() -> None:
    assert shape(REJECT_COLUMNS) == promised("Rejects")


@pytest.mark.parametrize("wire", [*WIRES, None])
def test_names_of_enums_are_the_promised_ones(wire: str | None) -> None:
    rows = re.findall(r"^- (?:(\w+): )?([\w, ]+) = (.*)$", PAGE.read_text("utf-8"), re.MULTILINE)
    names = {f"{of}: {column}" if of else column: text for of, columns, text in rows for column in columns.split(", ")}
    names["all: kind"] = " ".join(dict.fromkeys(" ".join(names[f"{one}: kind"] for one in WIRES).split()))
    enums = [column for column in scan(b"", wire=wire).columns if column.kind == "enum"]
    assert len(enums) >= 2
    for column in enums:
        key = "wire" if column.name == "wire" else f"{wire or 'all'}: {column.name}"
        assert " ".join(column.names) == names[key]


def test_arrow_types_are_the_promised_ones() -> None:
    assert FORMATS == ARROW
