"""``turnwire ledger``: logs kept in a ledger, copies of it, its entries, heads and proofs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from turnwire.cli import inputs, options
from turnwire.cli.commands.verify import read_head
from turnwire.cli.options import FILE
from turnwire.cli.outcome import BAD_RECORDS, GOOD, usage_errors
from turnwire.cli.output import complain, write_json, write_lines
from turnwire.contract import FORMATS

if TYPE_CHECKING:
    from turnwire.ledger import Ledger
    from turnwire.log.scanning import Counts

_KEY = click.option("--sign", "key", type=FILE, help="A file with an Ed25519 private key: 32 bytes, or their hex.")
_FILE = click.argument("file", type=FILE)
_AFTER = click.option("--after", type=FILE, help="File with a saved head that the ledger must continue.")


POSITION, REJECT = "position", "reject"
"""The kinds of the entries that say how far a log was read, and that keep what is damaged; others are wires."""


@click.group("ledger", short_help="Store logs in a ledger; copy, export and verify it.")
def command() -> None:
    """Manages ledger files; only "ingest" adds entries. To verify a ledger, use "turnwire verify".

    Exits with 1 if FILE is not a ledger, is broken, or does not continue a saved head, or if a proof fails.
    """


@command.command("backup", short_help="Copy a ledger, even one in use.")
@_FILE
@click.argument("to", type=FILE)
def backup(file: str, to: str) -> int:
    """Copies the ledger FILE to the new file TO, even while it is in use; prints the head of the copy."""
    with _opened(file) as ledger:
        write_lines([ledger.backup(to).to_json()])
    return GOOD


@command.command("export", short_help="Print every entry as a line of JSON.")
@_FILE
@click.option("--kind", help="Only entries of one kind.")
def export(file: str, kind: str | None) -> int:
    """Prints every entry of the ledger FILE as a line of JSON; bodies that are not UTF-8 are in hex."""
    with _opened(file) as ledger:
        for entry in ledger.entries(kind=kind):
            fields: dict[str, Any] = entry._asdict()
            try:
                fields["body"] = entry.body.decode()
            except UnicodeDecodeError:
                fields["body"] = None
                fields["body_hex"] = entry.body.hex()
            write_json([{**fields, "chain": entry.chain.hex()}])
    return GOOD


@command.command("ingest", short_help="Append the records of logs, each once.")
@_FILE
@click.argument("sources", nargs=-1, required=True, type=options.SOURCE, metavar="SOURCES...")
@options.format_option
def append(file: str, sources: tuple[str, ...], wire: str | None) -> int:
    """Appends the new records and rejects of SOURCES to the ledger FILE, and creates it if necessary.

    SOURCES are files, directories, globs or URLs. Each record is appended once: a further run continues where the last
    one stopped. Exits with 1 if a record is damaged.
    """
    from turnwire.ledger import Ledger

    names = inputs.checked(sources)
    if inputs.STANDARD_INPUT in names:
        raise click.UsageError("standard input has no position: a further run would append its records again")
    try:
        with Ledger(file) as ledger:
            found = ingest(ledger, list(names), wire=inputs.wire_of(names, wire))
            write_lines([ledger.head().to_json()])
    except sqlite3.Error as error:
        raise _refused(error, file) from error
    complain(f"{found.counts.records:,} records and {found.counts.rejects:,} rejects appended to {inputs.shown(file)}")
    for name, place, size in found.waits:
        complain(f"{inputs.shown(name)}: the last line, {size:,} bytes from byte {place:,} on, waits for its end")
    return BAD_RECORDS if found.counts.rejects else GOOD


class Ingested(NamedTuple):
    """The result of :func:`ingest`. entries: records and rejects; last: the number of the last entry of the ledger;
    waits: the unfinished last lines that wait for their ends: (file, offset, bytes)."""

    entries: int
    last: int
    counts: Counts
    waits: tuple[tuple[str, int, int], ...]


def ingest(ledger: Ledger, source: Any, *, wire: str | None = FORMATS, **options: Any) -> Ingested:
    """Appends what is new in logs to a ledger: a record an entry, its kind the wire and its key the conversation.

    A reject is an entry of kind "reject" with its reason, place and bytes. With each block the position goes into the
    same commit, as an entry of kind "position": a later call, even after a crash, continues there and appends nothing
    twice. A whole JSON object or token at the end of a file needs no newline; all else that is open there waits.
    source, wire and options: as :func:`turnwire.scan` takes them (None: the five wires). Raises what a scan and
    ``Ledger.append_many`` raise; RuleError(append_conflict) if another writer appended meanwhile.
    """
    from turnwire.log.scanning import scan, steps

    options = {"errors": "collect", "columns": ["wire", "conversation"], **options}
    before = next(ledger.find(POSITION, wire or "wires"), None)
    found = scan(source, wire=wire, resume={} if before is None else json.loads(before.body), **options)
    entries: list[tuple[str, Any, str]] = []
    last, total, told = len(ledger), 0, 0
    for batch in steps(found, ends=True):
        if batch is not None:
            every = zip(batch["wire"], batch.raws(), batch["conversation"], strict=True)
            entries += [(name, raw, conversation or "") for name, raw, conversation in every]
            continue
        rejects = [(REJECT, _reject(row), str(row["file"] or "")) for row in found.rejects.since(told)]
        told += len(rejects)
        entries += rejects
        if not entries:
            continue
        place = (POSITION, json.dumps(found.position, separators=(",", ":")), wire or "wires")
        last = ledger.append_many([*entries, place], expect=last)[-1]
        total += len(entries)
        entries.clear()
    waits = [
        (one["name"], one["offset"], one["size"] - one["offset"])
        for one in found.position["files"]  # of compressed ones nothing is known
        if one["tail_bytes"] and one["offset"] < one["size"] and one["given"] is None
    ]
    return Ingested(total, last, found.counts, tuple(waits))


def _reject(row: dict[str, Any]) -> dict[str, Any]:
    """A reject as JSON: bytes that are no UTF-8 as hex."""
    kept = {name: row[name] for name in ("file", "offset", "length", "line", "wire", "reason")}
    kept["reason"] = str(kept["reason"])
    try:
        return {**kept, "text": bytes(row["raw"]).decode()}
    except UnicodeDecodeError:
        return {**kept, "hex": bytes(row["raw"]).hex()}


@command.command("head", short_help="Print the head, signed with --sign.")
@_FILE
@_AFTER
@_KEY
def head(file: str, after: str | None, key: str | None) -> int:
    """Prints the head of the ledger FILE; --sign checks every row first, then signs it."""
    with _opened(file, after=after, key=key) as ledger:
        write_lines([ledger.head().to_json()])
    return GOOD


@command.command("prove", short_help="Prove that an entry is in a ledger, or that nothing was rewritten.")
@_FILE
@click.argument("seq", type=click.IntRange(min=1), required=False)
@click.option("--since", type=click.IntRange(min=0), help="Prove that the ledger continues its first N entries.")
def prove(file: str, seq: int | None, since: int | None) -> int:
    """Prints a proof (RFC 9162) that entry SEQ is in the ledger FILE, or that FILE continues its first --since
    entries."""
    if (seq is None) == (since is None):
        raise click.UsageError("specify either SEQ or --since")
    with _opened(file) as ledger, usage_errors((IndexError,)):
        proof: Any = ledger.prove(seq) if seq is not None else ledger.consistency(since or 0)
    write_json([proof.to_dict()])
    return GOOD


@command.command("check", short_help="Check a proof against saved heads.")
@click.argument("proof", type=FILE)
@click.option("--head", "new", type=FILE, required=True, help="The head that the proof leads to.")
@click.option("--old", type=FILE, help="The head that the proof starts from.")
@click.option("--leaf", help="The leaf hash of the entry, in hex.")
@_KEY
def check(proof: str, new: str, old: str | None, leaf: str | None, key: str | None) -> int:
    """Checks a PROOF of "turnwire ledger prove" against saved heads, without the ledger.

    With --sign, a witness countersigns and prints the head if it continues --old, the head that the witness
    countersigned last.
    """
    from turnwire.ledger import ConsistencyProof, InclusionProof

    to, before = read_head(new), None if old is None else read_head(old)
    try:
        fields = json.loads(inputs.content(proof))
        found: Any = (ConsistencyProof if "old" in fields else InclusionProof).from_dict(fields)
        wanted = None if leaf is None else bytes.fromhex(leaf)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        why = "" if isinstance(error, (UnicodeDecodeError, json.JSONDecodeError)) else f": {error}"
        raise click.UsageError(f"{proof!r} is not a ledger proof{why}") from None
    if isinstance(found, ConsistencyProof):
        holds = found.holds(before, to)
    elif before is not None or key is not None:
        raise click.UsageError("--old and --sign need a proof that a ledger continues itself")
    else:
        holds = found.holds(to, leaf=wanted)
    if not holds:
        write_lines(["the proof is invalid"])
        return BAD_RECORDS
    write_lines(
        ["the proof is valid" if key is None else to.countersigned(_private(key), after=before, proof=found).to_json()]
    )
    return GOOD


def _private(file: str) -> bytes:
    raw: bytes = inputs.content(file)
    if len(raw) != 32:
        with suppress(ValueError):
            raw = bytes.fromhex(raw.decode("ascii"))
    if len(raw) != 32:
        raise click.UsageError(f"{file!r} does not contain a private key (32 bytes, or 64 hex digits)")
    return raw


@contextmanager
def _opened(file: str, *, after: str | None = None, key: str | None = None) -> Iterator[Ledger]:
    """The ledger of a file that is there, for reading. Raises OSError."""
    from turnwire.ledger import Ledger

    signer = None if key is None else _private(key)
    kept = None if after is None else read_head(after)
    try:
        with Ledger(file, signer=signer, after=kept, read_only=True) as ledger:
            yield ledger
    except sqlite3.Error as error:
        raise _refused(error, file) from error


def _refused(error: sqlite3.Error, file: str) -> OSError:
    from turnwire.ledger.connection import input_output

    return input_output(error, file) or OSError(5, str(error), file)
