"""``turnwire validate``: every fault of a log, or of a file that should hold nothing but messages."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from turnwire.cli import inputs, wires
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import complain, named, standard_output
from turnwire.cli.text import printable
from turnwire.contract import LIMITS, BulkScanner, wire_package
from turnwire.errors import DecodeError, Issue, Reason
from turnwire.progress import Progress

if TYPE_CHECKING:
    from turnwire.log import Batch

Check = Callable[[Any], list[Issue]]
ERROR = "error"


class Finding(NamedTuple):
    """A fault or an issue. offset: byte of the file; line: 1-based; severity: "error", "warning" or "info"."""

    file: str
    line: int
    offset: int
    severity: str
    reason: str
    text: str

    def shown(self) -> str:
        """The finding as a line for people."""
        mark = "" if self.severity == ERROR else f"{self.severity}: "
        place = f"{inputs.shown(self.file)}:{self.line}: byte {self.offset}"
        return printable(f"{place}: {mark}{self.reason}: {self.text}")


class Tally:
    """What was met so far: records, bytes, and findings per severity."""

    def __init__(self) -> None:
        self.records = self.bytes = self.text = 0
        self.severities: dict[str, int] = {}

    def count(self, severity: str) -> int:
        """How many findings there are of a severity."""
        return self.severities.get(severity, 0)


@click.command("validate", short_help="Check every record; name each fault with file, line and byte.")
@inputs.sources_argument
@wires.wire_option
@click.option(
    "--mode",
    type=click.Choice(["log", "lines"]),
    default="log",
    help="log: records stand among other text. lines: every line that is not blank must be one record.",
    show_default=True,
)
@click.option(
    "--unknown",
    type=click.Choice(["error", "keep"]),
    default="error",
    help="Take records with slots and frames that this version does not know.",
    show_default=True,
)
@click.option("--strict", is_flag=True, help="Warnings of the wire's check count as faults.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of lines for people.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def command(sources: tuple[str, ...], wire: str | None, mode: str, **options: Any) -> int:
    """Checks every record of SOURCES strictly and writes each fault as file:line: byte N: reason: text.

    SOURCES are files, directories, globs, or - for standard input. Good records are also given to the wire's own
    check; what it doubts is shown as a warning or info. Exits with 1 when there is a fault.
    """
    from turnwire.cli.rows import json_line

    scanner = wires.chosen(wire)
    if mode == "lines" and scanner.state is not None:
        raise click.UsageError(f"a message of {scanner.wire} has several lines; --mode lines is for wires of one")
    names = inputs.checked(sources)
    check: Check | None = getattr(wire_package(scanner.wire), "check", None)
    tally = Tally()
    output = standard_output()
    reader = _of_log if mode == "log" else _of_lines
    progress = Progress(inputs.size(names), wanted=not options["quiet"])
    with progress:
        for finding in reader(names, scanner, check, options["unknown"], tally, progress):
            tally.severities[finding.severity] = tally.count(finding.severity) + 1
            progress.clear()
            output.write(json_line(finding._asdict()) if options["as_json"] else f"{finding.shown()}\n".encode())
    output.flush()
    if not options["quiet"]:
        _summarize(scanner.wire, tally, mode)
    bad = tally.count(ERROR) + (tally.count("warning") if options["strict"] else 0)
    return BAD_RECORDS if bad else GOOD


def _of_log(
    names: Sequence[str], scanner: BulkScanner, check: Check | None, unknown: str, tally: Tally, progress: Progress
) -> Iterator[Finding]:
    """The findings in logs, in the order of the input."""
    import turnwire

    scan = turnwire.scan(list(names), wire=scanner.wire, columns=["offset", "line"], unknown=unknown)
    done = 0
    for batch in scan:
        rejects = [_of_reject(reject, scanner, unknown) for reject in scan.rejects.since(done)]
        done += len(rejects)
        yield from _in_order(rejects, batch, check)
        tally.records += len(batch)
        progress.update(scan.counts.bytes, tally.records)
    yield from (_of_reject(reject, scanner, unknown) for reject in scan.rejects.since(done))
    tally.bytes, tally.text = scan.counts.bytes, scan.counts.text


def _in_order(rejects: list[Finding], batch: Batch, check: Check | None) -> Iterator[Finding]:
    """The faults met up to a batch and the issues of its records, as they follow each other in the input."""
    here = [finding for finding in rejects if finding.file == batch.file]
    yield from (finding for finding in rejects if finding.file != batch.file)
    if check is not None:
        here.extend(_issues_of_batch(batch, check))
        here.sort(key=lambda finding: finding.offset)
    yield from here


def _issues_of_batch(batch: Batch, check: Check) -> Iterator[Finding]:
    offsets, lines = batch["offset"], batch["line"]
    for row in range(len(batch)):
        for issue in check(batch.message(row)):
            yield _of_issue(issue, batch.file or "", int(lines[row]), int(offsets[row]))


def _of_issue(issue: Issue, file: str, line: int, offset: int) -> Finding:
    place = f"{issue.where}: " if isinstance(issue.where, str) and issue.where else ""
    return Finding(file, line, offset, issue.severity, str(issue.reason), place + issue.text)


def _of_reject(reject: dict[str, Any], scanner: BulkScanner, unknown: str) -> Finding:
    reason = reject["reason"]
    text = reason.replace("_", " ")
    try:
        scanner.decode(reject["raw"], unknown=unknown)
    except DecodeError as error:
        # One message alone may hold what a record of a log may not; then the reason has to say it all.
        text = error.text if str(error.reason) == reason else text
    return Finding(reject["file"], reject["line"], reject["fault"], ERROR, reason, text)


def _of_lines(
    names: Sequence[str], scanner: BulkScanner, check: Check | None, unknown: str, tally: Tally, progress: Progress
) -> Iterator[Finding]:
    """The findings in files of one record a line."""
    for name in inputs.files(names):
        try:
            file: BinaryIO = sys.stdin.buffer if name == inputs.STANDARD_INPUT else open(name, "rb")  # noqa: SIM115
            try:
                for number, offset, line, whole in _lines(file):
                    tally.bytes += whole
                    yield from _of_line(line, number, offset, name, scanner, check, unknown, tally)
                    progress.update(tally.bytes, tally.records)
            finally:
                if name != inputs.STANDARD_INPUT:
                    file.close()
        except OSError as error:
            raise named(error, error.filename or name) from None


def _of_line(
    line: bytes | None,
    number: int,
    offset: int,
    name: str,
    scanner: BulkScanner,
    check: Check | None,
    unknown: str,
    tally: Tally,
) -> Iterator[Finding]:
    if line is None:
        text = f"the line is longer than the limit of {LIMITS.message:,} bytes"
        yield Finding(name, number, offset, ERROR, str(Reason.MESSAGE_TOO_LARGE), text)
        return
    if not line.strip():
        return
    try:
        message = scanner.decode(line, unknown=unknown)
    except DecodeError as error:
        yield Finding(name, number, offset + (error.offset or 0), ERROR, str(error.reason), error.text)
        return
    tally.records += 1
    for issue in check(message) if check is not None else ():
        yield _of_issue(issue, name, number, offset)


def _lines(file: BinaryIO) -> Iterator[tuple[int, int, bytes | None, int]]:
    """(number, offset, line or None where it is over the limit, its bytes) of each line, never held whole beyond it."""
    number = offset = 0
    while line := file.readline(LIMITS.message + 1):
        number += 1
        size = len(line)
        kept: bytes | None = line
        if size > LIMITS.message and not line.endswith(b"\n"):
            kept = None
            while line and not line.endswith(b"\n"):
                line = file.readline(1 << 20)
                size += len(line)
        yield number, offset, kept, size
        offset += size


def _summarize(wire: str, tally: Tally, mode: str) -> None:
    faults = tally.count(ERROR)
    others = "".join(f", {tally.count(name):,} {name}" for name in ("warning", "info") if tally.count(name))
    text = f", {tally.text:,} bytes of them other text" if mode == "log" else ""
    complain(f"{tally.records:,} good {wire} records, {faults:,} faults{others} in {tally.bytes:,} bytes{text}")
