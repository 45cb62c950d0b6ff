"""The sinks that the rows of a scan go to: a table, JSON lines, files, a pipe, or nothing at all."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from turnwire.cli.output import Output
from turnwire.cli.terminal import milliseconds, table

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan


class NullSink:
    """Takes batches inside a ``with`` block, ``take`` each, then ``finish``, and shows nothing of them. The base of the
    others."""

    prints = False
    """Rows go to standard output, which may be the terminal that progress is shown on."""
    shown = 0
    """Rows that a table or JSON lines have shown."""
    full = True
    """No further batch is wanted."""
    due = False
    """A part is to be ended, though nothing more came."""
    paths: tuple[str, ...] = ()
    """Files that were written."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        """Holds nothing, so releases nothing."""

    def take(self, batch: Batch) -> None:
        """Shows what is still to be shown of a batch."""

    def flush(self) -> None:
        """Hands on what was shown."""

    def finish(self) -> None:
        """Shows what was held back."""

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends a part where one is due, or the ``last``. True when everything up to ``position`` is kept now."""
        return True


class JsonSink(NullSink):
    """JSON lines to an output, of the first ``limit`` rows."""

    prints = True

    def __init__(self, found: Scan, output: Output, limit: int | None) -> None:
        self._columns = found.columns
        self._output = output
        self._limit = limit
        self.full = limit == 0

    def take(self, batch: Batch) -> None:
        """Shows what is still to be shown of a batch."""
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
        """Hands on the lines."""
        self._output.flush()

    finish = flush


class TableSink(JsonSink):
    """The first rows as a table, without the columns ``hidden`` and those that are empty (None: with all of them)."""

    def __init__(self, found: Scan, output: Output, limit: int, hidden: frozenset[str] | None) -> None:
        super().__init__(found, output, limit)
        self._hidden = hidden
        self._rows: list[tuple[Any, ...]] = []

    def show(self, values: list[list[Any]]) -> None:
        """Collects the rows; the last of them is followed by the table."""
        columns = zip(self._columns, values, strict=True)
        shown = [map(milliseconds, each) if column.kind == "timestamp" else each for column, each in columns]
        self._rows.extend(zip(*shown, strict=True))
        if self.full:
            self.finish()

    def finish(self) -> None:
        """Prints the table: without ``--columns`` only the columns that say something in the rows shown."""
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
    """A file or a directory, there when the block ends well. grows: a directory of parts that keeps the position behind
    its records; who made that enters and leaves it."""

    full = False

    def __init__(self, output: Any, grows: bool = False) -> None:
        self._output = output
        self._grows = grows
        self.take = output.take  # type: ignore[method-assign]

    def __enter__(self) -> Self:
        self._output.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._output.__exit__(*error)

    @property
    def paths(self) -> tuple[str, ...]:  # type: ignore[override]
        """Files that were written."""
        return tuple(self._output.paths)

    @property
    def due(self) -> bool:  # type: ignore[override]
        """The open part is long or old enough."""
        return self._grows and bool(self._output.due)

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends the part."""
        wanted = last or not self._grows or self.due
        if wanted and self._grows:
            self._output.commit(position)
        return wanted


class PipeSink(NullSink):
    """A file format, written to an output that is not a file."""

    prints = True
    full = False

    def __init__(self, found: Scan, output: Output, format: str, formulas: str) -> None:
        from turnwire.log.output.writers import writer

        self._output = output
        self._writer = writer(output, found.columns, format, formulas=formulas, stream=True)
        self.take = self._writer.take  # type: ignore[method-assign]

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self._writer.abandon()

    def finish(self) -> None:
        """Writes what ends the format."""
        self._writer.finish()
        self._output.flush()
