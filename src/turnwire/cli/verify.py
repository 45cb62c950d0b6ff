"""``turnwire verify``: proves a ledger file, and says what was proved and the first place that fails."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from turnwire.errors import RuleError
from turnwire.ledger import Checkpoint, Verdict, verify_file


@click.command("verify")
@click.argument("files", nargs=-1, required=True, type=click.Path())
@click.option(
    "--head", "heads", multiple=True, type=click.Path(), help="A kept checkpoint (file) to continue; repeatable."
)
@click.option("--key", "keys", multiple=True, help="A trusted Ed25519 public key in hex: heads must be signed by one.")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a file.")
def command(files: tuple[str, ...], heads: tuple[str, ...], keys: tuple[str, ...], as_json: bool) -> None:
    """Prove ledger FILES: schema, every row, hash chain, Merkle tree, and kept heads."""
    worst = 0
    try:
        kept = [Checkpoint.from_json(Path(head).read_bytes()) for head in heads]
        for file in files:
            verdict = verify_file(file, *kept, trusted=[bytes.fromhex(key) for key in keys])
            worst = max(worst, 0 if verdict else 1)
            click.echo(json.dumps(_fields(file, verdict)) if as_json else _text(file, verdict, bool(kept)))
    except (RuleError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        click.echo(f"turnwire verify: {error}", err=True)
        worst = 3
    sys.exit(worst)


def _fields(file: str, verdict: Verdict) -> dict[str, object]:
    fault = verdict.fault._asdict() if verdict.fault is not None else None
    return {"file": file, "ok": bool(verdict), **verdict._asdict(), "fault": fault}


def _text(file: str, verdict: Verdict, kept: bool) -> str:
    lines = [f"{file}: {'good' if verdict else 'BROKEN'}"]
    lines += [f"  proved: {sentence}" for sentence in verdict.proved]
    if verdict.fault is not None:
        place = "" if verdict.fault.seq is None else f", entry {verdict.fault.seq}"
        lines.append(f"  fails first: {verdict.fault.where}{place}: {ascii(verdict.fault.text)[1:-1]}")
    elif not kept:
        lines.append("  not proved: that no tail was cut off; keep a head elsewhere and give it with --head")
    return "\n".join(lines)
