"""The common columns of the records of wires that have a ``TextPlan``, which their decode reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire import registry
from turnwire.log.engine.columns import DTYPES, bulk_scanner, own

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnwire.log.engine.all_wires import Finder

    Arrays = dict[str, Any]

TEXTS = ("sender", "receiver", "conversation", "subject")
"""The common columns that are texts."""


def records_at(view: memoryview, arena: memoryview, places: Any, sizes: Any) -> Iterator[memoryview]:
    """The bytes of the records at these places of a block, or behind its end of its arena."""
    size = len(view)
    for place, length in zip(places.tolist(), sizes.tolist(), strict=True):
        yield view[place : place + length] if place < size else arena[place - size : place - size + length]


def fill_common(finder: Finder, arrays: Arrays, rows: int, view: memoryview) -> None:
    """Fills the common columns of those of the first ``rows`` records whose wire has such a plan; view: the block."""
    codes = finder.text_codes
    if finder.code is not None or not codes:
        return  # its own columns are filled apart, and nobody asks for those of another wire
    kind = np.uint64(finder.valid["kind"])
    named = arrays["present"][:rows] >> kind & np.uint64(1)
    for code in codes:
        numbers = np.flatnonzero((arrays["wire"][:rows] == code) & (named == 0))
        if len(numbers):
            _fill(finder, arrays, view, code, numbers)


def _fill(finder: Finder, arrays: Arrays, view: memoryview, code: int, rows: Any) -> None:
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
    records = [bytes(one) for one in records_at(view, arena, arrays["place"][rows], arrays["size"][rows])]
    values, more = scanner.read(records, dtypes, len(view) + len(arena))
    present = arrays["present"][rows] | np.uint64(1 << finder.valid["kind"] | 1 << finder.valid["wire"])
    texts = [arrays.get("arena", b""), more]
    for common, (way, source) in sources.items():
        there = values["present"] >> np.uint64(scanner.bits[source]) & np.uint64(1)
        if way == "number":
            place = len(view) + sum(map(len, texts))
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
