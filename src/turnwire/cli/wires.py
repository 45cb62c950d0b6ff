"""Which wire a command reads: the one that was named, or all of them at once."""

from __future__ import annotations

from typing import Any

import click

from turnwire.contract import WIRES, BulkScanner


def wire_option(command: Any) -> Any:
    """The option --wire of a command."""
    text = "Only the records of this wire; all wires by default."
    return click.option("--wire", type=click.Choice(WIRES), help=text)(command)


def scanner(wire: str | None) -> BulkScanner:
    """What a scan of the wire knows, or for None a scan of all wires."""
    from turnwire.log.engine.all_wires import finder  # NumPy, which commands that do not scan do without

    return finder(wire).scanner


def told(counts: dict[str, int]) -> str:
    """Which wires there were: the one that was looked for, or of several how many records of each."""
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{wire} {count:,}" for wire, count in counts.items() if count)
