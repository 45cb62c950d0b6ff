"""The proof that nothing goes over the end of a block whose plan looked at a few places only.

It is the one that a plan which reads all of a file goes by, for one block at a time: given that nothing is open where a
block begins, nothing is where it ends. The first block of a file begins with the file; so where each block has its
proof, all of them together are one scan.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from turnwire.framing.documents import SIGIL
from turnwire.log.planning.between import between_objects, between_parts, chunks, first_line, line_ends, scan_cuts

_BEHIND = 64 << 10


class Proof:
    """The pass over one block: ``fault`` says in words why its end is no cut, or is None; ``lines``: how many line ends
    the block has."""

    def __init__(self, file: Any, start: int, stop: int, size: int, limit: int) -> None:
        self.lines = 0
        self._header = False
        self.fault = self._found(file, start, stop, size, limit)

    def _found(self, file: Any, start: int, stop: int, size: int, limit: int) -> str | None:
        mark = start or first_line(file)
        pieces = self._through(file, mark, stop, size)
        if stop == size:
            for _ in pieces:  # what a message is open in ends with the file
                pass
            closed = True
        else:
            cut = next(scan_cuts(pieces, stop - mark, limit=limit), None)
            closed = cut is not None and cut[0] == stop - mark
        if self._header:
            return "a line begins like the header of a Space document"
        if not closed or (stop < size and not (between_objects(file, stop) and between_parts(file, stop, limit))):
            return "a record of several lines may be open where it ends"
        return None

    def _through(self, file: Any, start: int, stop: int, size: int) -> Iterator[bytes]:
        """The bytes of the block, then some of what follows: its first line tells whether a message is open."""
        before = b"\n"
        for piece in chunks(file, start, stop):
            self.lines += line_ends(piece)
            if SIGIL[:1] in piece or SIGIL[:1] in before:
                self._header = self._header or b"\n" + SIGIL in before + piece
            before = piece[-len(SIGIL) :]
            yield piece
        for place in range(stop, size, _BEHIND):
            piece = b"".join(chunks(file, place, min(place + _BEHIND, size)))
            yield piece
            if b"\n" in piece:
                return
