"""Which wire a command reads: the one that was named, or the default."""

from __future__ import annotations

from typing import Any

import click

from turnwire.contract import WIRES, BulkScanner, bulk_scanner
from turnwire.errors import DecodeError

DEFAULT = "nslip"
"""What is read where no wire is named, until one scan reads all of them."""


def wire_option(command: Any) -> Any:
    """The option --wire of a command."""
    return click.option("--wire", type=click.Choice(WIRES), help=f"The wire to read; {DEFAULT} by default.")(command)


def scannable() -> list[str]:
    """The wires that this version scans."""
    return [name for name in WIRES if _scanner(name) is not None]


def chosen(name: str | None) -> BulkScanner:
    """The scanner of the wire that was named, or of the default. Raises UsageError where it cannot be scanned."""
    try:
        return bulk_scanner(DEFAULT if name is None else name)
    except DecodeError as error:
        raise click.UsageError(error.text) from None


def _scanner(name: str) -> BulkScanner | None:
    try:
        return bulk_scanner(name)
    except DecodeError:
        return None
