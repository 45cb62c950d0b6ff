"""One reading of a scan's sources. It knows nothing of the :class:`Scan` that began it, so that one that is dropped in
the middle ends at once: its threads hold on to this, and nothing here holds on to the iteration."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

from turnwire.contract import Column
from turnwire.errors import DecodeError, FileRefused
from turnwire.log.engine.all_wires import OPENS, Finder
from turnwire.log.engine.block_scanner import BlockResult, Engine
from turnwire.log.engine.collector import Collector
from turnwire.log.engine.ordered_pool import OrderedPool
from turnwire.log.input.bookmarks import Bookmarks, Gap
from turnwire.log.input.following import pieces
from turnwire.log.input.memory import Pool
from turnwire.log.input.reading import InputBlock, Stop, Stopped
from turnwire.log.input.sources import Idle, Reading, ReadOptions, sources
from turnwire.log.output.batch import Batch
from turnwire.progress import Progress

IN_FLIGHT = 128 << 20
"""Bytes of blocks and their columns that threads may work on at the same time, about."""
USUAL_RECORD = 32

Piece = tuple[Reading, InputBlock] | Idle
Tell = Callable[[int, "int | None", int, int], Any]


class Run:
    """``batches`` or ``steps`` reads the sources, once. ``collector`` keeps the tally, ``gaps`` what could not be had,
    ``refused`` the files that are no logs; ``stop`` ends the reading, from any thread."""

    def __init__(self, source: Any, finder: Finder, columns: tuple[Column, ...], options: dict[str, Any]) -> None:
        self.stop = Stop()
        self.gaps: list[Gap] = []
        self._raises: bool = options["errors"] == "raise"
        self._process = 0
        self._source = source
        self._threads: int = options["threads"]
        self._follow: bool = options["follow"]
        self._tell: Tell | bool | None = options["progress"]
        self.refused: list[OSError] = []
        self._warned = 0  # of so many of these
        bookmarks = Bookmarks(options["resume"])
        bookmarks.waits |= self._follow
        # As many blocks as are in flight, and those that the consumer has not let go of yet.
        kept = _most_in_flight(self._threads) + 2
        inputs = Pool(kept)
        self._engine = Engine(
            finder,
            columns,
            options["where"],
            first_error=options["errors"] == "raise",
            keep=options["keep"],
            limit=options["limits"].message,
            pools=(Pool(kept), Pool(kept)),
            fences=options["fences"],
        )
        self.collector = Collector(self._engine, columns, options["errors"], bookmarks, inputs, self._follow)
        self._job = ReadOptions(
            inputs,
            options["batch_bytes"],
            options["borrow"],
            options["limits"],
            self.stop,
            bookmarks,
            self._gap,
            self._refuse,
            OPENS,
        )

    def batches(self) -> Generator[Batch]:
        """The batches of all sources, in order."""
        with closing(self.steps()) as steps:
            for batch in steps:
                if batch is not None:
                    yield batch
                del batch

    def steps(self) -> Generator[Batch | None]:
        """The same, with a None behind each block, also where it gave no batch: the tally has moved on. A scan that
        follows gives a None as well whenever it found nothing new and waits for more."""
        if self.stop:
            return
        tell, clear = self._teller()
        try:
            for piece, found in self._scanned():
                taken = self.collector.again() if isinstance(piece, Idle) else self.collector.take(*piece, found)
                del piece, found
                for batch, error in taken:
                    tell()
                    if batch is not None:
                        yield batch
                        del batch
                    if error is not None:
                        raise error
                    if self.stop:
                        return
                tell()
                self._warn()
                yield None
            self._warn()
            if self._warned < len(self.refused):
                raise self.refused[0]  # there was nothing else
        except Stopped:
            return
        finally:
            self.stop.set()
            clear()

    def _gap(self, gap: Gap) -> None:
        """Keeps a gap. Raises DecodeError where errors are raised."""
        self.gaps.append(gap)
        if self._raises:
            raise DecodeError(gap.why, gap.text, offset=gap.start, path=gap.file)

    def _refuse(self, error: OSError) -> None:
        """Keeps the refusal of a file. Raises it where errors are raised."""
        if self._raises:
            raise error
        self.refused.append(error)

    def _warn(self) -> None:
        """Warns of the files that were refused, once something else was read."""
        if self.collector.bytes or self._job.bookmarks.waits:
            for error in self.refused[self._warned :]:
                self._warned += 1
                warnings.warn(FileRefused(error), stacklevel=2)

    def _pieces(self) -> Iterator[Piece]:
        return pieces(self._source, self._job, self._follow)

    def _scanned(self) -> Iterator[tuple[Piece, BlockResult | None]]:
        """Every block, in order, with what was found in it where another thread has scanned it already."""
        self._process = os.getpid()
        pieces = self._pieces()
        if self._threads == 1:
            for piece in pieces:
                yield piece, None
                del piece
                self._check_process()
            return
        # A block with the columns of its records, if they are of the usual length.
        size = self._job.batch_bytes * (1 + self._engine.row_bytes / USUAL_RECORD)
        most = max(2, min(_most_in_flight(self._threads), int(IN_FLIGHT / size)))
        pool = OrderedPool(pieces, self._work, self._threads, most, self.stop)
        for piece, found in pool:
            yield piece, found
            del piece, found
            self._check_process()

    def _check_process(self) -> None:
        """A fork has none of the threads, and shares with its parent how far files are read: the one would wait for
        ever, and both would miss what the other reads."""
        if os.getpid() != self._process:
            raise RuntimeError("this scan was begun in another process: begin a new one behind a fork")

    def _work(self, piece: Piece) -> BlockResult | None:
        if isinstance(piece, Idle) or piece[1].within:
            return None
        return self._engine.scan(piece[1], self.collector.final(*piece))

    def _teller(self) -> tuple[Callable[[], None], Callable[[], None]]:
        """Two functions: one reports how far the scan is, one clears the report at the end."""
        if not self._tell:
            return _nothing, _nothing
        total = self._total()
        bar = Progress(total) if self._tell is True else None
        told: Any = self._tell

        def tell() -> None:
            collector = self.collector
            if bar is not None:
                bar.update(collector.done, collector.records, len(collector.rejects))
            else:
                told(collector.done, total, collector.records, len(collector.rejects))

        return tell, _nothing if bar is None else bar.clear

    def _total(self) -> int | None:
        """Bytes of all inputs as they are stored, or None where that cannot be told."""
        if self._follow:
            return None
        sizes = [source.bytes() for source in sources(self._source)]
        return None if None in sizes else sum(size for size in sizes if size is not None)


def _most_in_flight(threads: int) -> int:
    """So many blocks are worked on or wait for the consumer: none of the threads has to wait for it."""
    return 1 if threads == 1 else 2 * threads + 1


def _nothing(*_: object) -> None:
    """Does nothing."""
