"""Several threads for one stream of work: items are taken in order, worked on side by side, and come back in order."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from turnwire.log.input.reading import Stop, Stopped

Item = TypeVar("Item")
Result = TypeVar("Result")

_PATIENCE = 1.0
"""Seconds that closing waits for a thread: one that waits for a file of the caller's cannot be woken."""


class _Slot(Generic[Item, Result]):
    def __init__(self, item: Item | None) -> None:
        self.item = item
        self.result: Result | None = None
        self.error: BaseException | None = None
        self.done = threading.Event()


class OrderedPool(Generic[Item, Result]):
    """Iterates ``(item, work(item))`` for the items of an iterator, in order.

    The threads take turns at the iterator, so it is run by one at a time and needs no lock of its own. At most ``most``
    items are taken and not yet released by the consumer. What the iterator or the work raises comes out at its place
    in the order. ``close`` ends the threads; a thread that is in the middle of an item finishes it first.
    """

    def __init__(
        self, items: Iterator[Item], work: Callable[[Item], Result], threads: int, most: int, stop: Stop
    ) -> None:
        self._items = items
        self._work = work
        self._stop = stop
        self._reading = threading.Lock()
        self._room = threading.Semaphore(most)
        self._slots: queue.SimpleQueue[_Slot[Item, Result]] = queue.SimpleQueue()
        self._over = False
        self._process = os.getpid()
        self._threads = [threading.Thread(target=self._run, name="turnwire-scan", daemon=True) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def __iter__(self) -> Iterator[tuple[Item, Result]]:
        try:
            while True:
                slot = self._slots.get()
                slot.done.wait()
                if slot.error is not None:
                    raise slot.error
                if slot.item is None:
                    return
                yield slot.item, slot.result  # type: ignore[misc]
                del slot
                self._room.release()
        finally:
            self.close()

    def _run(self) -> None:
        while (slot := self._next()) is not None:
            assert slot.item is not None
            try:
                slot.result = self._work(slot.item)
            except BaseException as error:
                slot.error = error
            slot.done.set()
            del slot

    def _next(self) -> _Slot[Item, Result] | None:
        """Takes the next item; None when there is none, or none is wanted any more."""
        with self._reading:
            self._room.acquire()
            if self._over or self._stop:
                self._finish(None)
                return None
            try:
                slot: _Slot[Item, Result] = _Slot(next(self._items))
            except (StopIteration, Stopped):
                self._finish(None)
                return None
            except BaseException as error:
                self._finish(error)
                return None
            self._slots.put(slot)
            return slot

    def _finish(self, error: BaseException | None) -> None:
        """The last slot of all; every thread ends."""
        if not self._over:
            self._over = True
            last: _Slot[Item, Result] = _Slot(None)
            last.error = error
            last.done.set()
            self._slots.put(last)
        self._room.release()
        close: Any = getattr(self._items, "close", None)
        if close is not None:
            close()

    def close(self) -> None:
        """Ends the threads, and with the last of them the iterator. In a forked process there is nothing to end, and
        the locks may be held by threads that are not there."""
        if os.getpid() != self._process:
            return
        self._stop.set()
        for _ in self._threads:
            self._room.release()
        for thread in self._threads:
            thread.join(_PATIENCE)
