"""Progress of a long scan on standard error, by rich: only where that is installed, standard error is a terminal and
the scan takes longer than half a second."""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from typing import Any, Self

from turnwire.showing import counted

PATIENCE = 0.5
INTERVAL = 0.1
CLEAR_LINE = "\r\x1b[K"
SHOW_CURSOR = "\x1b[?25h"

_bars: list[Any] = []
"""Bars of rich that have hidden the cursor, and not shown it again."""


class Progress:
    """Shows bytes and records during a scan: ``update`` as often as you like, ``clear`` before other output."""

    def __init__(self, total: int | None, wanted: bool = True) -> None:
        terminal = sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._wanted = wanted and terminal
        self._total = total
        self._next = time.monotonic() + PATIENCE
        self._bar: Any = None

    def update(self, done: int, records: int, rejects: int = 0) -> None:
        """Updates the bytes and records done, and the damaged records found."""
        now = time.monotonic()
        if not self._wanted or now < self._next:
            return
        self._next = now + INTERVAL
        if self._bar is None:
            try:
                self._bar = _bar(self._total)
            except ImportError:
                self._wanted = False
                return
        if self._bar not in _bars:
            _bars.append(self._bar)
            self._bar.start()
        met = counted(records, "record") + (f", {counted(rejects, 'reject')}" if rejects else "")
        self._bar.update(self._bar.task_ids[0], completed=done, records=met, refresh=True)

    def of_scan(self, done: int, _: Any, records: int, rejects: int) -> None:
        """The same with the arguments of a scan (``turnwire.scan(progress=)``)."""
        self.update(done, records, rejects)

    def clear(self) -> None:
        """Removes the bar."""
        if self._bar in _bars:
            self._bar.stop()
            _bars.remove(self._bar)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.clear()


def restore_cursor() -> None:
    """Shows the cursor where a bar that was interrupted left it hidden: that may come within the clearing itself.
    For the end of a program; no bar is drawn after it."""
    if _bars:
        _bars.clear()
        with suppress(OSError):
            sys.stderr.write(CLEAR_LINE + SHOW_CURSOR)
            sys.stderr.flush()


def _bar(total: int | None) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (BarColumn(), DownloadColumn(), TransferSpeedColumn(), TextColumn("{task.fields[records]}"))
    # Without a thread of its own: what is drawn is drawn by ``update``, and nothing after ``clear``. Without streams in
    # place of ours: they write escapes as text where a bar is interrupted before it stands.
    still: dict[str, Any] = {"auto_refresh": False, "redirect_stdout": False, "redirect_stderr": False}
    bar = Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True, **still)
    bar.add_task("scan", total=total, records="")
    return bar
