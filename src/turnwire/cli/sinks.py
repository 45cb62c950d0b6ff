"""Sinks: where the command line sends the rows of a scan, be it a table, JSON lines, files, a pipe or nowhere."""

from __future__ import annotations

from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

from turnwire.cli.output import Output
from turnwire.cli.terminal import milliseconds, table

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan


class NullSink:
    """Drops all batches; the base of the other sinks. ``take`` each batch, then ``finish``."""

    prints = False
    """True if rows go to standard output, which may be the terminal that shows progress."""
    shown = 0
    """How many rows a table or JSON lines have shown."""
    full = True
    """True if no further batch is wanted."""
    due = False
    """True if ``commit`` should end the open part, even if no further batch comes."""
    paths: tuple[str, ...] = ()
    """Files that were written."""

    def take(self, batch: Batch) -> None:
        """Writes the requested rows of a batch."""

    def flush(self) -> None:
        """Passes on at once what was written."""

    def finish(self) -> None:
        """Writes what was held back; no batch follows."""

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends the open part if it is ``due`` or the ``last``. True if all rows up to ``position`` are on disk then, so
        that a later run can continue from there."""
        return True


class JsonSink(NullSink):
    """Writes the first ``limit`` rows (None: all) as JSON lines."""

    prints = True

    def __init__(self, found: Scan, output: Output, limit: int | None) -> None:
        self._columns = found.columns
        self._output = output
        self._limit = limit
        self.full = limit == 0

    def take(self, batch: Batch) -> None:
        """Shows the rows of a batch, up to ``limit`` rows in all."""
        from turnwire.log.output.json_lines import slices

        left = None if self._limit is None else self._limit - self.shown
        for values in slices(batch, left):
            self.shown += len(values[0])
            self.full = self.shown == self._limit
            self.show(values)

    def show(self, values: list[list[Any]]) -> None:
        """Shows some rows: a list for each column."""
        self._output.write(self._writer.lines(values))

    @cached_property
    def _writer(self) -> Any:
        from turnwire.log.output.json_lines import JsonLines  # msgspec, which a table does without

        return JsonLines(self._columns)

    def flush(self) -> None:
        """Passes on the lines at once."""
        self._output.flush()

    finish = flush


class TableSink(JsonSink):
    """Shows the first ``limit`` rows as a table, without empty columns and those ``hidden``; hidden=None shows all."""

    def __init__(self, found: Scan, output: Output, limit: int, hidden: frozenset[str] | None) -> None:
        super().__init__(found, output, limit)
        self._hidden = hidden
        self._rows: list[tuple[Any, ...]] = []

    def show(self, values: list[list[Any]]) -> None:
        """Collects the rows, and prints the table once there are enough."""
        columns = zip(self._columns, values, strict=True)
        shown = [map(milliseconds, each) if column.kind == "timestamp" else each for column, each in columns]
        self._rows.extend(zip(*shown, strict=True))
        if self.full:
            self.finish()

    def finish(self) -> None:
        """Prints the table of the rows collected."""
        if self._rows:
            names = [column.name for column in self._columns]
            kept = [place for place, name in enumerate(names) if name not in (self._hidden or ())]
            rows = [[row[place] for place in kept] for row in self._rows]
            named = [names[place] for place in kept]
            text = table(named, rows, amounts=False, empty=self._hidden is None, option="--columns")
            self._output.write(text.encode())
            self._rows = []
        self._output.flush()


class FileSink(NullSink):
    """Writes to a file or a directory.

    output: of ``turnwire.log.output``, within its ``with`` block. grows: it is a directory of parts, each of which
    appears by ``commit`` together with the position after its records.
    """

    full = False

    def __init__(self, output: Any, grows: bool = False) -> None:
        self._output = output
        self._grows = grows
        self.take = output.take  # type: ignore[method-assign]

    @property
    def paths(self) -> tuple[str, ...]:  # type: ignore[override]
        """Files that were written."""
        return tuple(self._output.paths)

    @property
    def due(self) -> bool:  # type: ignore[override]
        """True if the open part is large or old enough to be ended."""
        return self._grows and bool(self._output.due)

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends the open part if it is ``due`` or the ``last``. True if it did, or if there are no parts."""
        wanted = last or not self._grows or self.due
        if wanted and self._grows:
            self._output.commit(position)
        return wanted


class PipeSink(NullSink):
    """Writes a file format, such as CSV or Parquet, to standard output or a pipe. The ``stack`` ends it."""

    prints = True
    full = False

    def __init__(self, found: Scan, output: Output, format: str, formulas: str, stack: ExitStack) -> None:
        from turnwire.log.output.writers import writer

        self._output = output
        self._writer = writer(output, found.columns, format, formulas=formulas, stream=True)
        self.take = self._writer.take  # type: ignore[method-assign]
        stack.callback(self._writer.abandon)

    def finish(self) -> None:
        """Writes the end of the format, such as the footer of Parquet."""
        self._writer.finish()
        self._output.flush()
