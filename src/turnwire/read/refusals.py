"""Turns rejects in columns into refusals in words for a checklist; rejects that are alike share one explanation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.checklists import ClauseFault, RecordChecklist
from turnwire.errors import DecodeError, Reason

if TYPE_CHECKING:
    from turnwire.read.located import ScannedPiece

_MOST, _LONGEST = 4096, 256
_NOWHERE = 1 << 62
Row = tuple[int, int, int, int, Reason, bytes]
"""offset, the byte in a string or -1, line, the byte where reading failed, reason, bytes."""
_fault: Any = partial(
    tuple.__new__, ClauseFault
)  # a quarter of what the class takes: these are made by the hundred thousand


class _Said(NamedTuple):
    """The words about a reject. text, path: what is wrong with it; further: lines in front of the byte where reading
    failed; clause, fault: what it breaks and how, where that is all."""

    text: str
    path: str | None
    further: int
    clause: str | None
    fault: str


class Refusals:
    """Tells a judge the rejects of a wire, in order. waiting: those of a piece that are not told, the last one first;
    first: the byte of the first of them, beyond all where there is none."""

    def __init__(self, judge: RecordChecklist, wire: str) -> None:
        self.waiting: list[Row] = []
        self.first = _NOWHERE
        self._judge, self._wire = judge, wire
        self._known: dict[tuple[Any, ...], _Said] = {}
        self._reach = None if type(judge).reach is RecordChecklist.reach else judge.reach

    def take(self, piece: ScannedPiece) -> None:
        """Takes those of a piece in place of what it had."""
        self.waiting = [row for some in piece.columns for row in self._rows(some)]
        self.waiting.reverse()
        self.first = self.waiting[-1][0] if self.waiting else _NOWHERE

    def _rows(self, some: Any) -> Any:
        columns, raw = some.columns, some.raw
        rows = (columns["wire"] == self._wire).nonzero()[0]
        stops = columns["length"].cumsum()
        starts = (stops - columns["length"])[rows].tolist()
        numbers = (columns[name][rows].tolist() for name in ("offset", "inner", "line", "fault", "reason"))
        for start, stop, offset, inner, line, fault, reason in zip(starts, stops[rows].tolist(), *numbers, strict=True):
            yield offset, inner, line, fault, Reason(reason), raw[start:stop]

    def tell(self, offset: int = _NOWHERE, inner: int = -1) -> None:
        """Tells those in front of a record at a byte; inner: the one in what a JSON string says, or -1."""
        waiting, judge, known, reach = self.waiting, self._judge, self._known, self._reach
        faults, told = judge.faults, len(waiting)
        while waiting and waiting[-1][:2] < (offset, inner):
            place, within, line, fault, reason, raw = waiting.pop()
            said = known.get((reason, fault - place, within < 0, raw)) or self._say(place, within, fault, reason, raw)
            if said.clause is not None:
                if reach is not None:
                    reach(fault)
                faults.append(_fault((said.clause, line + said.further, said.fault, fault, None, None)))
            else:
                self._refuse(said, line, fault, reason, raw)
        judge.rejects += told - len(waiting)
        self.first = waiting[-1][0] if waiting else _NOWHERE

    def _refuse(self, said: _Said, line: int, fault: int, reason: Reason, raw: bytes) -> None:
        line += said.further
        error = DecodeError(reason, said.text, offset=fault, line=line, wire=self._wire, path=said.path)
        self._judge.refused(error, line, fault, raw)

    def _say(self, offset: int, inner: int, fault: int, reason: Reason, raw: bytes) -> _Said:
        from turnwire.log.output.rejects import explained

        text, path = explained(self._wire, str(reason), raw, None if inner < 0 else inner)
        further = raw.count(b"\n", 0, max(fault - offset, 0))
        said = _Said(text, path, further, self._judge.breaks(reason), f"{reason}: {text}")
        if len(raw) <= _LONGEST:
            if len(self._known) >= _MOST:
                self._known.clear()
            self._known[reason, fault - offset, inner < 0, raw] = said
        return said
