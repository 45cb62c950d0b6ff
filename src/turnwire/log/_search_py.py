"""The search of one block in one pass, in plain Python: the readable twin of ``_native/log/search.pyx``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.search.rows import DTYPES, Rows
from turnwire.log.search.search import Search
from turnwire.log.search.state import LONGEST_LINE, SearchState
from turnwire.log.search.text_rows import TEXTS, fill_common, records_at
from turnwire.log.search.texts import Text

if TYPE_CHECKING:
    from turnwire.log.engine.all_wires import Finder

    Arrays = dict[str, Any]


def searched(
    finder: Finder,
    block: Any,
    final: bool,
    line: int,
    state: SearchState,
    keep: bool,
    limit: int,
    dtypes: dict[str, Any],
    memory: Any = None,
) -> tuple[Arrays, int, list[tuple[Arrays, int]], int, int]:
    """(columns, rows, tables of rejects with how many there are in each, position, line) of a block.

    dtypes: of the columns that are asked for; ``own_present`` is ``present`` of a wire whose own columns these are.
    memory: (dtypes, rows) -> arrays with room for so many.
    """
    data = memoryview(block.data)[: block.size].tobytes()
    size = len(data)
    if not final:
        size = data.rfind(b"\n") + 1
        if not size:
            if len(data) <= max(limit + 1, LONGEST_LINE):
                return {name: np.empty(0, dtype) for name, dtype in {**DTYPES, **dtypes}.items()}, 0, [], 0, line
            size = len(data)
    text = Text(data[:size], final=final)
    search = Search(finder.plan, csp_code=finder.csp.code, limit=limit, keep=keep, further=finder)
    found, position = search.block(text, state)
    sources = [(source.name, name) for name in TEXTS for source in finder.csp.sources(name)]
    rows = Rows(search, search.plan, (finder.csp.kinds.tolist(), sources), text, block.size, block.base, line, finder)
    for one in found:
        rows.add(one)
    arrays, count, rejects = rows.tables(dtypes, memory)
    view = memoryview(block.data)[: block.size].cast("B")
    fill_common(finder, arrays, count, view)
    if finder.located and finder.own is not None and finder.own.read is not None:
        _read_own(finder, view, arrays, count, dtypes)
    return arrays, count, rejects, position, line + data.count(b"\n", 0, position)


def _read_own(finder: Finder, view: memoryview, arrays: Arrays, count: int, dtypes: dict[str, Any]) -> None:
    """The own columns of a wire that has a ``TextPlan``, which its decode reads."""
    assert finder.own is not None and finder.own.read is not None, "or it has none"
    names = {column.name for column in finder.own.columns}
    own = {name: dtype for name, dtype in dtypes.items() if name.partition(".")[0] in names}
    rows = np.flatnonzero(arrays["wire"][:count] == finder.code)
    arena = memoryview(arrays.get("arena", b""))
    records = [bytes(one) for one in records_at(view, arena, arrays["place"][rows], arrays["size"][rows])]
    values, more = finder.own.read(records, {"present": "u8", **own}, len(view) + len(arena))
    values["own_present"] = values.pop("present")
    for name, array in values.items():
        arrays[name][rows] = array
    if more:
        arrays["arena"] = b"".join([arena, more])
