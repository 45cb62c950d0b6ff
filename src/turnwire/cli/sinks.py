"""Where the rows of a scan go: a table, JSON lines, files, or nowhere."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from turnwire.cli.output import Output

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan
    from turnwire.log.output.parts import Parts


class Sink:
    """Takes batches inside a ``with`` block, up to ``limit`` rows of all: ``take`` each, then ``finish``. Here: nothing
    is shown, the rows are dropped."""

    limit: int | None = 0
    paths: tuple[str, ...] = ()
    shortens = False
    prints = False
    """Whether rows go to standard output, which may be the terminal that progress is shown on."""

    def __init__(self, limit: int | None = 0) -> None:
        self.limit = limit
        self.shown = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Holds nothing, so releases nothing."""

    @property
    def full(self) -> bool:
        """Whether no further batch is wanted."""
        return self.shown == self.limit

    @property
    def due(self) -> bool:
        """Whether a part is to be ended, though nothing more came."""
        return False

    def take(self, batch: Batch) -> None:
        """Shows what is still to be shown of a batch."""
        from turnwire.log.output.json_lines import slices

        left = None if self.limit is None else self.limit - self.shown
        for values in slices(batch, left):
            self.shown += len(values[0])
            self.show(values)

    def show(self, values: list[list[Any]]) -> None:
        """Shows some rows: a list for each column."""

    def flush(self) -> None:
        """Hands on what was shown."""

    def finish(self) -> None:
        """Shows what was held back."""

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends a part where one is due, or the ``last``; whether everything up to ``position`` is kept now."""
        return True


class JsonSink(Sink):
    """JSON lines to an output."""

    prints = True

    def __init__(self, found: Scan, output: Output, limit: int | None) -> None:
        from turnwire.log.output.json_lines import JsonLines

        super().__init__(limit)
        self._output = output
        self._writer = JsonLines(found.columns)

    def show(self, values: list[list[Any]]) -> None:
        """Writes the rows."""
        self._output.write(self._writer.lines(values))

    def flush(self) -> None:
        """Hands on the lines."""
        self._output.flush()

    def finish(self) -> None:
        """Hands on the last lines."""
        self._output.flush()


class TableSink(Sink):
    """The first rows as a table, without the columns ``hidden`` and those that are empty (None: with all of them)."""

    shortens = True
    prints = True

    def __init__(self, found: Scan, output: Output, limit: int, hidden: frozenset[str] | None) -> None:
        super().__init__(limit)
        self._output = output
        self._names = [column.name for column in found.columns]
        self._times = [place for place, column in enumerate(found.columns) if column.kind == "timestamp"]
        self._hidden = hidden
        self._rows: list[tuple[Any, ...]] = []

    def show(self, values: list[list[Any]]) -> None:
        """Collects the rows; the last of them is followed by the table."""
        self._rows.extend(zip(*values, strict=True))
        if self.full:
            self.finish()

    def finish(self) -> None:
        """Prints the table: without ``--columns`` only those that say something in the rows shown."""
        from turnwire.cli.tables import table

        if not self._rows:
            return
        self._rows = [
            tuple(milliseconds(value) if place in self._times else value for place, value in enumerate(row))
            for row in self._rows
        ]
        kept = [
            place
            for place, name in enumerate(self._names)
            if self._hidden is None or (name not in self._hidden and any(row[place] is not None for row in self._rows))
        ]
        rows = [[row[place] for place in kept] for row in self._rows]
        self._rows = []
        names = [self._names[place] for place in kept]
        self._output.write(table(names, rows, amounts=False, option="--columns").encode())
        self._output.flush()


def milliseconds(time: str | None) -> str | None:
    """A time as tables show it: to the millisecond, where JSON lines and files have microseconds."""
    return None if time is None else f"{time[:-4]}Z"


class FileSink(Sink):
    """A file or a directory, there when the block ends well."""

    def __init__(self, output: Any) -> None:
        super().__init__(None)
        self._output = output

    def __enter__(self) -> Self:
        self._output.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._output.__exit__(kind, error, trace)
        self.paths = tuple(self._output.paths)

    def take(self, batch: Batch) -> None:
        """Writes a batch."""
        self._output.take(batch)


class PartsSink(Sink):
    """A folder of parts, each with its position. Who makes it enters and leaves ``parts``."""

    def __init__(self, parts: Parts, found: Scan) -> None:
        super().__init__(None)
        self._parts = parts
        parts.begin(found.columns)

    @property
    def due(self) -> bool:
        """Whether the open part is long or old enough."""
        return self._parts.due

    def take(self, batch: Batch) -> None:
        """Writes a batch."""
        self._parts.take(batch)

    def commit(self, position: dict[str, Any], *, last: bool = False) -> bool:
        """Ends the part."""
        wanted = last or self._parts.due
        if wanted:
            self._parts.commit(position)
            self.paths = tuple(self._parts.paths)
        return wanted


class PipeSink(Sink):
    """A file format, written to an output that is not a file."""

    prints = True

    def __init__(self, found: Scan, output: Output, format: str, formulas: str) -> None:
        from turnwire.log.output.writers import writer

        super().__init__(None)
        self._output = output
        self._writer = writer(output, found.columns, format, formulas=formulas, stream=True)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            self._writer.abandon()

    def take(self, batch: Batch) -> None:
        """Writes a batch."""
        self._writer.take(batch)

    def finish(self) -> None:
        """Writes what ends the format."""
        self._writer.finish()
        self._output.flush()
