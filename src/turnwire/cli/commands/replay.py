"""``turnwire replay``: the state that a CSP/1 log describes, at any point, and the history of any name."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, NOTHING
from turnwire.cli.output import Notes, complain, escaped, write_json, write_lines
from turnwire.errors import Reason

if TYPE_CHECKING:
    from turnwire.csp import Change, Checkpoint, Store

_SQLITE = b"SQLite format 3\0"
MOST_LINES = 200
"""Lines of a state or a history that a terminal shows unasked."""
_NEEDED = (
    "a replay needs the log from its beginning: DEF and LAWS lines before the first message (C0), and every PATCH that "
    "leads to the checkpoints its messages name"
)


@click.command("replay", short_help="Show the state of a CSP/1 log at a checkpoint, or the history of a name.")
@click.argument("logs", nargs=-1, required=True, type=options.SOURCE, metavar="LOG...")
@click.option("--at", "at", type=options.name, metavar="Cn", help="The checkpoint to show instead of the last one.")
@click.option(
    "--name",
    "name",
    type=options.name,
    metavar="NAME",
    help="Show who set this name or law, when, and its former values.",
)
@click.option(
    "--diff", "between", nargs=2, type=options.name, metavar="A B", help="Show the operations between two checkpoints."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object: the checkpoint, or one for each change.")
@options.verbose_option
def command(
    logs: tuple[str, ...],
    at: str | None,
    name: str | None,
    between: tuple[str, str] | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Applies the messages of LOG in order and shows the resulting state.

    LOG is text with CSP/1 messages ("-" for standard input), or a ledger file of a store; several files, directories,
    globs and URLs form one history, in this order. DEF and LAWS lines before the first message are C0; later ones are
    reported on standard error and change nothing (token rule 1). Damaged and rejected messages are also reported, and
    set exit code 1, as does a --name that was never defined. Exits with 4 if there are no messages.
    """
    if between and (at is not None or name is not None):
        raise click.UsageError("--diff cannot be combined with --at or --name")
    inputs.checked(logs)
    store, complaints, bad, lacking, found = _read(logs)
    notes = Notes(verbose)
    for line in complaints:
        notes.add(line)
    notes.close()
    if lacking:
        complain(_NEEDED)
    elif not found:
        inputs.tell_none(logs, what="CSP/1 message")
    if not found:
        return BAD_RECORDS if bad else NOTHING
    checkpoint = store.at(at or store.head)
    if between:
        old, new = between
        ops = store.diff(old, new)
        rows: list[Any] = [{"from": old, "to": new, "ops": [list(op) for op in ops]}]
        lines = [_operation(*op) for op in ops]
    elif name is not None:
        changes = store.explain(name, at=checkpoint.id)
        if not changes:
            complain(f"{name} is not defined at {checkpoint.id} or before")
            return BAD_RECORDS
        rows = [{"name": name, **change._asdict()} for change in changes]
        lines = [_change(change, name) for change in changes]
    else:
        rows, lines = [_fields(checkpoint)], _state(store, checkpoint)
    if as_json:
        write_json(rows)
    else:
        shown = lines if verbose or not sys.stdout.isatty() else lines[:MOST_LINES]
        write_lines(map(escaped, shown))
        if len(shown) < len(lines):
            complain(f"... and {len(lines) - len(shown):,} more lines (-v shows all)")
    return BAD_RECORDS if bad else GOOD


def _operation(sign: str, name: str, value: str | None) -> str:
    """An operation as a PATCH has it."""
    middle = {"+": " = ", "~": " := "}.get(sign)
    return f"{sign} DEF {name}" + ("" if middle is None else middle + (value or ""))


def _read(logs: tuple[str, ...]) -> tuple[Store, list[str], bool, bool, bool]:
    """The store at the end of some logs, a line for each record that is not in it, whether one of these is bad (and not
    only restated), whether the logs lack their beginning, and whether there is a message at all."""
    from turnwire.csp.logs import Replaying, read_log
    from turnwire.csp.messages import CspMessage, Preamble

    if len(logs) == 1 and (kept := _kept(logs[0])) is not None:
        return kept, [], False, False, True
    replaying = Replaying()
    lines: list[str] = []
    bad = lacking = met = False
    for name in inputs.files(logs):
        shown = inputs.shown(name)
        document, damaged = read_log(inputs.whole(name))  # at once: places in a log are kept in 32 bits
        met = met or bool(document.records or damaged)
        bad = bad or bool(damaged)
        found = [(error.line or 0, f"damaged: {error.reason}: {error.text}") for error in damaged]
        for record in document.records:
            refusal = replaying.feed(record) if isinstance(record, (CspMessage, Preamble)) else None
            if refusal is not None:
                lacking = lacking or (not bad and refusal.reason in (Reason.CTX_UNKNOWN, Reason.BASE_NOT_HEAD))
                bad = bad or refusal.reason is not Reason.RESTATE
                path = f" in {refusal.path}" if refusal.path else ""
                found.append((record.line or 0, f"refused: {refusal.reason}{path}: {refusal.text}"))
        lines += [f"{shown}:{line}: {text}" for line, text in sorted(found)]
    return replaying.store, lines, bad, lacking, met


def _kept(log: str) -> Store | None:
    """The store of a ledger file, once the file is proved whole; None for other files."""
    if log == "-" or not os.path.isfile(log):
        return None
    with open(log, "rb") as file:
        if file.read(len(_SQLITE)) != _SQLITE:
            return None
    from turnwire.csp import Store
    from turnwire.ledger import Ledger, require, verify_file

    require(verify_file(log))
    with Ledger(log, read_only=True) as ledger:
        return Store.reopen(ledger)


def _fields(checkpoint: Checkpoint) -> dict[str, Any]:
    return {
        "checkpoint": checkpoint.id,
        "parent": checkpoint.parent,
        "patch": checkpoint.patch,
        "entry": checkpoint.seq,
        "digest": checkpoint.digest,
        "defs": dict(sorted(checkpoint.defs.items())),
        "laws": dict(checkpoint.laws),
    }


def _state(store: Store, checkpoint: Checkpoint) -> list[str]:
    after = f"{checkpoint.parent} and {checkpoint.patch}, entry {checkpoint.seq}"
    made = "init" if checkpoint.parent is None else after
    head = "" if checkpoint.id == store.head else f"; the last is {store.head}"
    lines = [f"{checkpoint.id} ({made}{head}) sha256:{checkpoint.digest}"]
    lines += [f"DEF {name} = {value}" for name, value in sorted(checkpoint.defs.items())]
    lines += [f"{name}: {text}" for name, text in checkpoint.laws.items()]
    return lines


def _change(change: Change, name: str) -> str:
    made = "init" if change.patch is None else f"{change.patch} by {change.sender}, entry {change.seq}"
    was = "" if change.old is None else f" (was {change.old})"
    value = "removed" if change.new is None else f"= {change.new}"
    return f"{change.checkpoint} {made}: {name} {value}{was}"
