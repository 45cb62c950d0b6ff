"""Logs for any language: the records and rejects of each, with their places, reasons and times, however it is cut."""

from __future__ import annotations

from typing import Any

import pytest

from tests import vectors
from tests.log.found import add_up, everything, fed, in_pieces
from turnwire import LIMITS, WIRES, Decoder, scan

RECORD = ("offset", "length", "line", "inner", "time")
REJECT = ("wire", "offset", "length", "line", "reason", "fault", "inner")
CASES: dict[str, list[dict[str, Any]]] = {}
for one in vectors.load("logs"):
    CASES.setdefault(one["about"], []).append(one)


@pytest.mark.parametrize("about", CASES)
def test_what_is_found_in_a_log(about: str, scan_core: str) -> None:
    for number, case in enumerate(CASES[about]):
        data = bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()
        ways = [(1 << 20, 1), (7 if len(data) < 1000 else 300, 1), (40, 2 if number % 8 == 0 else 1)]
        ways += [(size, 1) for size in (*range(1, 30), *range(30, len(data), 3)) if "cuts" in case]
        for batch_bytes, threads in ways[:: 1 if scan_core == "native" or "cuts" in case else 2]:
            check(case, data, batch_bytes=batch_bytes, threads=threads)
        messages, errors = fed(Decoder(case.get("wire"), limits=limits_of(case)), in_pieces(data, 23))
        assert len(messages) == len(case["records"]), case["id"]
        found = [[str(error.reason), error.offset] for error in errors]
        assert found == [[reason, fault] for _, _, _, _, reason, fault, _ in case["rejects"]], case["id"]


def limits_of(case: dict[str, Any]) -> Any:
    return LIMITS._replace(message=case.get("limit", LIMITS.message))


def check(case: dict[str, Any], data: bytes, **options: Any) -> None:
    """Compares a scan with what the case says."""
    wire = case.get("wire")
    found = everything(scan(data, wire=wire, limits=limits_of(case), **options))
    columns, rejects, counts = found
    if "in_parts" not in case:  # else other text stands between the lines of a record, or it is written otherwise
        add_up(data, found, wire)
    assert counts.bytes == len(data) == counts.record_bytes + counts.reject_bytes + counts.text_bytes
    records = zip(columns["wire"], *(columns[name] for name in RECORD), strict=True)
    assert [[WIRES[code], *place] for code, *place in records] == case["records"], (case["id"], options)
    assert [[one[name] for name in REJECT] for one in rejects] == case["rejects"], (case["id"], options)
