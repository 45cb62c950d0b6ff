"""``turnwire validate``: every fault of a log, or of a file that should hold nothing but messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

import click

from turnwire import registry
from turnwire.cli import inputs, policies, wires
from turnwire.cli.choices import Choice
from turnwire.cli.documents import told
from turnwire.cli.options import fences_option
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import complain, named, standard_output
from turnwire.cli.text import printable
from turnwire.contract import LIMITS
from turnwire.errors import DecodeError, Issue, Reason
from turnwire.phrases import counted
from turnwire.progress import Progress
from turnwire.registry import detect

if TYPE_CHECKING:
    from turnwire.log import Batch

Check = Callable[[Any], list[Issue]]
ERROR = "error"


class Finding(NamedTuple):
    """A fault or an issue. offset: byte of the file; line: 1-based; severity: "error", "warning" or "info"; wire: None
    where a line looks like none."""

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


class Judge:
    """What tells the records of a wire, or of all wires (None), and what their own checks doubt."""

    def __init__(self, wire: str | None, unknown: str, fences: bool = False, policy: str | None = None) -> None:
        self.wire = wire
        self.unknown = unknown
        self.fences = fences
        self._names = registry.names()
        wanted = registry.scanned() if wire is None else (wire,)
        self._decode = {name: registry.bulk_scanner(name).decode for name in wanted}
        self._checks: dict[str, Check] = {name: registry.wire(name).check for name in wanted}
        self._policies = policies.loaded(policy, wanted)
        for name, value in self._policies.items():
            check: Any = self._checks[name]
            self._checks[name] = partial(check, policy=value)
        self._wanted = wanted

    @cached_property
    def least(self) -> Any:
        """For each wire (an array) the bytes of the shortest record in which its check can find anything. A record in a
        JSON string has at least as many as what it says."""
        import numpy as np

        known = self._wanted if self.unknown == "error" else ()
        return np.array([registry.wire(name).least_doubtful if name in known else 0 for name in self._names])

    @cached_property
    def texts(self) -> tuple[tuple[str, ...], int] | None:
        """The columns of which one must have a text of more bytes than this where the check can find anything."""
        known = self.unknown == "error" and self.wire is not None
        return registry.wire(self.wire).doubtful_texts or None if known else None  # type: ignore[arg-type]

    def doubtful(self, batch: Batch) -> Any:
        """Which rows of a batch (an array) their wire's check can find anything in, by their length, kind and texts."""
        import numpy as np

        codes, kinds = batch["wire"], batch.column("kind").names
        found = batch["length"] >= self.least[codes]
        if self.texts is not None:
            columns, most = self.texts
            found &= np.any([batch.valid(name) & (batch[name].lengths > most) for name in columns], axis=0)
        for code, name in enumerate(self._names):
            wanted = registry.wire(name).doubtful_kinds if name in self._wanted else ()
            if wanted and self.unknown == "error":
                among = np.array([kind in wanted for kind in kinds])
                found &= (codes != code) | among[batch["kind"]]
        return found

    @property
    def wires(self) -> tuple[str, ...]:
        """The wires that are judged."""
        return self._wanted

    def decode(self, raw: bytes, wire: str) -> Any:
        """One record as a message of its wire. Raises DecodeError."""
        return self._decode[wire](raw, unknown=self.unknown)

    def check(self, wire: str) -> Check:
        """What finds what is doubtful about a message of a wire."""
        return self._checks[wire]

    def all_clear(self, wire: str) -> Callable[[bytes], bool] | None:
        """What says of the bytes of a record that its check surely finds nothing, if anything does."""
        return None if wire in self._policies else registry.wire(wire).all_clear

    def wire_of(self, line: bytes) -> str | None:
        """The wire of a line: the one that was named, else the one that it looks like, if any."""
        return detect(line) if self.wire is None else self.wire


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
    type=Choice(["log", "lines"]),
    default="log",
    help="log: records among other text. lines: every line that is not blank must be one record.",
    show_default=True,
)
@click.option(
    "--unknown",
    type=Choice(["error", "keep"]),
    default="error",
    help="Take records with slots and frames that this version does not know.",
    show_default=True,
)
@fences_option
@policies.policy_option
@click.option("--strict", is_flag=True, help="Warnings of the wire's check count as faults.")
@click.option("--json", "as_json", is_flag=True, help="JSON lines instead of lines for people.")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
def command(sources: tuple[str, ...], wire: str | None, mode: str, **options: Any) -> int:
    """Checks every record of SOURCES strictly and writes each fault as file:line: byte N: reason: text. Where no --wire
    is named, the wire comes before the reason.

    SOURCES are files, directories, globs, URLs, or - for standard input. Good records are also given to the wire's own
    check; what it doubts is shown as a warning or info. Exits with 1 when there is a fault.
    """
    from turnwire.log.output.json_lines import json_line

    if mode == "lines" and wire is not None and registry.bulk_scanner(wire).spans_lines:
        raise click.UsageError(f"--mode lines is for messages of one line; one of {wire} may have several lines")
    names = inputs.checked(sources)
    judge = Judge(wire, options["unknown"], options["fences"], options["policy"])
    tally = Tally()
    output = standard_output()
    reader = _of_log if mode == "log" else _of_lines
    progress = Progress(inputs.size(names), wanted=not options["quiet"])
    binary = _Binary()
    with progress:
        for finding in reader(names, judge, tally, progress):
            tally.severities[finding.severity] = tally.count(finding.severity) + 1
            if not options["as_json"] and binary.has(finding.file):
                continue
            progress.clear()
            text = f"{finding.shown(wire is None)}\n".encode()
            output.write(json_line(finding._asdict()) if options["as_json"] else text)
    output.flush()
    for file, count in binary.files.items():
        said = f"looks binary: its faults ({count:,}) are not listed; --json lists them"
        complain(printable(f"{inputs.shown(file)}: {said}"))
    if not options["quiet"]:
        _summarize(wire, tally, mode)
        if not tally.records + tally.count(ERROR):
            inputs.tell_nothing(names, wire, bool(tally.bytes))
    bad = tally.count(ERROR) + (tally.count("warning") if options["strict"] else 0)
    return BAD_RECORDS if bad else GOOD


