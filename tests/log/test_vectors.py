"""Logs for any language: the records and rejects of each, with their places, reasons and times, however it is cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests import vectors
from tests.log.found import add_up, everything, fed, in_pieces
from turnwire import LIMITS, WIRES, Decoder, scan

PLACES = ("offset", "length", "line", "inner", "time")
CASES = vectors.load("logs")


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_what_is_found_in_a_log(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
    limits, wire = LIMITS._replace(message=case.get("limit", LIMITS.message)), case.get("wire")
    ways = [(1 << 20, 1), (7 if len(data) < 1000 else 300, 1), (40, 2)]
    ways += [(size, 1) for size in (*range(1, 30), *range(30, len(data), 3)) if "cuts" in case]
    for batch_bytes, threads in ways:
        found = everything(scan(data, wire=wire, limits=limits, batch_bytes=batch_bytes, threads=threads))
        columns, rejects, counts = found
        if "in_parts" not in case:  # else other text stands between the lines of a record, or it is written otherwise
            add_up(data, found, wire)
        assert counts.bytes == len(data) == counts.record_bytes + counts.reject_bytes + counts.text_bytes
        records = zip(columns["wire"], *(columns[name] for name in PLACES), strict=True)
        assert [[WIRES[code], *place] for code, *place in records] == case["records"]
        names = ("wire", "offset", "length", "line", "reason", "fault", "inner")
        assert [[one[name] for name in names] for one in rejects] == case["rejects"]
    messages, errors = fed(Decoder(wire, limits=limits), in_pieces(data, 23))
    assert len(messages) == len(case["records"])
    assert [[str(error.reason), error.offset] for error in errors] == [
        [reason, fault] for _, _, _, _, reason, fault, _ in case["rejects"]
    ]
