"""Scans on many machines: runs the blocks of a plan on Dask, whatever happens to its workers. Each block writes its own
Parquet files, and a manifest records the outcomes: one JSON line a block, written as it ends.

:func:`dask_scan` needs the extra ``dask`` (pip install 'turnwire[dask]'); any engine can call :func:`run_block`.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from hashlib import file_digest
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any

from turnwire.atomic import AtomicFile, sweep, sync_directory
from turnwire.errors import UnknownName, needs
from turnwire.log.cluster_plan import BLOCK_BYTES, Block, planned, read_block
from turnwire.log.output import rejects
from turnwire.log.output.outputs import FileOutput, arrow, written
from turnwire.log.scanning import Counts

__all__ = ["Manifest", "dask_scan", "run_block"]

NAME = "manifest.ndjson"
_OURS = re.compile(r"\d{6,}-[0-9a-f]{32}\.parquet")
RECORDS, REJECTS = "records", "rejects"
"""The folders of an output directory: for each block a file of the same name in both."""
TALLIES = ("records", "rejects", "selected", "record_bytes", "reject_bytes", "text_bytes", "bytes")
"""The sums of ``scan.counts`` that a row of the manifest has."""
PATIENCE = 60.0
"""Seconds without any worker after which a run gives up."""

RETRIES = 2
"""How often a block is tried again after an error of the system, such as a server of files that did not answer."""

_LOOK = 1.0
_AHEAD = 4


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


# --- blocks on Dask ---------------------------------------------------------------------------------------------------


def dask_scan(
    paths: Any,
    client: Any = None,
    *,
    out: str | os.PathLike[str],
    wire: str | None = None,
    block_bytes: int = BLOCK_BYTES,
    resume: bool = False,
    patience: float = PATIENCE,
    progress: Callable[[Manifest], None] | None = None,
    run: Callable[..., dict[str, Any]] = run_block,
    **options: Any,
) -> Manifest:
    """Scans files on a Dask cluster: each block writes its own Parquet files, and the manifest records the outcome of
    each.

    Args:
        paths: those of :func:`turnwire.log.plan`; all workers must see them, and ``out``, under the same names.
        client: a ``distributed.Client``; by default the current one, or a temporary cluster on this machine.
        out: a directory, new or empty: ``records/``, ``rejects/`` and ``manifest.ndjson``.
        wire, block_bytes, options: those of :func:`turnwire.log.plan`; ``errors`` is "collect" or "skip".
        resume: continue in ``out`` of an earlier run: finished blocks with unchanged files are not run again; files of
            blocks that are no longer planned are removed.
        patience: seconds without a worker after which TimeoutError is raised.
        progress: called with the manifest after each block.
        run: replaces :func:`run_block`; called with block, out and index.

    If a worker dies, its blocks run again elsewhere. Blocks whose workers die too often run once more, each alone;
    one whose worker dies again is "quarantined" in the manifest. A block with an error is "failed"; the others
    continue. Neither raises an error: check ``manifest.complete``.

    Raises ValueError, OSError, TimeoutError and MissingDependency.
    """
    if options.get("errors") == "raise":
        text = 'on many machines, errors must be "collect" or "skip": blocks have no first fault to raise'
        raise UnknownName("errors", "raise", ("collect", "skip"), text)
    distributed()
    arrow()
    place = Path(os.path.abspath(out))
    blocks = planned(paths, wire=wire, block_bytes=block_bytes, **options)
    manifest = Manifest(place)
    todo = _todo(manifest, blocks, resume)
    if (first := next(todo, None)) is not None:
        with _connected(client) as connected:
            _Run(connected, manifest, patience, progress, run).all(chain([first], todo))
    manifest.finish()
    return manifest


def distributed() -> Any:
    """The package ``distributed``. Raises MissingDependency."""
    with needs("dask", "Dask is not installed"):
        import distributed as package
    return package


_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 128 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20}
"""The memory that glibc keeps of what a worker frees. Dask sets 64 KiB for the first and leaves the second at
128 KiB: each batch of columns then comes from the kernel anew, with eleven times the page faults."""
_QUIET = {"DASK_LOGGING__DISTRIBUTED": "critical"}
"""A worker that ends later than its scheduler would print a traceback. Why a block failed is told by whoever ran it."""


def local_cluster(workers: int | None = None) -> Any:
    """A Dask cluster of this machine for a ``with`` block: one process a core by default, reached from here only."""
    package = distributed()
    from dask import config

    surroundings: dict[str, Any] = {**_MEMORY, **_QUIET}
    settings = {f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in surroundings.items()}
    settings["distributed.worker.multiprocessing-method"] = "spawn"  # a fork would not read that environment
    # Dask looks 100 times a second what each thread does, for pages that this cluster does not show.
    settings["distributed.worker.profile.enabled"] = False
    with config.set(settings):
        return package.LocalCluster(
            n_workers=workers or os.cpu_count() or 1,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",  # Dask listens somewhere in any case: on a free port, without a word
            scheduler_kwargs={"dashboard": False},
        )


def _todo(manifest: Manifest, blocks: Iterator[Block], resume: bool) -> Iterator[tuple[int, Block]]:
    """The blocks that are not done yet, with their places, each as soon as it is planned; those that are go into the
    manifest."""
    manifest.out.mkdir(parents=True, exist_ok=True)
    if not resume and any(manifest.out.iterdir()):
        raise FileExistsError(17, "already exists and is not an empty directory", str(manifest.out))
    before = Manifest.read(manifest.out)
    for index, block in enumerate(blocks):
        row = before.still_good(block, index)
        if row is None:
            yield index, block
        else:
            manifest.add(row)


@contextmanager
def _connected(client: Any) -> Iterator[Any]:
    package = distributed()
    if client is None:
        try:
            client = package.default_client()
        except ValueError:  # there is none
            with local_cluster() as cluster, package.Client(cluster) as own:
                yield own
            return
    yield client


class _Run:
    """The blocks under way on one cluster."""

    def __init__(
        self,
        client: Any,
        manifest: Manifest,
        patience: float,
        progress: Callable[[Manifest], None] | None,
        run: Callable[..., dict[str, Any]],
    ) -> None:
        self._client = client
        self._manifest = manifest
        self._patience = patience
        self._progress = progress
        self._run = run
        self._name = token_hex(4)  # Dask remembers what a key gave: another run is another task
        self._killed = distributed().scheduler.KilledWorker
        self._seen = time.monotonic()

    def all(self, todo: Iterator[tuple[int, Block]]) -> None:
        """Runs all blocks, then those alone that were there when workers died."""
        for index, block in sorted(self._killers(todo), key=lambda suspect: suspect[0]):
            if self._killers(iter([(index, block)])):
                text = "every worker that ran this block died, even when the block ran alone"
                self._ended({**named(block, index), "state": "quarantined", "error": text})

    def _killers(self, todo: Iterator[tuple[int, Block]]) -> list[tuple[int, Block]]:
        """Runs blocks; returns those that were there when workers died too often."""
        running: dict[Any, tuple[int, Block]] = {}
        suspects: list[tuple[int, Block]] = []
        try:
            while True:
                free = max(8, _AHEAD * self._threads()) - len(running)
                running |= {self._submitted(*one): one for one in islice(todo, max(free, 0))}
                if not running:
                    return suspects
                for future, outcome in self._outcomes(list(running)):
                    index, block = running.pop(future)
                    if isinstance(outcome, self._killed):
                        suspects.append((index, block))
                    elif isinstance(outcome, dict):
                        self._ended(outcome)
                    else:
                        text = f"{type(outcome).__name__}: {outcome}"
                        self._ended({**named(block, index), "state": "failed", "error": text})
        finally:
            if running:
                self._client.cancel(list(running))

    def _submitted(self, index: int, block: Block) -> Any:
        key = f"turnwire-{self._name}-{index}-{token_hex(4)}"
        arguments = block, str(self._manifest.out), index
        return self._client.submit(self._run, *arguments, key=key, pure=False, retries=RETRIES)

    def _threads(self) -> int:
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        return sum(worker["nthreads"] for worker in workers.values())

    def _outcomes(self, running: list[Any]) -> Iterator[tuple[Any, dict[str, Any] | BaseException]]:
        """The rows or errors of some that have ended, if there are any within a second. Raises TimeoutError when there
        has been nobody to run them for too long."""
        try:
            ended = distributed().wait(running, timeout=_LOOK, return_when="FIRST_COMPLETED").done
        except TimeoutError:
            now = time.monotonic()
            self._seen = now if self._threads() else self._seen
            if now - self._seen > self._patience:
                raise TimeoutError(f"no Dask worker for {self._patience:g} s; continue later with resume") from None
            return
        except CancelledError:
            raise ConnectionError("the Dask scheduler lost the blocks; continue later with resume") from None
        for future in ended:
            self._seen = time.monotonic()
            if future.status == "error":
                yield future, future.exception()
            elif future.status == "finished":
                with suppress(TimeoutError):  # the worker died that still held the row: the block is run again
                    yield future, future.result(timeout=_LOOK)

    def _ended(self, row: dict[str, Any]) -> None:
        self._manifest.add(row)
        if self._progress is not None:
            self._progress(self._manifest)
