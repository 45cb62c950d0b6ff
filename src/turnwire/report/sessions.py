"""What the first records of each wire cost where many are sent at once: as JSON lines and as a session."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from turnwire.errors import WireError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.report.measuring import Meter
    from turnwire.report.records import Chunk

FIRST = 200
"""Records of each wire that are held as they follow each other."""
MOST_BYTES = 1 << 20
"""Bytes of these."""


class Session(NamedTuple):
    """The first records of a wire as one text. written, json, session: tokens of the records as they are, of
    minified JSON lines, and of a session with its explanation, in which each of them comes back; why: why they were
    not compared (then json and session are None)."""

    wire: str
    records: int
    written: int
    json: int | None
    session: int | None
    why: str


class _Held:
    """The first records of one wire, until there are enough."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self.bytes = 0
        self.tokens = 0
        self.full = False


class Sessions:
    """Takes chunks of records, keeps the first ones of each wire."""

    def __init__(self) -> None:
        self._held: dict[str, _Held] = {}

    def add(self, chunk: Chunk, tokens: NDArray[np.int64] | None) -> None:
        """Looks at the records of a chunk in order; without tokens nothing is kept."""
        if tokens is None:
            return
        wires = chunk.coded("wire")
        for code in np.unique(wires.codes).tolist():
            held = self._held.setdefault(wires.names[code], _Held())
            if held.full:
                continue
            for row in np.flatnonzero(wires.codes == code)[: FIRST - len(held.messages)].tolist():
                held.bytes += int(chunk.lengths[row])
                held.full = held.bytes > MOST_BYTES
                if held.full:
                    break
                held.messages.append(chunk.message(row))
                held.tokens += int(tokens[row])
            held.full = held.full or len(held.messages) == FIRST

    def found(self, used: Meter) -> list[Session]:
        """What was kept, counted, in the order in which wires were met."""
        return [
            _counted(wire, held, import_module("turnwire.tokens"), used.name)
            for wire, held in self._held.items()
            if held.messages
        ]


def _counted(wire: str, held: _Held, tokens: Any, name: str) -> Session:
    sizes = wire, len(held.messages), held.tokens
    try:
        found = tokens.compare(held.messages, [wire], [name], formats=("json", "session"), per="conversation")
    except WireError as error:  # what its own wire cannot write
        return Session(*sizes, None, None, str(error))
    totals = {row.format: row.total for row in found.rows if row.round_trip}
    if not {"json", "session"} <= totals.keys():
        return Session(*sizes, None, None, "; ".join(found.absent.values()) or "they do not come back")
    return Session(*sizes, totals["json"], totals["session"], "")
