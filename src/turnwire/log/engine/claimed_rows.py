"""The common columns of CSP/1's records: its own scan makes values, the search of all wires has rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.log.engine.claims import TEXTS
from turnwire.log.engine.columns import table_dtypes, text_spans
from turnwire.log.engine.fill import read_again

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from turnwire.log.engine.block_pass import Pass
    from turnwire.log.engine.claims import Claims

    Arrays = dict[str, Any]


LINE_COLUMNS = ("place", "size", "present", "wire", "kind", "inner", "sequence", "time", "depth")
"""What the search says of a record of a wire of lines."""
_heads = _backend.load("framing.line_heads")
_views = _backend.load("log.views")


def fill_records(search: Pass, values: Arrays, rows: NDArray[np.int64] | slice, *, direct: bool = False) -> None:
    """Fills the rows that were left open for the records of CSP/1, in the order of ``values``. direct: what both have
    is in its rows already, but for the numbers of kinds."""
    count = len(values["offset"])
    if not count:
        return
    wire, arrays, valid = search.finder.csp, search.space.arrays, search.finder.valid
    into: Any = rows
    if not isinstance(rows, slice) and rows[-1] - rows[0] + 1 == count:
        into = slice(rows[0], rows[-1] + 1)
    known = sum(1 << valid[name] for name in ("wire", "kind") if name in valid and search.finder.code is None)
    names = [name for name in LINE_COLUMNS if name in arrays and (name != "kind" or search.finder.code is None)]
    made = {
        name: arrays[name][into] if isinstance(into, slice) else np.empty(count, arrays[name].dtype) for name in names
    }
    found = (values["offset"], values["length"], values["present"], values[wire.kind])
    _views.line_rows(made, *found, search.base, wire.code, wire.kinds, known, _moves(search))
    if not isinstance(into, slice):
        for name, value in made.items():
            arrays[name][into] = value
    if direct:
        return
    for name, there in wire.claimed(arrays)[1].items():
        if name != wire.kind:
            arrays[there][into] = values[name]


def fill_directly(search: Pass, found: Claims) -> bool:
    """Fills the rows of a block of which good records of CSP/1 are all there is, up to where their scan goes on. False
    where there may be more."""
    records, count = found.records, len(found.records["offset"])
    if not found.direct or search.finder.tokens:
        return False
    if not _heads.only_records(search.view, records["offset"], records["length"], count, search.base, found.position):
        return False
    fill_records(search, records, slice(count), direct=True)
    search.rows = count
    lines = search.state.lines
    lines.at = lines.held = -1  # what was open in the block before is closed, or is text
    return True


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
    for name in TEXTS:
        for source in wire.sources(name) if f"{name}.offset" in arrays else ():
            offsets, lengths = text_spans(wire.scanner, values, len(rows), source.name)
            arrays[f"{name}.offset"][rows] = offsets
            arrays[f"{name}.length"][rows] = lengths
    _views.moved_bits(values["present"], _moves(search), present)
    arrays["present"][rows] = present


def _moves(search: Pass) -> list[tuple[int, int]]:
    """Bits of ``present`` that say which texts a record of CSP/1 has: its own, and that of the common column."""
    wire, finder = search.finder.csp, search.finder
    asked = [name for name in TEXTS if finder.code is None and f"{name}.offset" in search.space.arrays]
    return [(wire.scanner.bits[source.name], finder.valid[name]) for name in asked for source in wire.sources(name)]
