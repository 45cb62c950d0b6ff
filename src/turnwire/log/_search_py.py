"""The search of one block in one pass, in plain Python: the readable twin of ``_native/log/search.pyx``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.log.search.rows import DTYPES, Rows
from turnwire.log.search.search import Search
from turnwire.log.search.state import LONGEST_LINE, SearchState
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
    search = Search(finder, limit=limit, keep=keep)
    found, position = search.block(text, state)
    rows = Rows(search, text, block.size, block.base, line, dtypes)
    for one in found:
        rows.add(one)
    arrays, count, rejects = rows.tables(memory)
    return arrays, count, rejects, position, line + data.count(b"\n", 0, position)
