"""Rows of wires that have a ``TextPlan``: of the lines that they claim, and the common columns of all their records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.log.engine.claims import BAD_TEXT, TEXT, Claims
from turnwire.log.engine.columns import DTYPES, own
from turnwire.log.engine.fill import records_at
from turnwire.log.engine.text_wires import HELD, TextWires
from turnwire.log.output import rejects as quarantine
from turnwire.log.wire_scanners import bulk_scanner

if TYPE_CHECKING:
    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]

_PLACES = ("offset", "length", "place", "size", "line", "wire")


def claim(search: Pass, wires: TextWires, found: Claims, start: int, final: bool) -> int | None:
    """Adds what wires of lines claim of what is left to what CSP/1 claims. Where lines begin that may go on behind what
    is there, or None."""
    gaps = found.gaps(start)
    claims = []
    for number, (first, last) in enumerate(gaps):
        ends = final or number + 1 < len(gaps)
        claims += wires.claims(search.view, first, last, ends, search.limit)
    held = claims.pop().start if claims and claims[-1].what == HELD else None
    if held is None:
        found.insert(claims, search.line_of, search.base)
    return held


def fill_claimed(search: Pass, found: Claims, rows: list[int]) -> list[Arrays]:
    """Says in the rows that were left open where the records are, in order; the damaged ones are given as rejects."""
    arrays = search.space.arrays
    numbers = np.flatnonzero(found.what == TEXT)
    starts, stops = found.starts[numbers], found.stops[numbers]
    places = (search.base + starts, stops - starts, starts, stops - starts, found.lines[numbers], found.wires[numbers])
    values = dict(zip(_PLACES, places, strict=True))
    for name, array in arrays.items():
        if name != "arena":
            array[rows] = values.get(name, 0)
    bad = np.flatnonzero(found.what == BAD_TEXT)
    if not len(bad):
        return []
    table = quarantine.table(len(bad), mixed=True)
    refused = {
        "offset": search.base + found.starts[bad],
        "length": found.stops[bad] - found.starts[bad],
        "line": found.lines[bad],
        "fault": found.faults[bad],
        "reason": found.reasons[bad],
        "wire": found.wires[bad],
        "inner": -1,
        "row": 0,
    }
    for name, array in table.items():
        array[:] = refused[name]
    return [table]


def fill_common(search: Pass, codes: tuple[int, ...]) -> None:
    """Fills the common columns of the records of these wires (their numbers), of which the search says where they
    are."""
    finder, arrays = search.finder, search.space.arrays
    if finder.code is not None or not codes:
        return  # its own columns come from the second pass, and nobody asks for those of another wire
    kind = np.uint64(finder.valid["kind"])
    named = arrays["present"][: search.rows] >> kind & np.uint64(1)
    for code in codes:
        rows = np.flatnonzero((arrays["wire"][: search.rows] == code) & (named == 0))
        if len(rows):
            _fill(search, code, rows)


def _fill(search: Pass, code: int, rows: Any) -> None:
    finder, arrays = search.finder, search.space.arrays
    name = registry.names()[code]
    scanner = bulk_scanner(name)
    assert scanner.read is not None, "these wires are read by their decode"
    mine, dtypes, sources = own(scanner), {"present": "u8"}, {}
    for common, (way, source) in scanner.common.items():
        text = f"{common}.offset" in arrays
        if text or common in arrays:
            sources[common] = way, source
            dtypes |= _dtypes(mine[source].kind, source)
    arena = memoryview(arrays.get("arena", b""))
    records = [bytes(one) for one in records_at(search.view, arena, arrays["place"][rows], arrays["size"][rows])]
    values, more = scanner.read(records, dtypes, search.size + len(arena))
    present = arrays["present"][rows] | np.uint64(1 << finder.valid["kind"] | 1 << finder.valid["wire"])
    texts = [arrays.get("arena", b""), more]
    for common, (way, source) in sources.items():
        there = values["present"] >> np.uint64(scanner.bits[source]) & np.uint64(1)
        if way == "number":
            place = search.size + sum(map(len, texts))
            offsets, lengths, digits = _decimals(values[source], there, place)
            texts.append(digits)
            arrays[f"{common}.offset"][rows], arrays[f"{common}.length"][rows] = offsets, lengths
        elif f"{common}.offset" in arrays:
            for part in ("offset", "length"):
                arrays[f"{common}.{part}"][rows] = values[f"{source}.{part}"]
        elif common == "kind":
            arrays[common][rows] = np.array(finder.kinds[name], np.uint8)[values[source]]
        else:
            there &= (values[source] <= np.iinfo(np.int64).max).astype(np.uint64)
            # A time of its own goes before that of the line.
            arrays[common][rows] = np.where(there != 0, values[source].astype(np.int64), arrays[common][rows])
        present |= there << np.uint64(finder.valid[common])
    arrays["present"][rows] = present
    arrays["arena"] = b"".join(texts)


def _dtypes(kind: str, name: str) -> dict[str, str]:
    return {f"{name}.offset": "i8", f"{name}.length": "i8"} if kind == "text" else {name: DTYPES[kind]}


def _decimals(numbers: Any, there: Any, place: int) -> tuple[list[int], list[int], bytes]:
    """Numbers as decimal text that will are at ``place``: offsets, lengths, the text."""
    offsets, lengths, digits = [], [], []
    for number, known in zip(numbers.tolist(), there.tolist(), strict=True):
        text = str(number).encode() if known else b""
        offsets.append(place)
        lengths.append(len(text))
        digits.append(text)
        place += len(text)
    return offsets, lengths, b"".join(digits)
