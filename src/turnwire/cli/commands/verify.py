"""``turnwire verify``: proves a ledger file, and says what was proved and the first place that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD
from turnwire.cli.output import printable, write_json, write_lines
from turnwire.errors import RuleError

if TYPE_CHECKING:
    from turnwire.ledger import Checkpoint, Verdict


@click.command("verify", short_help="Verify ledger files; report what was proved and the first failure.")
@click.argument("files", nargs=-1, required=True, type=options.FILE, metavar="FILES...")
@click.option("--head", "heads", multiple=True, type=options.FILE, help="File with a saved head. Repeatable.")
@click.option("--key", "keys", multiple=True, help="A trusted Ed25519 public key in hex; heads must be signed by one.")
@click.option("--witness", "witnesses", multiple=True, help="The public key of a trusted witness, in hex. Repeatable.")
@click.option(
    "--threshold", type=click.IntRange(min=0), help="Number of witnesses that must have countersigned (default: all)."
)
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each file.")
def command(
    files: tuple[str, ...], heads: tuple[str, ...], threshold: int | None, as_json: bool, **keys: tuple[str, ...]
) -> int:
    """Verifies ledger FILES: tables, every row, the hash chain, the Merkle tree, and saved heads.

    Exits with 1 if something fails or a file is not a ledger, and with 3 if a file cannot be read.
    """
    from turnwire.ledger import verify_file

    trusted, witnesses = ([_key(key) for key in keys[name]] for name in ("keys", "witnesses"))
    if (threshold or 0) > len(witnesses):
        raise click.UsageError(f"--threshold cannot exceed the number of --witness options: {len(witnesses)}")
    kept = [read_head(head) for head in heads]
    outcome = GOOD
    for file in files:
        verdict = verify_file(file, *kept, trusted=trusted, witnesses=witnesses, threshold=threshold)
        outcome = outcome if verdict else BAD_RECORDS
        if as_json:
            fault = verdict.fault._asdict() if verdict.fault is not None else None
            write_json([{"file": file, "ok": bool(verdict), **verdict._asdict(), "fault": fault}])
        else:
            write_lines(map(printable, _lines(file, verdict, bool(kept))))
    return outcome


def read_head(file: str) -> Checkpoint:
    """The checkpoint that a file holds. Raises UsageError, OSError."""
    from turnwire.ledger import Checkpoint

    text = inputs.content(file)
    if not text:
        raise click.UsageError(printable(f"{file} is not a ledger head: the file is empty"))
    try:
        return Checkpoint.from_json(text)
    except RuleError as error:
        raise click.UsageError(printable(f"{file} is not a ledger head: {error.text}")) from None


def _key(text: str) -> bytes:
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise click.UsageError(f"--key must be a public key in hex digits, not {text!r}") from None


def _lines(file: str, verdict: Verdict, kept: bool) -> list[str]:
    from turnwire.ledger.connection import NO_LEDGER

    if verdict.fault is not None and verdict.fault.where == NO_LEDGER:
        return [f"{file}: not a ledger: {verdict.fault.text}"]
    lines = [f"{file}: {'good' if verdict else 'BROKEN'}"]
    lines += [f"  proved: {sentence}" for sentence in verdict.proved]
    if verdict.fault is not None:
        place = "" if verdict.fault.seq is None else f", entry {verdict.fault.seq}"
        lines.append(f"  first failure: {verdict.fault.where}{place}: {verdict.fault.text}")
    elif not kept:
        lines.append("  not proved: that the file was not truncated; keep a head elsewhere and pass it with --head")
    return lines
