"""The common columns of CSP/1's records: its own scan makes values, the search of all wires has rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.engine.claims import TEXTS
from turnwire.log.engine.columns import table_dtypes, text_spans
from turnwire.log.engine.fill import read_again

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.block_pass import Pass

    Arrays = dict[str, Any]


def fill_records(search: Pass, values: Arrays, rows: NDArray[np.int64]) -> None:
    """Fills the rows that were left open for the records of CSP/1, in the order of ``values``."""
    count = len(rows)
    if not count:
        return
    wire, arrays, valid = search.finder.csp, search.space.arrays, search.finder.valid
    into: Any = slice(rows[0], rows[-1] + 1) if rows[-1] - rows[0] + 1 == count else rows
    known = sum(1 << valid[name] for name in ("wire", "kind") if name in valid and search.finder.code is None)
    present = np.full(count, known, np.uint64) | _texts(search, values, into, count)
    plain = {
        "offset": values["offset"],
        "length": values["length"],
        "place": values["offset"] - search.base,
        "size": values["length"],
        "line": values["line"],
        "present": present,
        "wire": wire.code,
        **dict.fromkeys(("inner", "sequence", "time", "depth"), 0),
    }
    if search.finder.code is None:
        plain["kind"] = wire.kinds[values[wire.kind]]
    plain |= {name: values[name] for name in search.finder.flags if name in values}
    for name, value in plain.items():
        if name in arrays:
            arrays[name][into] = value


def fill_strings(search: Pass) -> None:
    """Fills the common columns of CSP/1 in strings, which the core only locates."""
    wire, arrays, valid = search.finder.csp, search.space.arrays, search.finder.valid
    if search.finder.code is not None:
        return  # its own columns come from the second pass, and nobody asks for those of another wire
    filled = arrays["present"][: search.rows] >> np.uint64(valid["kind"]) & np.uint64(1)
    rows = np.flatnonzero((arrays["wire"][: search.rows] == wire.code) & (filled == 0))
    asked = [source for name in TEXTS if f"{name}.offset" in arrays for source in wire.sources(name)]
    dtypes = {**table_dtypes(wire.scanner, asked), wire.kind: "u1"}
    arena = memoryview(arrays.get("arena", b""))
    values = read_again(
        wire.scanner, search.view, arena, arrays["place"][rows], arrays["size"][rows], dtypes, search.keep
    )
    present = arrays["present"][rows] | np.uint64(1 << valid["kind"] | 1 << valid["wire"])
    if "kind" in arrays:
        arrays["kind"][rows] = wire.kinds[values[wire.kind]]
    arrays["present"][rows] = present | _texts(search, values, rows, len(rows))


def _texts(search: Pass, values: Arrays, into: Any, count: int) -> Any:
    """Fills the common columns that are texts, for records of CSP/1; the bits of ``present`` of those there are."""
    wire, arrays, valid = search.finder.csp, search.space.arrays, search.finder.valid
    present = np.zeros(count, np.uint64)
    for name in TEXTS:
        for source in wire.sources(name) if f"{name}.offset" in arrays and search.finder.code is None else ():
            offsets, lengths = text_spans(wire.scanner, values, count, source.name)
            arrays[f"{name}.offset"][into] = offsets
            arrays[f"{name}.length"][into] = lengths
            there = values["present"] >> np.uint32(wire.scanner.bits[source.name]) & np.uint32(1)
            present |= there.astype(np.uint64) << np.uint64(valid[name])
    return present
