"""The matcher of documents, such as those of the Space Format, and the code fences that may hold them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from turnwire import registry
from turnwire.errors import DecodeError, Reason
from turnwire.fences import FENCE, fence_after
from turnwire.log.engine.columns import bulk_scanner
from turnwire.log.search.state import More, Walk
from turnwire.log.search.texts import BOM, lines_of

if TYPE_CHECKING:
    from turnwire.contract import Wire
    from turnwire.log.search.search import Search

AT_LINE = rb"(?P<fence> {0,3}(?:```|~~~))"


class Documents:
    """Finds documents in files."""

    def __init__(self, search: Search) -> None:
        self._search = search

    def at_fence(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A line that may open or close a code fence."""
        state, fence = walk.state, FENCE.match(walk.text.data, at)
        assert fence is not None, "the opening says so"
        before, state.fence = state.fence, fence_after(state.fence, fence[1], fence[2])
        if bool(before) != bool(state.fence):
            state.fence_touched, state.since = False, len(walk.found)
        state.tail = False
        return fence.end()

    def at_head(self, walk: Walk, at: int, match: re.Match[bytes]) -> int:
        """A header line: it begins a document where nothing else was found in front, in its fence or in the file, and
        no line of a carrier."""
        text, state = walk.text, walk.state
        mark = text.data.startswith(BOM, at)
        place = at + 3 * mark
        wire = next(
            (one for one in self._search.finder.documents if one.documents.header.match(text.data, place)), None
        )
        if wire is None or text.outer is not None or (mark and (at or state.begun)) or (state.fence and state.inside):
            return match.end()
        if len(walk.found) > state.since if state.fence else bool(walk.found):
            return match.end()
        if state.pieces or state.runs_of_lines or (state.fence_touched if state.fence else state.touched):
            return match.end()
        code, (stop, whole) = registry.codes().index(wire.name), self._end(walk, at)
        if stop - at > self._search.limit:
            piece = text.data[at : at + self._search.limit]
            stop = at + (piece.rfind(b"\n") + 1 or len(piece))
            walk.add(at, stop, code, reason=Reason.MESSAGE_TOO_LARGE, fault=at + self._search.limit)
            return stop
        if not whole:
            raise More(at)
        try:
            value = self._value(wire, text.data, at, stop, state.inside)
        except DecodeError as error:
            walk.add(at, stop, code, reason=error.reason, fault=at + (error.offset or 0))
        else:
            walk.add(at, stop, code, value=("document", value))
        return stop

    @staticmethod
    def _value(wire: Wire, data: bytes, at: int, stop: int, inside: bool) -> Any:
        """The wire's own columns of a document, or the document where these are read from that. Raises DecodeError."""
        if bulk_scanner(wire.name).read is not None:
            return wire.decode(data[at:stop])
        if wire.documents.columns is None:
            wire.decode(data[at:stop])
            return {}
        values = wire.documents.columns(memoryview(data)[at:stop], fences=inside).items()
        return {name: (at + said[0], said[1]) if isinstance(said, tuple) else said for name, said in values}

    @staticmethod
    def _end(walk: Walk, at: int) -> tuple[int, bool]:
        """The end of the document, that of its fence or of the file, and whether it is there."""
        text, fence = walk.text, walk.state.fence
        if fence:
            for place, _ in lines_of(text.data, at):
                found = FENCE.match(text.data, place)
                if found is not None and not fence_after(fence, found[1], found[2]):
                    return place, True
        return len(text.data), text.final
