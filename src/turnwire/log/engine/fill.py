"""The second pass of a scan: columns of records that were located by the search of all wires, from their bytes.

The search says where a record is, whatever it is in. A wire whose columns it does not fill itself reads the
bytes of its records once more, all of a block at once, by its own bulk scan or, with a ``TextPlan``, by its decode.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import _backend
from turnwire.contract import BulkScanner
from turnwire.log.output import rejects as quarantine

if TYPE_CHECKING:
    from collections.abc import Iterator

    Arrays = dict[str, Any]

_views = _backend.load("log.views")
LOCATION = {
    "offset": "i8",
    "length": "i8",
    "line": "i8",
    "place": "i8",
    "size": "i8",
    "inner": "i8",
    "time": "i8",
    "present": "u8",
    "wire": "u1",
    "depth": "u1",
}
"""What the search says of every record: see the core's ``scan_block``."""


def only(
    arrays: Arrays, rows: int, rejects: list[tuple[Arrays, int]], code: int
) -> tuple[Arrays, int, list[tuple[Arrays, int]]]:
    """The records and rejects of one wire, by its number."""
    mask = arrays["wire"][:rows] == code
    every = bool(mask.all())
    before = None if every else np.append(0, np.cumsum(mask))
    if before is not None:
        arrays = {name: array if name == "arena" else array[:rows][mask] for name, array in arrays.items()}
        rows = int(before[-1])
    kept = []
    for table, count in rejects:
        found = {name: array[:count] for name, array in table.items()}
        mine = found["wire"] == code
        if not mine.all():
            found = {name: array[mine] for name, array in found.items()}
        if before is not None:
            found["row"] = before[found["row"]]
        if len(found["wire"]):
            kept.append((found, len(found["wire"])))
    return arrays, rows, kept


def records_at(view: memoryview, arena: memoryview, places: Any, sizes: Any) -> Iterator[memoryview]:
    """The bytes of the records at these places of a block, or behind its end of its arena."""
    size = len(view)
    for place, length in zip(places.tolist(), sizes.tolist(), strict=True):
        yield view[place : place + length] if place < size else arena[place - size : place - size + length]


def read_again(
    scanner: BulkScanner, view: memoryview, arena: memoryview, places: Any, sizes: Any, dtypes: Arrays, keep: bool
) -> Arrays:
    """The wire's own columns (``dtypes``) of the records at these places; texts are spans where the records are."""
    count = len(places)
    arrays: Arrays = {name: np.zeros(count, dtype) for name, dtype in dtypes.items()}
    if not count:
        return arrays
    moved = np.empty(count, np.int64)
    data = _views.gathered(view, arena, places, sizes, moved)
    state = {} if scanner.state is None else {"state": scanner.state()}
    table = quarantine.table(1)
    rows, bad, _, _ = scanner.scan(
        data, 0, len(data), True, arrays, 0, count, table, 0, 1, keep=keep, limit=max(len(data), 1), **state
    )
    assert rows == count and not bad, f"a record that was located is a record: {rows} of {count}, {bad} damaged"
    for name in arrays:
        if name.endswith(".offset"):
            arrays[name] += moved
    if scanner.packed is not None and scanner.packed.array in arrays:
        scanner.packed.move(arrays[scanner.packed.array], moved)
    return arrays


def filled(
    scanner: BulkScanner,
    inner_bit: int,
    found: Arrays,
    rows: int,
    view: memoryview,
    dtypes: Arrays,
    keep: bool,
    valid: dict[str, int],
) -> Arrays:
    """Whole columns of the ``rows`` records that were located. ``valid``: bits of what the search says of a record."""
    arena = memoryview(found.get("arena", b""))
    own = {name: dtype for name, dtype in dtypes.items() if name not in LOCATION or name == "present"}
    places, sizes = found["place"][:rows], found["size"][:rows]
    if scanner.read is None:
        arrays = read_again(scanner, view, arena, places, sizes, own, keep)
    else:
        records = [bytes(one) for one in records_at(view, arena, places, sizes)]
        arrays, more = scanner.read(records, own, len(view) + len(arena))
        found = {**found, "arena": b"".join([arena, more])} if more else found
    inside = found["present"][:rows] >> np.uint64(valid["inner"]) & np.uint64(1)
    arrays["present"] |= (inside << np.uint64(inner_bit)).astype(arrays["present"].dtype)
    timed = found["present"][:rows] >> np.uint64(valid["time"]) & np.uint64(1)
    arrays["timed"] = timed.astype(bool)
    names = ("offset", "length", "line", "place", "size", "inner", "time")
    arrays |= {name: found[name][:rows] for name in names}
    arrays |= {name: found[name] for name in ("arena", "own_bytes") if name in found}
    if "arena" in found:
        arrays["arena"] = found["arena"]
    return arrays
