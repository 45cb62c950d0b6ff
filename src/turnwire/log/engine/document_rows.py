"""Documents of a block as rows: whole texts that a wire has beside its messages, such as those of the Space Format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.errors import DecodeError, Reason
from turnwire.framing.documents import Mark, mark
from turnwire.log.engine.claims import DOCUMENT, REFUSED, Claims
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnwire.contract import BulkScanner, DocumentPlan, Wire
    from turnwire.framing.documents import Document
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]


class DocumentWire:
    """A wire that has documents. code: its number; kinds: the numbers of its kinds; read: whether ``decode`` reads
    their columns, as those of its messages (it has a ``TextPlan``); mark: how they begin."""

    def __init__(self, wire: Wire, code: int, kinds: Sequence[int], scanner: BulkScanner) -> None:
        self.plan: DocumentPlan = wire.documents
        self.code, self.read, self._decode, self._kinds = code, scanner.read is not None, wire.decode, kinds
        self.mark: Mark = mark(self.plan.opening, self.plan.header, code)
        there = {column.name for column in scanner.columns}
        self._sources = [
            (name, source) for name, (way, source) in scanner.common.items() if way == "column" and source in there
        ]

    def values(self, raw: memoryview, inside: bool) -> dict[str, Any]:
        """The wire's own columns of a document, as far as they are not read again. Raises DecodeError."""
        if self.read or self.plan.columns is None:
            self._decode(raw.tobytes())
            return {}
        return dict(self.plan.columns(raw, fences=inside))

    def common(self, values: dict[str, Any]) -> dict[str, Any]:
        """The same by the names that any wire has."""
        there = {name: values[source] for name, source in self._sources if source in values}
        if "kind" in there:
            there["kind"] = self._kinds[there["kind"]]
        return {"wire": self.code, **there}


def read_document(search: Pass, found: Document) -> dict[str, Any] | DecodeError:
    """The columns of a document, as its wire has them, or why it is refused: it is too large, or none."""
    if found.too_large:
        return DecodeError(Reason.MESSAGE_TOO_LARGE, "the document is longer than the limit", offset=search.limit)
    raw = search.view[found.start : found.stop]
    try:
        return search.finder.documents_of(found.wire).values(raw, search.state.documents.inside)
    except DecodeError as error:
        return error


def fill_documents(search: Pass, found: Claims, rows: list[int]) -> list[Arrays]:
    """Fills the rows that were left open for documents, in order; those that are refused are given as rejects."""
    refused = []
    waiting = iter(rows)
    numbers = np.flatnonzero((found.what == DOCUMENT) | (found.what == REFUSED)).tolist()
    for number, (wire, said) in zip(numbers, search.texts, strict=True):
        place = int(found.starts[number]), int(found.stops[number]), int(found.lines[number])
        if isinstance(said, DecodeError):
            refused.append(_reject(search, wire, *place, said.reason, said.offset or 0))
        else:
            _fill(search, wire, next(waiting), place, said)
    return refused


def _fill(search: Pass, wire: DocumentWire, row: int, place: tuple[int, int, int], values: dict[str, Any]) -> None:
    start, stop, line = place
    finder, arrays = search.finder, search.space.arrays
    known: dict[str, Any] = {
        "offset": search.base + start,
        "length": stop - start,
        "line": line,
        "place": start,
        "size": stop - start,
        "wire": wire.code,
        **dict.fromkeys(("inner", "sequence", "time", "depth"), 0),
    }
    present = 0
    if finder.wire is None:
        values = wire.common(values)
    for name, value in values.items() if finder.code in (None, wire.code) else ():
        present |= 1 << finder.valid[name]
        if isinstance(value, tuple):
            known[f"{name}.offset"], known[f"{name}.length"] = start + value[0], value[1]
        else:
            known[name] = value
    for name, array in arrays.items():
        if name != "arena":
            array[row] = known.get(name, 0)
    arrays["present"][row] = present


def _reject(search: Pass, wire: DocumentWire, start: int, stop: int, line: int, reason: Reason, fault: int) -> Arrays:
    table = quarantine.table(1, mixed=True)
    values = {
        "offset": search.base + start,
        "length": stop - start,
        "line": line,
        "fault": search.base + start + fault,
        "reason": search.finder.scanner.reasons.index(reason),
        "wire": wire.code,
        "inner": -1,
        "row": 0,
    }
    for name, array in table.items():
        array[0] = values[name]
    return table