class _Binary:
    """Which files look binary, and how many findings each has that are not worth a line."""

    def __init__(self) -> None:
        self.files: dict[str, int] = {}
        self._last: tuple[str | None, bool] = None, False

    def has(self, file: str | None) -> bool:
        """Whether a finding is in such a file; counts it. Findings of one file follow each other."""
        if file != self._last[0]:
            self._last = file, inputs.looks_binary(file)
        if file is not None and self._last[1]:
            self.files[file] = self.files.get(file, 0) + 1
        return self._last[1]


def _of_log(names: Sequence[str], judge: Judge, tally: Tally, progress: Progress) -> Iterator[Finding]:
    """The findings in logs, in the order of the input."""
    import turnwire

    columns = ["offset", "length", "line", "wire", "kind", *(judge.texts[0] if judge.texts else ())]
    scan = turnwire.scan(list(names), wire=judge.wire, columns=columns, unknown=judge.unknown, fences=judge.fences)
    done = 0
    of_reject = _teller(judge)
    for batch in scan:
        rejects = [of_reject(reject) for reject in scan.rejects.since(done)]
        done += len(rejects)
        yield from _in_order(rejects, batch, judge)
        tally.records += len(batch)
        progress.update(scan.counts.bytes, tally.records)
    yield from (of_reject(reject) for reject in scan.rejects.since(done))
    tally.bytes, tally.text = scan.counts.bytes, scan.counts.text


def _in_order(rejects: list[Finding], batch: Batch, judge: Judge) -> Iterator[Finding]:
    """The faults met up to a batch and the issues of its records, as they follow each other in the input."""
    here = [finding for finding in rejects if finding.file == batch.file]
    yield from (finding for finding in rejects if finding.file != batch.file)
    here.extend(_issues_of_batch(batch, judge))
    here.sort(key=lambda finding: finding.offset)
    yield from here


def _issues_of_batch(batch: Batch, judge: Judge) -> Iterator[Finding]:
    """What the checks find in the records that can be doubted; no message is made of any other."""
    doubted = judge.doubtful(batch).nonzero()[0]
    if not len(doubted):
        return
    names, codes = registry.names(), batch["wire"][doubted]
    if (codes == codes[0]).all():
        yield from (one for _, one in _issues_of_rows(batch, doubted, names[codes[0]], judge))
        return
    parts = [_issues_of_rows(batch, doubted[codes == code], names[code], judge) for code in sorted({*codes.tolist()})]
    yield from (one for _, one in merge(*parts, key=itemgetter(0)))


