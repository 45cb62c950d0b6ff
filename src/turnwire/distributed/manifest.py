"""The work on each block of a distributed scan, and the manifest of its outcomes: one JSON line a block, written as it
ends. Nothing of Dask is needed here: any engine can call it."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from hashlib import file_digest
from pathlib import Path
from typing import Any

from turnwire.atomic import AtomicFile, sweep, sync_directory
from turnwire.log.cluster_plan import Block, read_block
from turnwire.log.output import rejects
from turnwire.log.output.outputs import FileOutput, written
from turnwire.log.scanning import Counts

NAME = "manifest.ndjson"
_OURS = re.compile(r"\d{6,}-[0-9a-f]{32}\.parquet")
RECORDS, REJECTS = "records", "rejects"
"""The folders of an output directory: for each block a file of the same name in both."""
TALLIES = ("records", "rejects", "selected", "record_bytes", "reject_bytes", "text_bytes", "bytes")
"""The sums of ``scan.counts`` that a row of the manifest has."""


def file_name(index: int, key: str) -> str:
    """The name of the files of a block: ordered as the blocks are, and another one for another block."""
    return f"{index:06d}-{key}.parquet"


def run_block(block: Block, out: str, index: int) -> dict[str, Any]:
    """Scans one block and writes its records and its rejects as two Parquet files below the directory ``out``.

    block: a block of :func:`turnwire.log.plan`; index: its position in the plan. Each file is
    written completely or not at all, under a name that depends only on these two, so a block can safely run again.

    Returns the row of the manifest: block, key, index, state "done", the sums of ``scan.counts`` (of which ``selected``
    are written), wires, reasons, and output and quarantine, each with file (below ``out``), size and sha256. Raises the
    errors of the scan and the disk.
    """
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
        **named(block, index),
        "state": "done",
        **{name: getattr(counts, name) for name in TALLIES},
        "wires": counts.wires,
        "reasons": counts.reasons,
        "output": described(out, RECORDS, name),
        "quarantine": described(out, REJECTS, name),
    }


def named(block: Block, index: int) -> dict[str, Any]:
    """The members of each row of the manifest: the part of which files a block is, its key and its position."""
    part = {"files": [one.name for one in block.files], "start": block.start, "stop": block.stop}
    return {"block": part, "key": block.key, "index": index}


def described(out: str, folder: str, name: str) -> dict[str, Any]:
    """A written file as the manifest describes it: its name below ``out``, its size and its SHA-256."""
    path = Path(out, folder, name)
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {"file": f"{folder}/{name}", "size": path.stat().st_size, "sha256": digest}


class Manifest:
    """The rows of a distributed scan in block order, as returned by :func:`turnwire.distributed.run_block`.

    ``state`` of a row is "done", "failed" (``error`` says why) or "quarantined" (each worker that tried it died).
    ``first_record`` is the number of the block's first record in the whole scan, if all blocks before it are done.
    """

    def __init__(self, out: str | os.PathLike[str], rows: list[dict[str, Any]] | None = None) -> None:
        self.out = Path(out)
        self.rows = rows or []

    def __repr__(self) -> str:
        states = Counter(row["state"] for row in self.rows)
        return f"<Manifest of {len(self.rows)} blocks: {', '.join(f'{n} {state}' for state, n in states.items())}>"

    @property
    def path(self) -> Path:
        """Its path."""
        return self.out / NAME

    @classmethod
    def read(cls, out: str | os.PathLike[str]) -> Manifest:
        """Reads the manifest of an output directory (or a manifest file) as far as it was written; empty if there is
        none. Raises ValueError if a line is not a row of a manifest."""
        place = Path(out)
        path = place if place.name == NAME else place / NAME
        rows: dict[str, dict[str, Any]] = {}
        if path.exists():
            lines = path.read_bytes().split(b"\n")[:-1]  # a last line without its end was cut off
            for number, line in enumerate(lines, 1):
                row = _row(line, f"{path}:{number}")
                rows[row["key"]] = row
        return cls(path.parent, list(rows.values()))

    def of_state(self, state: str) -> list[dict[str, Any]]:
        """Returns the rows with this state."""
        return [row for row in self.rows if row["state"] == state]

    @property
    def complete(self) -> bool:
        """True if every block is done."""
        return all(row["state"] == "done" for row in self.rows)

    @property
    def counts(self) -> Counts:
        """The sums over all finished blocks, like ``scan.counts`` of one scan."""
        wires, reasons, sums = Counter[str](), Counter[str](), Counter[str]()
        for row in self.of_state("done"):
            wires.update(row["wires"])
            reasons.update(row["reasons"])
            sums.update({name: row[name] for name in TALLIES})
        return Counts(**{name: sums[name] for name in TALLIES}, wires=dict(wires), reasons=dict(reasons))

    def paths(self, what: str = "output") -> list[Path]:
        """Returns the Parquet files of the records ("output") or of the rejects ("quarantine"), in order."""
        return [self.out / row[what]["file"] for row in self.of_state("done")]

    def add(self, row: dict[str, Any]) -> None:
        """Appends a row to the file immediately, so that an interrupted run can continue. Raises an OSError that names
        the file."""
        self.rows.append(row)
        fresh = not self.path.exists()
        try:
            with open(self.path, "ab") as file:
                file.write(_line(row))
                file.flush()
                os.fsync(file.fileno())
            if fresh:
                sync_directory(self.out)
        except OSError as error:
            if error.filename is None:  # of a file that is open
                error.filename = str(self.path)
            raise

    def still_good(self, block: Block, index: int) -> dict[str, Any] | None:
        """Returns the row of a finished block if its files still match it byte for byte, and renames them for
        ``index``."""
        for row in self.of_state("done"):
            if row["key"] == block.key and self._verified(row):
                return self._renamed(row, file_name(index, block.key), index)
        return None

    def _verified(self, row: dict[str, Any]) -> bool:
        files = (row[what] for what in ("output", "quarantine"))
        try:
            return all(described(str(self.out), *file["file"].split("/")) == file for file in files)
        except OSError:
            return False

    def _renamed(self, row: dict[str, Any], name: str, index: int) -> dict[str, Any]:
        row = {**row, "index": index}
        for what, folder in (("output", RECORDS), ("quarantine", REJECTS)):
            os.replace(self.out / row[what]["file"], self.out / folder / name)
            row[what] = {**row[what], "file": f"{folder}/{name}"}
        return row

    def finish(self) -> None:
        """Rewrites all rows in order, with ``first_record``, and removes files of blocks outside the plan and partial
        files of killed workers."""
        self.rows.sort(key=lambda row: row["index"])
        first: int | None = 0
        for row in self.rows:
            row["first_record"] = first
            first = None if first is None or row["state"] != "done" else first + row["records"]
        with AtomicFile(self.path) as file:
            for row in self.rows:
                file.write(_line(row))
        for folder, what in ((RECORDS, "output"), (REJECTS, "quarantine")):
            if not (self.out / folder).is_dir():  # no block had anything to write
                continue
            kept = {path.name for path in self.paths(what)}
            sweep(self.out / folder)
            for path in (self.out / folder).glob("*.parquet"):
                if _OURS.fullmatch(path.name) and path.name not in kept:
                    path.unlink()


_DONE = {**dict.fromkeys(TALLIES, int), "wires": dict, "reasons": dict, "output": dict, "quarantine": dict}


def _row(line: bytes, place: str) -> dict[str, Any]:
    """A row as its line has it. Raises ValueError."""
    try:
        row: dict[str, Any] = json.loads(line)
        needed = {"key": str, "state": str, "index": int, "block": dict, **(_DONE if row["state"] == "done" else {})}
        good = all(isinstance(row[name], kind) for name, kind in needed.items())
        files = [row[name]["file"] for name in ("output", "quarantine") if name in needed]
        good = good and all(file.count("/") == 1 for file in files)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        good = False
    if not good:
        raise ValueError(f"{place}: this is not a row of a manifest")
    return row


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row, separators=(",", ":")).encode() + b"\n"
