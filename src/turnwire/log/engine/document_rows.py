"""Documents of a block as rows: whole texts that a wire has beside its messages, such as those of the Space Format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.errors import DecodeError, Reason
from turnwire.log.engine.claims import DOCUMENT, REFUSED, Claims
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from turnwire.finding.documents import Document
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]


def read_document(search: Pass, found: Document) -> dict[str, Any] | DecodeError:
    """The columns of a document, as its wire has them, or why it is refused: it is too large, or no UTF-8."""
    if found.too_large:
        return DecodeError(Reason.MESSAGE_TOO_LARGE, "the document is longer than the limit", offset=search.limit)
    raw = search.view[found.start : found.stop]
    try:
        values: dict[str, Any] = search.finder.documents.columns(raw, fences=search.state.documents.inside)
    except DecodeError as error:
        return error
    return values


def fill_documents(search: Pass, found: Claims, rows: list[int]) -> list[Arrays]:
    """Fills the rows that were left open for documents, in order; those that are refused are given as rejects."""
    refused = []
    waiting = iter(rows)
    numbers = np.flatnonzero((found.what == DOCUMENT) | (found.what == REFUSED)).tolist()
    for number, said in zip(numbers, search.texts, strict=True):
        place = int(found.starts[number]), int(found.stops[number]), int(found.lines[number])
        if isinstance(said, DecodeError):
            refused.append(_reject(search, *place, said.reason, said.offset or 0))
        else:
            _fill(search, next(waiting), place, said)
    return refused


def _fill(search: Pass, row: int, place: tuple[int, int, int], values: dict[str, Any]) -> None:
    start, stop, line = place
    finder, arrays = search.finder, search.space.arrays
    known: dict[str, Any] = {
        "offset": search.base + start,
        "length": stop - start,
        "line": line,
        "place": start,
        "size": stop - start,
        "wire": finder.document_wire,
        **dict.fromkeys(("inner", "sequence", "time", "depth"), 0),
    }
    present = 0
    for name, value in finder.document_values(values).items():
        present |= 1 << finder.valid[name]
        if isinstance(value, tuple):
            known[f"{name}.offset"], known[f"{name}.length"] = start + value[0], value[1]
        else:
            known[name] = value
    for name, array in arrays.items():
        if name != "arena":
            array[row] = known.get(name, 0)
    arrays["present"][row] = present


def _reject(search: Pass, start: int, stop: int, line: int, reason: Reason, fault: int) -> Arrays:
    table = quarantine.table(1, mixed=True)
    values = {
        "offset": search.base + start,
        "length": stop - start,
        "line": line,
        "fault": search.base + start + fault,
        "reason": search.finder.scanner.reasons.index(reason),
        "wire": search.finder.document_wire,
        "inner": -1,
        "row": 0,
    }
    for name, array in table.items():
        array[0] = values[name]
    return table
