"""Which wire a command reads: the one that was named, or nSLIP."""

from __future__ import annotations

from typing import Any

import click

from turnwire.contract import WIRES, BulkScanner, bulk_scanner
from turnwire.errors import DecodeError

DEFAULT = "nslip"


def wire_option(command: Any) -> Any:
    """The option --wire of a command."""
    text = f"The wire to read; {DEFAULT} where none is named."
    return click.option("--wire", type=click.Choice(WIRES), help=text)(command)


def scannable() -> list[str]:
    """The wires that this version scans."""
    return [name for name in WIRES if _scanner(name) is not None]


def chosen(name: str | None) -> BulkScanner:
    """The scanner of the wire. Raises UsageError where it cannot be scanned."""
    try:
        return bulk_scanner(name or DEFAULT)
    except DecodeError as error:
        raise click.UsageError(error.text) from None


def _scanner(name: str) -> BulkScanner | None:
    try:
        return bulk_scanner(name)
    except DecodeError:
        return None
