"""The matcher of documents, such as those of the Space Format, and the code fences that may hold them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from turnwire.errors import DecodeError, Reason
from turnwire.fences import FENCE, fence_after
from turnwire.log.search.state import More, Walk
from turnwire.log.search.texts import BOM, lines_of

if TYPE_CHECKING:
    from turnwire.contract import BulkScanner, DocumentPlan, Wire
    from turnwire.log.search.search import Search

AT_LINE = rb"(?P<fence> {0,3}(?:```|~~~))"


class DocumentWire:
    """A wire that has documents. code: its number; kinds: the numbers of its kinds; read: whether ``decode`` reads
    their columns, as those of its messages (it has a ``TextPlan``)."""

    def __init__(self, wire: Wire, code: int, kinds: Sequence[int], scanner: BulkScanner) -> None:
        self.plan: DocumentPlan = wire.documents
        self.code, self.read, self._decode, self._kinds = code, scanner.read is not None, wire.decode, kinds
        there = {column.name for column in scanner.columns}
        self._sources = [
            (name, source) for name, (way, source) in scanner.common.items() if way == "column" and source in there
        ]

    def values(self, raw: memoryview, inside: bool) -> dict[str, Any]:
        """The wire's own columns of a document, as far as they are not read again. Raises DecodeError."""
        if self.read or self.plan.columns is None:
            self._decode(raw.tobytes())
            return {}
        return dict(self.plan.columns(raw, fences=inside))

    def common(self, values: dict[str, Any]) -> dict[str, Any]:
        """The same by the names that any wire has."""
        there = {name: values[source] for name, source in self._sources if source in values}
        if "kind" in there:
            there["kind"] = self._kinds[there["kind"]]
        return {"wire": self.code, **there}


class Documents:
    """Finds documents in files. wires: those that have some, Space first; named: the wire whose own
    columns are wanted, None for those that any wire has."""

    def __init__(self, search: Search, wires: list[DocumentWire], named: str | None) -> None:
        self._search = search
        self._wires = wires
        self._named = named

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
        """A header line: it begins a document where nothing else was found in front, in its fence or in the file."""
        text, state = walk.text, walk.state
        mark = text.data.startswith(BOM, at)
        wire = next((one for one in self._wires if one.plan.header.match(text.data, at + 3 * mark)), None)
        if wire is None or text.outer is not None or (mark and (at or state.begun)) or (state.fence and state.inside):
            return match.end()
        if len(walk.found) > state.since if state.fence else bool(walk.found):
            return match.end()
        if state.fence_touched if state.fence else state.touched:
            return match.end()
        stop, whole = self._end(walk, at)
        if stop - at > self._search.limit:
            piece = text.data[at : at + self._search.limit]
            stop = at + (piece.rfind(b"\n") + 1 or len(piece))
            walk.add(at, stop, wire.code, reason=Reason.MESSAGE_TOO_LARGE, fault=at + self._search.limit)
            return stop
        if not whole:
            raise More(at)
        try:
            values = wire.values(memoryview(text.data)[at:stop], state.inside)
        except DecodeError as error:
            walk.add(at, stop, wire.code, reason=error.reason, fault=at + (error.offset or 0))
        else:
            walk.add(at, stop, wire.code, value=("document", self._columns(wire, values)))
        return stop

    def _columns(self, wire: Any, values: dict[str, Any]) -> dict[str, Any]:
        if wire.read:
            return {}  # decode reads them, as those of its messages
        return values if self._named is not None else dict(wire.common(values))

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
