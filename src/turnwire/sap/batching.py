"""A ledger reached from an event loop: what is asked for at the same time shares one thread hop and one commit."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from turnwire.errors import Reason, RuleError

if TYPE_CHECKING:
    from turnwire.ledger import Ledger

Row = tuple[str, str, str]
"""kind, body, key."""

ATTEMPTS = 100
"""How often others may write between a look and its rows before that is given up."""

Prepare = Callable[[], tuple[list[Row], Any]]
"""Looks at the ledger: the rows that are to be appended, and the answer that holds then; None: it is to be read."""


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
        """Appends the rows that ``prepare`` asks for and answers with what it said beside them.

        ``read`` looks for the answer when the rows are written, where ``prepare`` could not tell it, or somebody else
        wrote under the same key in the same commit.
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
        """Prepares all, appends their rows in one commit, then reads where it must: each its answer, or its error.

        What was looked at still holds when the rows are written: where somebody else has written meanwhile, all is
        looked at again.
        """
        failed: Exception | None = None
        for _ in range(ATTEMPTS):
            last = len(self.ledger)
            answers = [_tried(prepare) for prepare, _ in wanted]
            rows = {number: answer[0] for number, (answer, error) in enumerate(answers) if error is None and answer[0]}
            failed = None
            if not rows:
                break
            try:
                self.ledger.append_many([row for some in rows.values() for row in some], expect=last)
                break
            except Exception as error:
                failed = error
                if not isinstance(error, RuleError) or error.reason is not Reason.APPEND_CONFLICT:
                    break
        made = [(None if error is not None else answer[1], error) for answer, error in answers]
        written = Counter(row[2] for some in rows.values() for row in some)
        for number, some in rows.items():
            read = wanted[number][1]
            if failed is not None:
                made[number] = (None, failed)
            elif read is not None and (made[number][0] is None or any(written[row[2]] > 1 for row in some)):
                made[number] = _tried(read)
        return made


def _tried(read: Callable[[], Any]) -> tuple[Any, Exception | None]:
    try:
        return read(), None
    except Exception as error:
        return None, error
