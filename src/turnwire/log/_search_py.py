"""The search of one block in one pass, in plain Python: the readable twin of ``_native/log/search.pyx``."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from turnwire.csp._lines_py import NeedMore
from turnwire.errors import DecodeError
from turnwire.json._wrapper_py import may_be_piece
from turnwire.log.search.rows import DTYPES, Rows
from turnwire.log.search.search import Search
from turnwire.log.search.texts import SearchState, Text

if TYPE_CHECKING:
    from threading import RLock

    from turnwire.log.engine.all_wires import Finder

    Arrays = dict[str, Any]


_search = lru_cache(16)(partial(Search, alone=True))
"""Keeps the searches for a finder, a limit and ``keep``: making one costs as much as searching a short line."""


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
    if not (final or block.cut):
        size = data.rfind(b"\n") + 1
        if not size:
            return {name: np.empty(0, dtype) for name, dtype in {**DTYPES, **dtypes}.items()}, 0, [], 0, line
    text = Text(data[:size], final=final)
    search = _search(finder, limit, keep)
    found, position = search.block(text, state)
    rows = Rows(search, text, block.size, block.base, line, dtypes)
    for one in found:
        rows.add(one)
    arrays, count, rejects = rows.tables(memory)
    return arrays, count, rejects, position, line + data.count(b"\n", 0, position)


MOST_HELD = 1 << 12
"""Bytes that are read again with each piece."""
_CLOSING = {b"{": b"}", b"@": b"#"}


class Beginning:
    """Reads whole messages at the beginning of what is fed, as long as each is on a line of its own (of CSP/1: on
    several, up to the one that ends it). That takes a hundredth of the time of a search, for which it leaves the rest.

    load: (number of a built-in wire) -> ``registry.own_decode``, of nSLIP and True for many lines. decode: that of the
    wire that is read, or of all, for what first bytes do not tell. code: the number of the wire whose
    messages to give; None for all, -1 for one that is not built in. limit: bytes of a message; room: bytes that may
    wait.

    plain: nothing waits but ``held``, and nothing that was searched goes on. held: what waits: the start of a message,
    which is read again with each piece, so it is short; or what is left to search. messages: those to give next. mid:
    the next byte does not begin a line. passed, touched, tail: bytes, a message, or one of CSP/1 were read here.
    offset, line: of the first byte that waits, or comes next.
    """

    def __init__(
        self, finder: Finder, load: Any, decode: Any, code: int | None, limit: int, room: int, lock: RLock
    ) -> None:
        self._search = _search(finder, limit, False)
        self._limit, self._room, self._code, self._lock = limit, room, code, lock
        self._decoders = {b"@": decode, b"{": decode}
        if code in (None, finder.csp):
            self._decoders[b"C"] = load(finder.csp)[1]
        if code is None:
            self._decoders[b"@"] = load(finder.nslip)[1]
        self.held, self.offset, self.line = b"", 0, 1
        self.messages: list[Any] = []
        self.plain, self.mid = True, False
        self.passed = self.touched = self.tail = False

    def leave(self) -> bytes:
        """Leaves everything to the search: what was held."""
        self.plain = False
        held, self.held = self.held, b""
        return held

    def feed(self, data: Any) -> list[Any] | bool:
        """The messages that are whole; or True if ``held`` is left to search, False if ``data`` was not taken."""
        with self._lock:
            if type(data) is not bytes or not self.plain or len(data) + len(self.held) > self._room:
                return False
            text = self.held + data
            at, waits = self._take(text)
            self.offset += at
            self.line += text.count(b"\n", 0, at)
            self.passed = self.passed or at > 0
            self.held = text[at:]
            if self.held and not waits:
                self.plain = False
                return True
            found, self.messages = self.messages, []
            return found

    def _take(self, text: bytes) -> tuple[int, bool]:
        """Reads what is whole: where it ends, and if the rest waits for more."""
        at = 0
        while at < len(text):
            first, newline = text[at : at + 1], text.find(b"\n", at)
            stop, behind = (newline, newline + 1) if newline >= 0 else (len(text), len(text))
            may_wait = len(text) - at <= MOST_HELD
            if first in _CLOSING:
                if newline < 0 and not text.endswith(_CLOSING[first]):
                    return at, may_wait and _CLOSING[first] not in text[at:]
                if may_be_piece(text[at:stop]) if first == b"{" else not text.startswith(b"@a", at):
                    return at, False
            elif first == b"C" and not self.mid and self._code != -1:
                if b"CSP/1\n".startswith(text[at:]):
                    return at, True
                try:
                    found = self._search.csp_lines.matched(Text(text, final=False), at, len(text))
                except NeedMore:
                    return at, may_wait
                if found is None or found.reason is not None:
                    return at, False
                stop = behind = found.stop
            elif newline < 0 or text[at:newline].strip(b" \t\r"):
                return at, False
            else:
                first = b""
            if first and not self._read(text[at:stop], first):
                return at, False
            self.mid = text[behind - 1] != 10
            at = behind
        return at, False

    def _read(self, text: bytes, first: bytes) -> bool:
        """Reads one message, which begins with this byte. False if it is damaged."""
        decode = self._decoders.get(first)
        try:
            if len(text) > self._limit:
                return False
            if decode is not None:
                self.messages.append(decode(text))
        except DecodeError:
            return False
        self.touched, self.tail = True, self.tail or first == b"C"
        return True
