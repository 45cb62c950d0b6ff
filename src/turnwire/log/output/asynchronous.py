"""A blocking iterator for ``async for``: its steps run in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")


async def in_a_thread(items: Iterator[Item], close: Callable[[], None]) -> AsyncIterator[Item]:
    """The items, each made when it is asked for. Whoever stops asking, or is cancelled, ends the iterator: ``close``
    tells it to, and the step under way is waited for."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1, "turnwire-async") as thread:
        try:
            while True:
                step = loop.run_in_executor(thread, next, items, None)
                try:
                    item = await asyncio.shield(step)
                except asyncio.CancelledError:
                    close()
                    await asyncio.wait([step])
                    step.exception()
                    raise
                if item is None:
                    return
                yield item
        finally:
            close()
