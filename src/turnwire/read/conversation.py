"""Sessions of the formats of real traffic, record by record, as plain values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from turnwire import registry
from turnwire.contract import FORMATS
from turnwire.formats.parts import parts_of
from turnwire.log.output.json_lines import times
from turnwire.log.scanning import Counts, scan

if TYPE_CHECKING:
    from turnwire.log.output.batch import Batch

COLUMNS = (
    *("wire", "kind", "time", "sender", "model", "tool", "call_id", "conversation", "parent", "id", "subject", "text"),
    *("error", "failed", "sidechain", "output_tokens"),
)
"""The columns of a turn, behind its file and line."""


class Turns:
    """The turns of a scan: iterate it once. ``counts``: of the scan so far."""

    def __init__(
        self, source: Any, wire: str, conversation: str | None, columns: Sequence[str], whole: bool, options: Any
    ) -> None:
        where = None if conversation is None else {"conversation": conversation}
        asked = {"columns": ("line", *columns), "where": where, "errors": "skip", **options}
        self._scan = scan(source, wire=wire, **asked)
        self._columns, self._whole = columns, whole
        self._seen: set[bytes] = set()

    @property
    def counts(self) -> Counts:
        """Records, rejects and bytes that were read so far."""
        return self._scan.counts

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for batch in self._scan:
            yield from self._of(batch)

    def _of(self, batch: Batch) -> Iterator[dict[str, Any]]:
        valid = {name: batch.valid(name) for name in self._columns}
        for row in range(len(batch)):
            raw = bytes(batch.raw(row))
            mark = _mark(raw)
            if mark in self._seen:  # a session that was resumed is written again
                continue
            self._seen.add(mark)
            turn: dict[str, Any] = {"file": batch.file, "line": int(batch["line"][row])}
            for name in self._columns:
                value: Any = batch[name][row] if valid[name][row] else None
                turn[name] = value.item() if hasattr(value, "item") else value
            if self._whole:
                turn["fields"] = registry.wire(turn["wire"]).decode(raw).fields
            else:
                turn["time"] = times([turn["time"]])[0]
                turn["arguments"] = self._arguments(turn, raw)
            yield turn

    @staticmethod
    def _arguments(turn: dict[str, Any], raw: bytes) -> str | None:
        """The arguments of a call, as text."""
        found: Any = registry.wire(turn["wire"])
        if turn["kind"] not in found.table.asks:
            return None
        calls = [part for part in parts_of(found.decode(raw).fields, found.table.parts) if part.kind == "call"]
        if not calls or calls[-1].arguments is None:
            return None
        arguments = calls[-1].arguments
        return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


def _mark(raw: bytes) -> bytes:
    from hashlib import blake2b

    return blake2b(raw, digest_size=12).digest()


def turns(
    source: Any,
    *,
    wire: str | None = None,
    conversation: str | None = None,
    columns: Sequence[str] = COLUMNS,
    whole: bool = False,
    **options: Any,
) -> Turns:
    """The records of sessions, as they follow each other in their files, each with its columns (``COLUMNS``), its file
    and line, its time as RFC 3339 and, of a call, its arguments as text. A record that is written again is left out.

    source: as :func:`turnwire.scan` takes it, with its options. wire: one format; all by default. conversation: only
    this one. columns: others in their place. whole: with each its object, as ``fields``, and its time as the scan gives
    it. Raises what a scan raises.
    """
    return Turns(source, wire or FORMATS, conversation, columns, whole, options)
