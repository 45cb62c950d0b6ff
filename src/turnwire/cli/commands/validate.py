"""``turnwire validate``: every fault of a log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from turnwire import registry
from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import complain, conclude, printable, standard_output
from turnwire.contract import FORMATS
from turnwire.errors import DecodeError, Issue, Reason
from turnwire.progress import Progress
from turnwire.read.located import COLUMNS, pieces_of
from turnwire.showing import counted

if TYPE_CHECKING:
    from turnwire.log import Batch, Counts, Scan
    from turnwire.read.located import Located

ERROR, WARNING = "error", "warning"


class Finding(NamedTuple):
    """A fault or an issue. offset: byte of the file; line: 1-based; severity: "error", "warning" or "info"; wire: None
    if a line looks like none."""

    file: str
    line: int
    offset: int
    wire: str | None
    severity: str
    reason: str
    text: str

    def shown(self, with_wire: bool) -> str:
        """The finding as a line for people."""
        mark = "" if self.severity == ERROR else f"{self.severity}: "
        wire = f"{self.wire}: " if with_wire and self.wire is not None else ""
        place = f"{inputs.shown(self.file)}:{self.line}: byte {self.offset}"
        return printable(f"{place}: {wire}{mark}{self.reason}: {self.text}")


class RecordValidator:
    """Checks the records of a wire, or of all wires (None), and tells which need no look."""

    def __init__(self, wire: str | None, unknown: str, fences: bool = False, policy: str | None = None) -> None:
        self.unknown, self.fences = unknown, fences
        every = tuple(registry.formats()) if wire == FORMATS else registry.scanned()
        self.wires = every if wire in (None, FORMATS) else (str(wire),)
        self.checks: dict[str, Any] = {name: registry.wire(name).check for name in self.wires}
        for name, value in options.policies(policy, self.wires).items():
            self.checks[name] = partial(self.checks[name], policy=value)

    def doubtful(self, batch: Batch) -> Any:
        """The rows of a batch in which their wire's check can find anything, by their length and kind.

        A record in a JSON string has at least as many bytes as what it says."""
        import numpy as np

        from turnwire.log.engine.columns import bulk_scanner

        if self.wires[0] in registry.formats():  # whose checks find nothing
            return np.arange(0)
        if self.unknown != "error":
            return np.arange(len(batch))
        codes, kinds = batch.codes("wire"), batch.column("kind").names
        doubtful = [bulk_scanner(name).doubtful if name in self.wires else (0, ()) for name in registry.names()]
        found = batch["length"] >= np.array([least for least, _ in doubtful])[codes]
        for code, (_, some) in enumerate(doubtful):
            if some:
                among = np.array([kind in some for kind in kinds])
                found &= (codes != code) | among[batch.codes("kind")]
        return found.nonzero()[0]

    def findings(self, scan: Scan) -> Iterator[Finding]:
        """The faults and issues of the logs that a scan reads, in the order of the input. Of records that need no look
        no message is made."""
        for piece in pieces_of(scan, self.unknown):
            for one in piece.of(rows=None if piece.batch is None else self.doubtful(piece.batch)):
                yield from self._findings_of(one)

    def _findings_of(self, one: Located) -> Iterator[Finding]:
        file, wire = one.file or "", one.wire
        if (error := one.error) is not None:
            # What only looks like a message (another protocol's, a JSON Schema) is no fault.
            severity = WARNING if error.reason == Reason.LOOK_ALIKE else ERROR
            yield Finding(file, error.line or 1, error.offset or 0, wire, severity, error.reason, error.text)
            return
        issues, own = self.checks[wire](one.message), registry.wire(wire).scanner.documents
        if own is None or not isinstance(one.message, own.message):
            for issue in issues:
                place = f"{issue.where}: " if isinstance(issue.where, str) and issue.where else ""
                yield Finding(file, one.line, one.offset, wire, issue.severity, str(issue.reason), place + issue.text)
            return
        for found in document_findings(one.raw, own.faults(one.raw, fences=self.fences), issues):
            line, offset = one.line + found.line - 1, one.offset + found.offset
            yield found._replace(file=file, wire=wire, line=line, offset=offset)


@click.command("validate", short_help="Check every record; list each fault with file, line and byte.")
@options.sources_argument
@options.format_option
@options.unknown_option
@options.fences_option
@options.policy_option
@click.option("--strict", is_flag=True, help="Count warnings as faults.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of text.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@options.exit_zero_option
def command(sources: tuple[str, ...], wire: str | None, **settings: Any) -> int:
    """Checks every record of SOURCES and writes each fault as file:line: byte N: wire: reason: text.

    SOURCES are files, directories, globs, URLs, or - for standard input. With --wire, the wire is omitted. Valid
    records are also checked with the wire's check, whose issues are warnings or infos. Exits with 1 if there is a
    fault.
    """
    import turnwire
    from turnwire.log.output.json_lines import json_line

    names = inputs.checked(sources)
    wire = inputs.wire_of(names, wire)
    validator = RecordValidator(wire, settings["unknown"], settings["fences"], settings["policy"])
    severities, reasons = Counter[str](), Counter[str]()
    unlisted: Counter[str] = Counter()  # findings in files that look binary
    output = standard_output()
    looks_binary = cache(inputs.looks_binary)
    with Progress(inputs.size(names), wanted=not settings["quiet"]) as progress:
        choices: dict[str, Any] = {name: settings[name] for name in ("unknown", "fences")}
        columns = [*COLUMNS, "kind"]
        scan = turnwire.scan(list(names), wire=wire, columns=columns, progress=progress.of_scan, **choices)
        for finding in validator.findings(scan):
            severities[finding.severity] += 1
            if finding.severity == ERROR:
                reasons[finding.reason] += 1
            if not settings["as_json"] and looks_binary(finding.file):
                unlisted[finding.file] += 1
                continue
            progress.clear()
            text = f"{finding.shown(wire in (None, FORMATS))}\n".encode()
            output.write(json_line(finding._asdict()) if settings["as_json"] else text)
    output.flush()
    for file, count in unlisted.items():
        complain(f"{inputs.shown(file)}: looks binary: its faults ({count:,}) are not listed; --json lists them")
    if not settings["quiet"]:
        _summarize(wire, scan.counts, severities)
        if scan.counts.records + severities[ERROR]:
            page = ("-o", "report.html") if reasons else ()
            conclude(None, reasons, "report" if reasons else "stats", names, *page, wire=wire)
        else:
            inputs.tell_nothing(names, wire, bool(scan.counts.bytes))
    return BAD_RECORDS if severities[ERROR] or (settings["strict"] and severities[WARNING]) else GOOD


def _summarize(wire: str | None, counts: Counts, severities: Counter[str]) -> None:
    warnings, infos = severities[WARNING], severities["info"]
    others = f", {counted(warnings, 'warning')}" if warnings else ""
    others += f", {infos:,} info" if infos else ""
    good = counted(counts.records, f"good {'' if wire in (None, FORMATS) else f'{wire} '}record")
    text = f"{counts.text_bytes:,} of {counted(counts.bytes, 'byte')} are other text"
    complain(f"{good}, {counted(severities[ERROR], 'fault')}{others}; {text}")


def document_findings(raw: bytes, faults: list[DecodeError], issues: list[Issue]) -> list[Finding]:
    """All that is wrong with, and doubtful about, a document with these bytes, in the order of its lines: lines and
    offsets are those in it. Issues, whose ``where`` is a line, are placed at its first byte.

    A header that strict reading rejects is not a fault if lenient reading, which documents use, accepts it without an
    issue, as in ``conform``."""
    doubted = {issue.where for issue in issues if issue.severity == "warning"}
    found = []
    for one in faults:
        severity = "info" if one.reason == Reason.BAD_HEADER and one.line not in doubted else ERROR
        found.append(Finding("", one.line or 1, one.offset or 0, None, severity, str(one.reason), one.text))
    line, place = 1, 0
    for issue in sorted(issues, key=lambda issue: int(issue.where)):
        while line < int(issue.where):
            line, place = line + 1, raw.index(b"\n", place) + 1
        found.append(Finding("", line, place, None, issue.severity, str(issue.reason), issue.text))
    return sorted(found, key=lambda one: one.line)
