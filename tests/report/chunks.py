"""Chunks of records made in memory, so that sums and samples can be tested on traffic of any shape."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from turnwire.read.coding import Coded, Texts, coded, texts_of_codes
from turnwire.report.cube import Cube


class Row(NamedTuple):
    """A record as a chunk gives it. time: microseconds."""

    wire: str = "nslip"
    kind: str | None = "INFORM"
    sender: str | None = "a"
    receiver: str | None = "b"
    conversation: str | None = "1"
    time: int | None = None
    length: int = 10
    raw: bytes = b"raw"
    subject: str | None = None


class Made:
    """The same as ``turnwire.report.records.Chunk``, from rows."""

    names = ()

    def __init__(self, rows: list[Row], first: int = 0) -> None:
        self.rows = rows
        self.batch = self
        self.first = first
        self.lengths = np.array([row.length for row in rows], np.int64)
        self.times = np.array([row.time or 0 for row in rows], np.int64)
        self.timed = np.array([row.time is not None for row in rows], bool)

    def __len__(self) -> int:
        return len(self.rows)

    def coded(self, name: str) -> Coded:
        return coded(getattr(row, name) for row in self.rows)

    @property
    def texts(self) -> dict[str, Texts]:
        names = ("conversation", "kind", "sender", "receiver", "subject")
        return {name: texts_of_codes(*self.coded(name)) for name in names}

    def place(self, row: int) -> tuple[int, str | None, int, int]:
        return self.first + row, "made.log", row + 1, 100 * row

    def raw(self, row: int) -> bytes:
        return self.rows[row].raw

    def raws(self) -> Iterator[bytes]:
        return (row.raw for row in self.rows)

    def message(self, row: int) -> Any:
        return self

    def to_dict(self) -> dict[str, Any]:
        return {"made": True}

    def sequence(self, row: int) -> str | None:
        return None


def shown(cube: Cube) -> SimpleNamespace:
    """The sums of a cube, cells as rows."""
    data = cube.shown()
    return SimpleNamespace(**{**data, **data["time"], "cells": list(zip(*data["cells"], strict=True))})


def chunks(rows: list[Row], size: int) -> list[Made]:
    """The rows in chunks of so many."""
    return [Made(rows[start : start + size], start) for start in range(0, len(rows), size)]
