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
from functools import partial
from hashlib import file_digest
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

from turnwire.atomic import AtomicFile, sweep, sync_directory
from turnwire.errors import UnknownName, needs
from turnwire.log.cluster_plan import BLOCK_BYTES, Block, planned, read_block
from turnwire.log.output import rejects
from turnwire.log.output.outputs import FileOutput, arrow, written
from turnwire.log.scanning import TALLIES, Counts

__all__ = ["Manifest", "dask_scan", "run_block"]

NAME = "manifest.ndjson"
_OURS = re.compile(r"\d{6,}-[0-9a-f]{32}\.parquet")
FOLDERS = {"output": "records", "quarantine": "rejects"}
"""The files of a block, and the folders of an output directory in which they are, of the same name in both."""
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
    places = [Path(out, folder, name) for folder in FOLDERS.values()]
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
        **{what: described(out, f"{folder}/{name}") for what, folder in FOLDERS.items()},
    }


def named(block: Block, index: int) -> dict[str, Any]:
    """The members of each row of the manifest: the part of which files a block is, its key and its position."""
    part = {"files": [one.name for one in block.files], "start": block.start, "stop": block.stop}
    return {"block": part, "key": block.key, "index": index}


def described(out: str | os.PathLike[str], name: str) -> dict[str, Any]:
    """A written file as the manifest describes it: its name below ``out``, its size and its SHA-256."""
    path = Path(out, name)
    with open(path, "rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
    return {"file": name, "size": path.stat().st_size, "sha256": digest}


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
            try:
                good = row["key"] == block.key and all(
                    described(self.out, row[what]["file"]) == row[what] for what in FOLDERS
                )
            except OSError:
                continue
            if good:
                kept = {**row, "index": index}
                for what, folder in FOLDERS.items():
                    name = f"{folder}/{file_name(index, block.key)}"
                    os.replace(self.out / row[what]["file"], self.out / name)
                    kept[what] = {**row[what], "file": name}
                return kept
        return None

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
        for what, folder in FOLDERS.items():
            if not (self.out / folder).is_dir():  # no block had anything to write
                continue
            kept = {path.name for path in self.paths(what)}
            sweep(self.out / folder)
            for path in (self.out / folder).glob("*.parquet"):
                if _OURS.fullmatch(path.name) and path.name not in kept:
                    path.unlink()


_DONE = {**dict.fromkeys(TALLIES, int), **dict.fromkeys(("wires", "reasons", *FOLDERS), dict)}


def _row(line: bytes, place: str) -> dict[str, Any]:
    """A row as its line has it. Raises ValueError."""
    try:
        row: dict[str, Any] = json.loads(line)
        needed = {"key": str, "state": str, "index": int, "block": dict, **(_DONE if row["state"] == "done" else {})}
        good = all(isinstance(row[name], kind) for name, kind in needed.items())
        good = good and all(row[what]["file"].count("/") == 1 for what in FOLDERS if what in needed)
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
    package = distributed()
    arrow()
    manifest = Manifest(os.path.abspath(out))
    todo = _todo(manifest, planned(paths, wire=wire, block_bytes=block_bytes, **options), resume)

    def ended(index: int, block: Block, row: Any) -> None:
        if isinstance(row, BaseException):
            dead = isinstance(row, package.scheduler.KilledWorker)
            text = f"{type(row).__name__}: {row}"
            text = "every worker that ran this block died, even when the block ran alone" if dead else text
            row = {**named(block, index), "state": "quarantined" if dead else "failed", "error": text}
        manifest.add(row)
        if progress is not None:
            progress(manifest)

    if (first := next(todo, None)) is not None:
        with _connected(client) as connected:
            submit = partial(connected.submit, run, pure=False, retries=RETRIES)
            killers: list[tuple[int, Block]] = []  # those that were there when workers died too often
            for index, block, row in _outcomes(connected, submit, manifest.out, chain([first], todo), patience):
                if isinstance(row, package.scheduler.KilledWorker):
                    killers.append((index, block))
                else:
                    ended(index, block, row)
            for one in sorted(killers, key=itemgetter(0)):
                for outcome in _outcomes(connected, submit, manifest.out, iter([one]), patience):
                    ended(*outcome)
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


def _outcomes(
    client: Any, submit: Callable[..., Any], out: Path, todo: Iterator[tuple[int, Block]], patience: float
) -> Iterator[tuple[int, Block, Any]]:
    """Runs blocks, a few for each thread at a time: each with the row of the manifest or the error that it gave, as
    they end. Raises TimeoutError when there has been nobody to run them for too long."""
    running: dict[Any, tuple[int, Block]] = {}
    seen = time.monotonic()
    try:
        while True:
            workers = client.scheduler_info(n_workers=-1)["workers"].values()
            threads = sum(worker["nthreads"] for worker in workers)
            now = time.monotonic()
            seen = now if threads else seen
            if now - seen > patience:
                raise TimeoutError(f"no Dask worker for {patience:g} s; continue later with resume")
            free = max(8, _AHEAD * threads) - len(running)
            running |= {submit(block, str(out), index): (index, block) for index, block in islice(todo, max(free, 0))}
            if not running:
                return
            with suppress(TimeoutError):  # none has ended, or the worker died that still held its row
                ended = distributed().wait([*running], timeout=_LOOK, return_when="FIRST_COMPLETED").done
                for future in ended:
                    row = future.exception() if future.status == "error" else future.result(timeout=_LOOK)
                    yield *running.pop(future), row
    except CancelledError:
        raise ConnectionError("the Dask scheduler lost the blocks; continue later with resume") from None
    finally:
        if running:
            client.cancel([*running])
