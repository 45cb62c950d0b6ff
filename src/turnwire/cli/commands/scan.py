"""``turnwire scan``: the records of logs as a table or as JSON lines, and what was damaged."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, wires
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import Output, complain, opened, standard_output
from turnwire.cli.text import printable
from turnwire.progress import Progress

if TYPE_CHECKING:
    from turnwire.log import Batch, Scan

SHOWN_ROWS = 20
SHOWN_REJECTS = 5
SHOWN_BYTES = 60
PLACES = frozenset({"record", "offset", "length"})
"""Columns that the table leaves out unless they are asked for."""


@click.command("scan", short_help="Show the records of logs as a table or as JSON lines.")
@inputs.sources_argument
@wires.wire_option
@click.option("--columns", metavar="A,B,...", help="The columns to read; all by default.")
@click.option(
    "--errors",
    type=click.Choice(["collect", "skip", "raise"]),
    default="collect",
    help="Keep damaged records, only count them, or stop at the first.",
    show_default=True,
)
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of a table.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    help=f"Rows to show (a table: {SHOWN_ROWS}, JSON: all by default). All records are still read and counted.",
)
@click.option("--rejects", metavar="FILE|-", help="Write damaged records as JSON lines to a file, or to the output.")
@click.option(
    "--unknown",
    type=click.Choice(["error", "keep"]),
    default="error",
    help="Take records with slots and frames that this version does not know.",
    show_default=True,
)
@click.option("--borrow", is_flag=True, help="Map files into memory: fastest, but they must not shrink meanwhile.")
@click.option(
    "--batch-bytes",
    type=click.IntRange(1, 1 << 30),
    default=8 << 20,
    help="Bytes of input read at once.",
    show_default=True,
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def command(sources: tuple[str, ...], wire: str | None, columns: str | None, **options: Any) -> int:
    """Finds the records of a wire in SOURCES and shows them.

    SOURCES are files, directories, globs, or - for standard input. Records may stand anywhere among other text. The
    table or the JSON lines go to standard output, a summary to standard error. Exits with 1 when a record is damaged.
    """
    scanner = wires.chosen(wire)
    rejects: str | None = options["rejects"]
    if rejects is not None and options["errors"] == "skip":
        raise click.UsageError("--errors skip keeps no damaged records that --rejects could write")
    names = inputs.checked(sources)
    if rejects is not None:
        inputs.refuse_overwriting(rejects, names)
    found = _scan(names, scanner.wire, columns, options)
    started = time.monotonic()
    with ExitStack() as stack:
        quarantine = None if rejects is None else stack.enter_context(opened(rejects))
        sink = _sink(found, quarantine if rejects == "-" else None, columns is None, len(inputs.files(names)), options)
        crowded = options["as_json"] and sys.stdout is not None and sys.stdout.isatty()
        _run(found, sink, quarantine, Progress(inputs.size(names), wanted=not (crowded or options["quiet"])))
    if not options["quiet"]:
        _summarize(found, sink, time.monotonic() - started, options)
    return BAD_RECORDS if found.rejects.counts else GOOD


def _scan(names: tuple[str, ...], wire: str, columns: str | None, options: dict[str, Any]) -> Scan:
    import turnwire

    chosen = None if columns is None else [name.strip() for name in columns.split(",")]
    if chosen is not None and len(set(chosen)) < len(chosen):
        raise click.UsageError("--columns names a column twice")
    passed = {name: options[name] for name in ("errors", "unknown", "borrow", "batch_bytes")}
    try:
        return turnwire.scan(list(names), wire=wire, columns=chosen, **passed)
    except ValueError as error:
        raise click.UsageError(str(error)) from None


class _Sink:
    """Takes batches and shows the first ``limit`` rows of all: ``take`` each, then ``finish``."""

    def __init__(self, limit: int | None) -> None:
        self.limit = limit
        self.shown = 0

    def take(self, batch: Batch) -> None:
        """Shows what is still to be shown of a batch."""
        from turnwire.log.rows import slices

        left = None if self.limit is None else self.limit - self.shown
        for values in slices(batch, left):
            self.shown += len(values[0])
            self.show(values)

    def show(self, values: list[list[Any]]) -> None:
        """Shows some rows: a list for each column. Here: nothing, the rows are for nobody."""

    def finish(self) -> None:
        """Shows what was held back."""


class _JsonSink(_Sink):
    def __init__(self, found: Scan, output: Output, limit: int | None) -> None:
        from turnwire.log.rows import JsonLines

        super().__init__(limit)
        self._output = output
        self._writer = JsonLines(found.columns)

    def show(self, values: list[list[Any]]) -> None:
        self._output.write(self._writer.lines(values))

    def finish(self) -> None:
        self._output.flush()


class _TableSink(_Sink):
    def __init__(self, found: Scan, output: Output, limit: int, hidden: frozenset[str] | None) -> None:
        super().__init__(limit)
        self._output = output
        self._names = [column.name for column in found.columns]
        self._hidden = hidden
        self._rows: list[tuple[Any, ...]] = []

    def show(self, values: list[list[Any]]) -> None:
        self._rows.extend(zip(*values, strict=True))
        if self.shown == self.limit:
            self.finish()

    def finish(self) -> None:
        """Prints the table: without ``--columns`` only those that say something in the rows shown."""
        from turnwire.cli.tables import table

        if not self._rows:
            return
        kept = [
            place
            for place, name in enumerate(self._names)
            if self._hidden is None or (name not in self._hidden and any(row[place] is not None for row in self._rows))
        ]
        rows = [[row[place] for place in kept] for row in self._rows]
        self._rows = []
        self._output.write(table([self._names[place] for place in kept], rows).encode())
        self._output.flush()


def _sink(found: Scan, taken: Output | None, choose: bool, files: int, options: dict[str, Any]) -> _Sink:
    """Where the rows go; nowhere when the output is ``taken`` by the rejects alone."""
    limit: int | None = options["limit"]
    if options["as_json"]:
        return _JsonSink(found, taken or standard_output(), limit)
    if taken is not None:
        return _Sink(0)
    hidden = PLACES | ({"file"} if files == 1 else set()) if choose else None
    return _TableSink(found, standard_output(), SHOWN_ROWS if limit is None else limit, hidden)


def _run(found: Scan, sink: _Sink, quarantine: Output | None, progress: Progress) -> None:
    written = 0
    with progress:
        for batch in found:
            if sink.shown != sink.limit:
                progress.clear()
                sink.take(batch)
            written = _quarantine(found, quarantine, written)
            counts = found.counts
            progress.update(counts.bytes, sum(counts.wires.values()))
    _quarantine(found, quarantine, written)
    sink.finish()


def _quarantine(found: Scan, output: Output | None, written: int) -> int:
    """Writes the rejects from number ``written`` on; gives how many are written now."""
    from turnwire.log.rows import json_line

    if output is None:
        return written
    for reject in found.rejects.since(written):
        output.write(json_line({"reject": True, **reject}))
    output.flush()
    return len(found.rejects)


def _summarize(found: Scan, sink: _Sink, seconds: float, options: dict[str, Any]) -> None:
    counts = found.counts
    records = sum(counts.wires.values())
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.reasons.items()))
    seconds = max(seconds, 1e-9)
    rate = f"{seconds:.2f} s, {counts.bytes / seconds / 1e6:,.1f} MB/s, {records / seconds:,.0f} records/s"
    if 0 < sink.shown < records and isinstance(sink, _TableSink):
        complain(f"the first {sink.shown:,} of {records:,} records are shown")
    _show_rejects(found)
    for name, number, size, note in (
        ("records", f"{records:,}", counts.records, ", ".join(counts.wires)),
        ("rejects", f"{len(found.rejects):,}", counts.rejects, reasons),
        ("text", "", counts.text, ""),
        ("total", "", counts.bytes, rate),
    ):
        complain(f"{name:<8}{number:>12}{size:>18,} bytes   {note}".rstrip())
    if records + len(found.rejects) == 0:
        complain(f"there is no {' or '.join(counts.wires)} record here")


def _show_rejects(found: Scan) -> None:
    """The first rejects, where they were kept."""
    first = list(islice(found.rejects.since(0), SHOWN_REJECTS))
    for reject in first:
        raw = reject["raw"]
        text = raw[:SHOWN_BYTES].decode("utf-8", "backslashreplace") + ("…" if len(raw) > SHOWN_BYTES else "")
        place = f"{inputs.shown(reject['file'])}:{reject['line']}: byte {reject['fault']}"
        complain(printable(f"{place}: {reject['reason']}: {text}"))
    if first and len(found.rejects) > len(first):
        complain(f"... and {len(found.rejects) - len(first):,} more (--rejects FILE keeps them all)")
