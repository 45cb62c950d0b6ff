"""Digests of what ten scans find, to compare processors: ``python -m tests.digests`` prints a line for each.

Each is over all columns of all records, all rejects with their bytes, and the tally, as JSON.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import turnwire
from turnwire.log.output.json_lines import slices

ROOT = Path(__file__).parent.parent
SCANS: tuple[tuple[str, str | None], ...] = (
    ("examples/data/nslip_upstream.txt", "nslip"),
    ("examples/data/nslip_upstream.txt", None),
    ("examples/data/csp_state.log", "csp"),
    ("examples/data/damaged.log", None),
    ("tests/vectors/nslip.jsonl", None),
    ("tests/vectors/csp.jsonl", None),
    ("tests/vectors/sstp.jsonl", None),
    ("tests/vectors/sstp.jsonl", "sstp"),
    ("tests/vectors/sap.jsonl", None),
    ("tests/vectors/kick.jsonl", None),
)
"""A file, and the wire by which it is read; None: all of them."""


def digest(path: str, wire: str | None) -> tuple[str, int, int]:
    """The digest of a scan, how many records it has, and how many rejects."""
    scan = turnwire.scan(str(ROOT / path), wire=wire)
    records = [row for batch in scan for values in slices(batch) for row in zip(*values, strict=True)]
    rejects = scan.rejects.rows()
    told = json.dumps([records, rejects, scan.counts], default=str, sort_keys=True).replace(str(ROOT), "")
    return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest(), len(records), len(rejects)


if __name__ == "__main__":
    for path, wire in SCANS:
        found, records, rejects = digest(path, wire)
        print(f"{found}  {path} ({wire or 'all wires'}): {records:,} records, {rejects:,} rejects")
