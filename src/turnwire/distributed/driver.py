"""Runs the blocks of a plan on Dask, whatever happens to its workers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from itertools import chain, islice
from pathlib import Path
from secrets import token_hex
from typing import Any

from turnwire.distributed.manifest import Manifest, named, run_block
from turnwire.errors import UnknownName, needs
from turnwire.log.cluster_plan import BLOCK_BYTES, Block, planned
from turnwire.log.output.writers import arrow

PATIENCE = 60.0
"""Seconds without any worker after which a run gives up."""

RETRIES = 2
"""How often a block is tried again after an error of the system, such as a server of files that did not answer."""

_LOOK = 1.0
_AHEAD = 4


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
