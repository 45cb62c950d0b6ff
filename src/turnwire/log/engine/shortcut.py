"""The fast path of one wire: its own scan, wherever the text can mean nothing else.

What a wire's own scan finds is kept only where the bytes around its records hold no sign of JSON, of lines that belong
together, of a document or of another wire's lines. Then the search of all wires would find the same.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from turnwire import _backend

_heads = _backend.load("framing.line_heads")
_OTHERS = re.compile(rb"^(?:[{@]|[ \t]+CSP/1(?:\r?$|;| MODE;))", re.MULTILINE)
"""Lines in a damaged message that may be records of other wires, or a message or a template that is only indented."""
_MAYBE = re.compile(rb"[{@]|\\u00")
"""What each record of another wire has, as it is written in lines or in strings of JSON."""
_LONGEST_PAUSE = 16


class Shortcut:
    """Whether the scan of one wire alone finds what the search of all wires finds in a block.

    lines: whether the wire's records are lines, as those of CSP/1, or tokens, as those of nSLIP. Any thread may ask.
    """

    def __init__(self, lines: bool) -> None:
        self.lines = lines
        self._pause = self._wait = 0

    def fits(self, idle: bool) -> bool:
        """Whether it can: where a message may be open, the scan of lines knows how they go on; ``idle``: none can."""
        return self.lines or idle

    def due(self) -> bool:
        """Whether to try: less often after tries that failed."""
        if self._wait:
            self._wait -= 1
            return False
        return True

    def holds(self, block: Any, arrays: Any, rows: int, rejects: Any, position: int) -> bool:
        """Whether these are all records and rejects of the wire in the block up to ``position``."""
        plain = self._plain(block, arrays, rows, rejects, position)
        self._pause = 0 if plain else min(2 * self._pause + 1, _LONGEST_PAUSE)
        self._wait = self._pause
        return plain

    def may_miss(self, block: Any) -> bool:
        """Whether a block may have records or rejects of other wires, which nobody looked for: the scan of tokens
        alone does not hold where any may be, that of lines does."""
        return self.lines and _MAYBE.search(memoryview(block.data)[: block.size]) is not None

    def _plain(self, block: Any, arrays: Any, rows: int, rejects: Any, position: int) -> bool:
        data = memoryview(block.data)[: block.size].cast("B")
        offsets, lengths = arrays["offset"][:rows], arrays["length"][:rows]
        if rejects and self.lines:
            found = [(table["offset"][:count], table["length"][:count]) for table, count in rejects]
            for starts, sizes in found:
                for start, size in zip((starts - block.base).tolist(), sizes.tolist(), strict=True):
                    if _OTHERS.search(data[start : start + size]):
                        return False
            offsets = np.concatenate([offsets, *(starts for starts, _ in found)])
            lengths = np.concatenate([lengths, *(sizes for _, sizes in found)])
            order = np.argsort(offsets, kind="stable")
            offsets, lengths = offsets[order], lengths[order]
        plain: bool = _heads.plain_gaps(
            data, offsets, lengths, len(offsets), block.base, 0, position, self.lines, bool(rejects)
        )
        return plain
