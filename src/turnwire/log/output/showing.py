"""The HTML that notebooks show of a scan, a batch and the quarantine. Nothing is read for it."""

from __future__ import annotations

import os
from itertools import islice
from typing import TYPE_CHECKING, Any

from turnwire.log.input.sources import place_in_storage
from turnwire.phrases import counted
from turnwire.showing import fields, table

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch
    from turnwire.log.output.rejects import Rejects
    from turnwire.log.scanning import Scan

MOST = 10
"""Rows of a batch, and of the quarantine."""
_SOURCES = 5


def scan_html(scan: Scan, source: Any, wire: str | None, begun: bool) -> str:
    """The description of a scan, and what its last run has met so far."""
    rows: list[tuple[str, object]] = [
        ("source", told(source)),
        ("wire", wire or "all"),
        ("columns", ", ".join(column.name for column in scan.columns)),
    ]
    if begun:
        counts = scan.counts
        rows += [
            ("records", ", ".join(f"{name} {count:,}" for name, count in counts.wires.items() if count) or "0"),
            ("selected", f"{counts.selected:,}"),
            ("rejects", ", ".join(f"{name} {count:,}" for name, count in sorted(counts.reasons.items())) or "0"),
            ("bytes", f"{counts.bytes:,}"),
            (
                "bytes of",
                f"records {counts.record_bytes:,}, rejects {counts.reject_bytes:,}, text {counts.text_bytes:,}",
            ),
        ]
    return fields("Scan" if begun else "Scan, not read yet", rows)


def told(source: Any) -> str:
    """A source in words: names of paths, and what else it is."""
    if isinstance(source, (list, tuple)):
        more = len(source) - _SOURCES
        return ", ".join([*map(told, source[:_SOURCES]), *([f"{more} more"] if more > 0 else [])]) or "nothing"
    place = place_in_storage(source)
    if place is not None:
        return place[1] if place[0] is None else str(place[0].unstrip_protocol(place[1]))
    if isinstance(source, (str, os.PathLike)):
        return os.fsdecode(source)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return counted(memoryview(source).nbytes, "byte")
    name = getattr(source, "name", None)
    return name if isinstance(name, str) else type(source).__name__


def batch_html(batch: Batch) -> str:
    """The first rows of a batch."""
    from turnwire.log.output.json_lines import slices

    rows = [row for part in slices(batch, MOST) for row in zip(*part, strict=True)]
    more = "" if len(rows) == len(batch) else f", the first {len(rows)}"
    return table(f"Batch of {counted(len(batch), 'record')}{more}", batch.names, rows)


def rejects_html(rejects: Rejects) -> str:
    """The first damaged ranges, and how many there are of each reason."""
    reasons = ", ".join(f"{name} {count:,}" for name, count in sorted(rejects.counts.items()))
    rows = [
        [row[name].decode("utf-8", "backslashreplace") if name == "raw" else row[name] for name in rejects.names]
        for row in islice(rejects.since(0), MOST)
    ]
    more = "" if len(rows) == len(rejects) else f", {len(rows)} of them here"
    return table(f"Rejects: {len(rejects):,}{more}{f' ({reasons})' if reasons else ''}", rejects.names, rows)
