"""Keeps the records of logs in a ledger, each once, so that any later change can be detected."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from turnwire.contract import FORMATS
from turnwire.ledger import Ledger
from turnwire.log.scanning import Counts, scan, steps

POSITION, REJECT = "position", "reject"
"""The kinds of the entries that say how far a log was read, and that keep what is damaged; others are wires."""


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