def _issues_of_rows(batch: Batch, rows: Any, wire: str, judge: Judge) -> Iterator[tuple[int, Finding]]:
    """What the check of a wire finds in records of it, each with its row."""
    file = batch.file or ""
    decode, check, own = batch.decoder(wire), judge.check(wire), registry.wire(wire).documents
    clear = judge.all_clear(wire)
    for row, raw in zip(rows, batch.raws(rows), strict=True):
        if clear is not None and clear(raw):
            continue
        message = decode(raw)
        issues = check(message)
        document = own is not None and isinstance(message, own.message)
        if not issues and not document:
            continue
        offset, line = int(batch["offset"][row]), int(batch["line"][row])
        if document:
            for one in told(raw, own.faults(raw, fences=judge.fences), issues):
                place = line + one.line - 1, offset + one.offset
                yield row, Finding(file, *place, wire, one.severity, one.reason, one.text)
            continue
        for issue in issues:
            yield row, _of_issue(issue, file, line, offset, wire)


def _of_issue(issue: Issue, file: str, line: int, offset: int, wire: str) -> Finding:
    place = f"{issue.where}: " if isinstance(issue.where, str) and issue.where else ""
    return Finding(file, line, offset, wire, issue.severity, str(issue.reason), place + issue.text)


def _teller(judge: Judge) -> Callable[[dict[str, Any]], Finding]:
    """What makes a finding of a reject."""
    from turnwire.log.output.rejects import Explainer, fault_line

    explained = Explainer(judge.unknown)

    def of_reject(reject: dict[str, Any]) -> Finding:
        wire, reason = reject["wire"], reject["reason"]
        text, _ = explained(reject)
        return Finding(reject["file"], fault_line(reject), reject["fault"], wire, ERROR, reason, text)

    return of_reject


def _of_lines(names: Sequence[str], judge: Judge, tally: Tally, progress: Progress) -> Iterator[Finding]:
    """The findings in files of one record a line."""
    from turnwire.read.contents import unpacked

    for name in inputs.files(names):
        number = 0
        try:
            with inputs.opened(name) as file, unpacked(file) as reader:
                for number, offset, line, whole in _lines(reader):
                    tally.bytes += whole
                    yield from _of_line(line, number, offset, name, judge, tally)
                    progress.update(tally.bytes, tally.records)
        except OSError as error:
            raise named(error, error.filename or name) from None
        except DecodeError as error:  # a damaged compressed stream
            text = f"{error.text} (a byte of the stream as stored)"
            yield Finding(name, number + 1, error.offset or 0, error.wire, ERROR, str(error.reason), text)


def _of_line(
    line: bytes | None,
    number: int,
    offset: int,
    name: str,
    judge: Judge,
    tally: Tally,
) -> Iterator[Finding]:
    if line is None:
        text = f"the line is longer than the limit of {LIMITS.message:,} bytes"
        yield Finding(name, number, offset, judge.wire, ERROR, str(Reason.MESSAGE_TOO_LARGE), text)
        return
    if not line.strip():
        return
    wire = judge.wire_of(line)
    if wire is None:
        text = "the line is not a message of any wire"
        yield Finding(name, number, offset, None, ERROR, str(Reason.UNKNOWN_WIRE), text)
        return
    try:
        message = judge.decode(line, wire)
    except DecodeError as error:
        yield Finding(name, number, offset + (error.offset or 0), wire, ERROR, str(error.reason), error.text)
        return
    tally.records += 1
    for issue in judge.check(wire)(message):
        yield _of_issue(issue, name, number, offset, wire)


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


def _summarize(wire: str | None, tally: Tally, mode: str) -> None:
    faults = tally.count(ERROR)
    warnings, infos = tally.count("warning"), tally.count("info")
    others = f", {counted(warnings, 'warning')}" if warnings else ""
    others += f", {infos:,} info" if infos else ""
    text = f", {counted(tally.text, 'byte')} of them other text" if mode == "log" else ""
    good = counted(tally.records, f"good {'' if wire is None else wire + ' '}record")
    complain(f"{good}, {counted(faults, 'fault')}{others} in {counted(tally.bytes, 'byte')}{text}")
