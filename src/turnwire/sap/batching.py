"""A ledger reached from an event loop: what is asked for at the same time shares one thread hop and one commit."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from turnwire.ledger import Ledger

Row = tuple[str, str, str]
"""kind, body, key."""

Prepare = Callable[[], tuple[list[Row], Any]]
"""Looks at the ledger: which rows are to be appended, and the answer where there are none, or nothing is read then."""


class Batching:
    """Reads and appends in one thread, in batches.

    Args:
        ledger: where the rows go; it stays open when this is closed.
    """

    def __init__(self, ledger: Ledger) -> None:
        self.ledger = ledger
        self._thread = ThreadPoolExecutor(1, "sap-ledger")
        self._waiting: list[tuple[Prepare, Callable[[], Any] | None, asyncio.Future[Any]]] = []
        self._flushing: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Ends the thread, when what is waiting has been written."""
        self._thread.shutdown(wait=False)

    async def do(self, prepare: Prepare, read: Callable[[], Any] | None = None) -> Any:
        """Appends the rows that ``prepare`` asks for and answers with what ``read`` finds then.

        Where there are no rows, or nothing is to be read, it answers with what ``prepare`` said beside them.
        """
        done: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append((prepare, read, done))
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return await done

    async def _flush(self) -> None:
        loop = asyncio.get_running_loop()
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            answers: list[tuple[Any, Exception | None]]
            try:
                wanted = [entry[:2] for entry in waiting]
                answers = await loop.run_in_executor(self._thread, self._write, wanted)
            except asyncio.CancelledError:  # the loop ends
                for _, _, done in waiting:
                    done.cancel()
                raise
            except Exception as error:  # the thread is gone: the transcript was closed
                answers = [(None, error)] * len(waiting)
            for (_, _, done), (value, failure) in zip(waiting, answers, strict=True):
                if done.done():  # whoever asked has gone
                    continue
                if failure is None:
                    done.set_result(value)
                else:
                    done.set_exception(failure)

    def _write(self, wanted: list[tuple[Prepare, Callable[[], Any] | None]]) -> list[tuple[Any, Exception | None]]:
        """Prepares all, appends their rows in one commit, then reads for them: each its answer, or its error."""
        answers: list[tuple[Any, Exception | None]] = []
        rows: list[Row] = []
        writers: list[int] = []
        for number, (prepare, _) in enumerate(wanted):
            try:
                some, answer = prepare()
            except Exception as error:
                answers.append((None, error))
                continue
            answers.append((answer, None))
            if some:
                rows += some
                writers.append(number)
        failed: Exception | None = None
        if rows:
            try:
                self.ledger.append_many(rows)
            except Exception as error:
                failed = error
        for number in writers:
            read = wanted[number][1]
            if failed is not None:
                answers[number] = (None, failed)
            elif read is not None:
                answers[number] = _tried(read)
        return answers


def _tried(read: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return read(), None
    except Exception as error:
        return None, error
