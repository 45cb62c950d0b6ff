"""Progress of a long scan on standard error, only where that is a terminal and only when it takes a while."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from turnwire.phrases import counted

PATIENCE = 0.5
INTERVAL = 0.1
CLEAR_LINE = "\r\x1b[K"
SHOW_CURSOR = "\x1b[?25h"

_bars: list[Any] = []
"""Bars of rich that have hidden the cursor, and not shown it again."""


def amount(count: float) -> str:
    """Bytes for people: 1,234 B, 5.3 MB."""
    if count < 10_000:
        return f"{count:,.0f} B"
    for unit in ("kB", "MB", "GB"):
        count /= 1000
        if count < 1000:
            return f"{count:.1f} {unit}"
    return f"{count / 1000:,.1f} TB"


class Progress:
    """Shows bytes and records while a scan goes on: ``update`` as often as you like, ``clear`` before other output."""

    def __init__(self, total: int | None, wanted: bool = True) -> None:
        terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._wanted = wanted and terminal
        self._total = total
        self._started = time.monotonic()
        self._next = self._started + PATIENCE
        self._drawn = False
        self._bar: Any = None

    def update(self, done: int, records: int, rejects: int = 0) -> None:
        """So many bytes and records are done, and so many damaged records were met."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + INTERVAL
        if self._bar is None:
            self._bar = _rich_bar(self._total) or False
        if self._bar:
            if self._bar not in _bars:
                _bars.append(self._bar)
                self._bar.start()
            self._bar.update(self._bar.task_ids[0], completed=done, records=_met(records, rejects), refresh=True)
        else:
            self._draw(done, _met(records, rejects), now)
        self._drawn = True

    def of_scan(self, done: int, _: Any, records: int, rejects: int) -> None:
        """The same as a scan tells it (``turnwire.scan(progress=)``)."""
        self.update(done, records, rejects)

    def _draw(self, done: int, met: str, now: float) -> None:
        share = f" of {amount(self._total)} ({done / self._total:.0%})" if self._total else ""
        rate = done / max(now - self._started, 1e-9)
        left = f", {max(self._total - done, 0) / rate:,.0f} s left" if self._total and rate else ""
        _tell(f"{CLEAR_LINE}{amount(done)}{share}, {met}, {amount(rate)}/s{left}")

    def clear(self) -> None:
        """Takes the line away."""
        if not self._drawn:
            return
        if self._bar:
            self._bar.stop()
            _bars.remove(self._bar)
        else:
            _tell(CLEAR_LINE)
        self._drawn = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.clear()


def _met(records: int, rejects: int) -> str:
    return counted(records, "record") + (f", {counted(rejects, 'reject')}" if rejects else "")


def restore_cursor() -> None:
    """Shows the cursor where a bar that was interrupted left it hidden: that may come within the clearing itself.
    For the end of a program; no bar is drawn after it."""
    if _bars:
        _bars.clear()
        _tell(CLEAR_LINE + SHOW_CURSOR)


def _tell(text: str) -> None:
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def _rich_bar(total: int | None) -> Any:
    """A progress bar of rich, or None where it is not installed."""
    try:
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress as Bar,
            TextColumn,
            TimeRemainingColumn,
            TransferSpeedColumn,
        )
    except ImportError:
        return None
    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("{task.fields[records]}"))
    # Without a thread of its own: what is drawn is drawn by ``update``, and nothing after ``clear``. Without streams in
    # place of ours: they write escapes as text where a bar is interrupted before it stands.
    bar = Bar(
        *columns,
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        auto_refresh=False,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    bar.add_task("scan", total=total, records="")
    return bar
