"""Finds the bulk scanner of each wire: its own, or one that is made of its text plan."""

from __future__ import annotations

from functools import lru_cache

from turnwire import registry
from turnwire.contract import BulkScanner, Wire
from turnwire.errors import UnknownName


def bulk_scanner(name: str) -> BulkScanner:
    """The bulk scanner of a wire. Raises UnknownName where it cannot be scanned."""
    wire = registry.wire(name)
    if not wire.is_scanned:
        text = f"{name} cannot be scanned: the wire has no plan or no bulk scanner; decode() reads it"
        raise UnknownName("wire", name, registry.scanned(), text)
    return _made_of_plan(wire) if wire.bulk is None else wire.bulk


@lru_cache(64)
def _made_of_plan(wire: Wire) -> BulkScanner:
    from turnwire.log.engine import text_columns  # which needs the tables of rejects, and these need scanners

    return text_columns.scanner(wire)
