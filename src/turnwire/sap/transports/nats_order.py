"""The order in which a NATS worker takes tasks out of its queue: by priority, with ageing. Extra: ``nats``."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from typing import Any

from turnwire.errors import MissingDependency
from turnwire.sap.waiting import ALLOWANCE, cancel_and_wait

try:
    from nats.errors import Error as NatsError
except ImportError as missing:
    raise MissingDependency(
        "the queue needs nats-py: pip install 'turnwire[nats]', or '.[nats]' in a checkout"
    ) from missing

LATEST = 0.5
"""Seconds for which the others wait for a task that the server has in a source: another worker may be given it."""

_log = logging.getLogger("turnwire.sap")


class Source:
    """One of the subjects of a queue, whose tasks come as they were sent.

    Args:
        pulled: its pull subscription. priority: of its tasks.

    Attributes:
        head: the message that comes next, None while none is there. asked: when it was asked for one, in loop time.
        empty: whether the server said since then that it has none. looking: what asks the server that.
    """

    def __init__(self, pulled: Any, priority: str) -> None:
        self.pulled = pulled
        self.priority = priority
        self.head: Any = None
        self.asked = 0.0
        self.empty = False
        self.looking: asyncio.Task[None] | None = None
        self.taken = asyncio.Event()

    @property
    def rank(self) -> int:
        """The place of its head: its number in the stream, and how many later tasks may go before it."""
        number: int = self.head.metadata.sequence.stream
        return number + ALLOWANCE[self.priority]

    def take(self) -> Any:
        """The head, which is the caller's from now on."""
        message, self.head = self.head, None
        self.ask()
        self.taken.set()
        return message

    def ask(self) -> None:
        """Nothing is known of what comes next."""
        self.asked = asyncio.get_running_loop().time()
        self.empty = False
        self.end()

    def end(self) -> None:
        """Asks no more."""
        if self.looking is not None:
            self.looking.cancel()
        self.looking = None


class InOrder:
    """The tasks of a queue, whatever subject they came by: the head of each source is held, and the first one is next.

    One that was sent n tasks later goes first only if its allowance is n smaller, as with an agent's own line. While
    heads are held the server is told that they are alive.

    Args:
        sources: of the queue. ack_wait: seconds after which the server gives away a task it hears nothing of.
    """

    def __init__(self, sources: Sequence[Source], ack_wait: float) -> None:
        self._sources = sources
        self._ack_wait = ack_wait
        self._fetching: dict[asyncio.Task[None], Source] = {}
        self._closed = asyncio.Event()
        self._news = asyncio.Event()
        for source in sources:
            self._begin(source)

    def _begin(self, source: Source) -> None:
        """Fetches until this is closed, even if a handler of the agent cancels what it finds."""
        source.ask()
        fetching = asyncio.create_task(self._fetch(source))
        self._fetching[fetching] = source
        fetching.add_done_callback(self._ended)

    def _ended(self, fetching: asyncio.Task[None]) -> None:
        source = self._fetching.pop(fetching)
        if not self._closed.is_set():
            self._begin(source)

    def ask_again(self) -> None:
        """Asks each source anew that has given nothing: the server that was asked may have forgotten it."""
        for fetching, source in self._fetching.items():
            if source.head is None:
                fetching.cancel()

    async def next(self) -> Any:
        """The next message; waits for it."""
        while True:
            self._news.clear()
            first = min((source for source in self._sources if source.head is not None), key=_rank, default=None)
            if first is None:
                await self._news.wait()
                continue
            left = self._left()
            if left <= 0:
                return first.take()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._news.wait()

    def _left(self) -> float:
        """Seconds for which there may still come a head that is before those held; the server is asked about it."""
        latest = 0.0
        for source in self._sources:
            if source.head is None and not source.empty:
                source.looking = source.looking or asyncio.create_task(self._look(source))
                latest = max(latest, source.asked + LATEST)
        return latest - asyncio.get_running_loop().time()

    async def _look(self, source: Source) -> None:
        """Notes a source in which the server has nothing. It answers behind what it had to give when it was asked."""
        try:
            source.empty = not (await source.pulled.consumer_info()).num_pending
        except (NatsError, TimeoutError):
            source.empty = True
        self._news.set()

    async def _fetch(self, source: Source) -> None:
        while not self._closed.is_set():
            if source.head is None:
                try:
                    (message,) = await source.pulled.fetch(1, timeout=5)
                except TimeoutError:
                    continue
                except Exception:
                    if self._closed.is_set():  # nats-py tells a cancellation so where the connection is closed
                        return
                    _log.exception("the queue gives no tasks for now")  # the client connects again by itself
                    await asyncio.sleep(0.5)
                    continue
                source.taken.clear()
                source.head = message
                self._news.set()
            await self._hold(source)

    async def _hold(self, source: Source) -> None:
        """Keeps the head until somebody takes it."""
        while source.head is not None and not self._closed.is_set():
            try:
                async with asyncio.timeout(self._ack_wait / 3):
                    await source.taken.wait()
            except TimeoutError:
                if source.head is not None:
                    with contextlib.suppress(NatsError):
                        await source.head.in_progress()

    async def close(self) -> None:
        """Ends the fetching and gives back what is held: another worker may have it at once."""
        self._closed.set()
        await cancel_and_wait(self._fetching)
        for source in self._sources:
            source.end()
            if source.head is not None:
                with contextlib.suppress(NatsError):
                    await source.take().nak()


def _rank(source: Source) -> int:
    return source.rank
