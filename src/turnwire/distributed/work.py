"""The work on one block. Nothing of Dask is needed here: any engine can call it."""

from __future__ import annotations

from hashlib import file_digest
from pathlib import Path
from typing import Any

from turnwire.log.cluster_plan import Block, read_block
from turnwire.log.output import rejects
from turnwire.log.output.outputs import FileOutput, written

RECORDS, REJECTS = "records", "rejects"
"""The folders of an output directory: for each block a file of the same name in both."""
TALLIES = ("records", "rejects", "selected", "record_bytes", "reject_bytes", "text_bytes", "bytes")
"""The sums of ``scan.counts`` that a row of the manifest has."""


def file_name(index: int, key: str) -> str:
    """The name of the files of a block: ordered as the blocks are, and another one for another block."""
    return f"{index:06d}-{key}.parquet"


def run_block(block: Block | dict[str, Any], out: str, index: int) -> dict[str, Any]:
    """Scans one block and writes its records and its rejects as two Parquet files below the directory ``out``.

    block: a block of :func:`turnwire.log.plan`, or its ``to_dict()``; index: its position in the plan. Each file is
    written completely or not at all, under a name that depends only on these two, so a block can safely run again.

    Returns the row of the manifest: block, key, index, state "done", the sums of ``scan.counts`` (of which ``selected``
    are written), wires, reasons, and output and quarantine, each with file (below ``out``), size and sha256. Raises the
    errors of the scan and the disk.
    """
    block = block if isinstance(block, Block) else Block.from_dict(block)
    key = block.key
    name = file_name(index, key)
    found = read_block(block)
    places = [Path(out, folder, name) for folder in (RECORDS, REJECTS)]
    for place in places:
        place.parent.mkdir(parents=True, exist_ok=True)
    for _ in written(found, FileOutput(places[0], found.columns, "parquet")):
        pass
    with FileOutput(places[1], rejects.COLUMNS, "parquet") as quarantine:
        if block.options.get("errors") != "skip":
            quarantine.take(found.rejects)
    counts = found.counts
    return {
        "block": block.to_dict(),
        "key": key,
        "index": index,
        "state": "done",
        **{name: getattr(counts, name) for name in TALLIES},
        "wires": counts.wires,
        "reasons": counts.reasons,
        "output": described(out, RECORDS, name),
        "quarantine": described(out, REJECTS, name),
    }


def described(out: str, folder: str, name: str) -> dict[str, Any]:
    """A written file as the manifest tells it: its name below ``out``, its size and its SHA-256."""
    path = Path(out, folder, name)
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {"file": f"{folder}/{name}", "size": path.stat().st_size, "sha256": digest}
