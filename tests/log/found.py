"""Columns of a batch as plain values of Python."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from turnwire import WIRES, DecodeError, Decoder, Scan
from turnwire.log import Batch


def plain_values(batch: Batch, name: str) -> list[Any]:
    """The values of a column, one for each row; None where there is none."""
    column = batch.column(name)
    found = batch.values(column)
    values = found.tolist() if isinstance(found, np.ndarray) else list(found)
    if batch.validity_of(column) is None:
        return values
    valid = batch.valid(name).tolist()
    return values if all(valid) else [one if good else None for one, good in zip(values, valid, strict=True)]


def everything(found: Scan) -> tuple[dict[str, list[Any]], list[dict[str, Any]], Any]:
    columns: dict[str, list[Any]] = {column.name: [] for column in found.columns}
    columns["raw"] = []
    for batch in found:
        for column in batch.columns:
            columns[column.name] += plain_values(batch, column.name)
        columns["raw"] += batch.raws()
    return columns, found.rejects.rows(), found.counts


def add_up(data: bytes, found: Any, wire: str | None = None) -> None:
    """Every byte belongs to one record, reject or text; counts are those of what is there. wire: the one that was asked
    for."""
    columns, rejects, counts = found
    spans = [
        (offset, length)
        for offset, length, inner in zip(columns["offset"], columns["length"], columns["inner"], strict=True)
        if inner is None
    ]
    spans += [(one["offset"], one["length"]) for one in rejects]
    end = 0
    for offset, length in sorted(spans):
        assert offset >= end
        assert length > 0
        end = offset + length
    assert end <= len(data)
    assert counts.bytes == len(data) == counts.record_bytes + counts.reject_bytes + counts.text_bytes
    assert (counts.record_bytes, counts.reject_bytes) == (sum(columns["length"]), sum(one["length"] for one in rejects))
    assert (counts.records, counts.rejects) == (len(columns["length"]), len(rejects))
    assert counts.text_bytes >= 0
    by_wire = {name: columns["wire"].count(code) for code, name in enumerate(WIRES)}
    assert counts.wires == (by_wire if wire is None else {wire: by_wire[wire]})
    assert sum(counts.reasons.values()) == len(rejects)
    assert columns["offset"] == sorted(columns["offset"])
    for one in rejects:
        assert one["raw"] == data[one["offset"] : one["offset"] + one["length"]]
        assert one["wire"] in (WIRES if wire is None else (wire,))
        assert one["line"] == 1 + data.count(b"\n", 0, one["offset"])
    for offset, line, inner in zip(columns["offset"], columns["line"], columns["inner"], strict=True):
        assert inner is not None or line == 1 + data.count(b"\n", 0, offset)


def rows_of(batches: Iterator[Any]) -> list[dict[str, Any]]:
    """The rows of some batches as plain values."""
    rows: list[dict[str, Any]] = []
    for batch in batches:
        names = [column.name for column in batch.columns]
        columns = [plain_values(batch, name) for name in names]
        raws = batch.raws()
        rows += [{**dict(zip(names, values, strict=True)), "raw": next(raws)} for values in zip(*columns, strict=True)]
    return rows


def counted(*scans: Scan) -> dict[str, Any]:
    """The counts of scans that followed each other, as one."""
    total: dict[str, Any] = {}
    for found in scans:
        for name in ("bytes", "record_bytes", "reject_bytes", "text_bytes", "records", "rejects"):
            total[name] = total.get(name, 0) + getattr(found.counts, name)
        for name in ("wires", "reasons"):
            for key, number in getattr(found.counts, name).items():
                total[f"{name} {key}"] = total.get(f"{name} {key}", 0) + number
    return {name: number for name, number in total.items() if number}


def in_pieces(data: bytes, size: int) -> list[bytes]:
    """The data in pieces of this size."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def fed(decoder: Decoder, pieces: Iterable[bytes]) -> tuple[list[Any], list[DecodeError]]:
    """The messages and the errors that a decoder gives for the pieces of an input and at its end."""
    messages: list[Any] = []
    errors: list[DecodeError] = []
    for given in (*pieces, None):
        piece = given
        while True:
            try:
                messages += decoder.close() if piece is None else decoder.feed(piece)
                break
            except DecodeError as error:
                errors.append(error)
                piece = None if piece is None else b""
    return messages, errors
