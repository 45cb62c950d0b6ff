"""The wires that have a ``TextPlan``, as a part of the search of all wires: where their records and their damage are.

Tokens are found by the walk through a line or a string of JSON, among JSON and nSLIP: what begins first wins. Records
of lines are claimed before it, in what CSP/1 leaves. Where two wires could begin at one place, the first in the order
of the registry does.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from turnwire.contract import TOKEN, Wire
from turnwire.errors import DecodeError, Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

RECORD, DAMAGED, CUT, HELD = 1, 2, 3, 4
"""What was found. The first two are those of the core's ``claims``; CUT: a token that goes on behind the piece of a
line that is there; HELD: lines that go on behind the block."""
_MANY = 256
"""Openings without a token behind which it is no longer worth asking whether each is one."""
_NEWLINE = re.compile(rb"\n")
_BYTES = re.compile(rb'"MESSAGE"[ \t\r\n]*:[ \t\r\n]*\[')
"""Where journald writes a message as an array of bytes: an opening in it is a row of numbers."""
_CODES = {reason: code for code, reason in enumerate((None, *Reason))}


class Found(NamedTuple):
    """A range that a wire takes; what: see above; wire, reason: their codes; fault: the place of the fault."""

    start: int
    stop: int
    what: int
    wire: int
    reason: int = 0
    fault: int = 0


class TextWires:
    """The wires of one style that have a plan. codes: wire -> its number among all."""

    def __init__(self, wires: Iterable[Wire], codes: Mapping[str, int]) -> None:
        self._wires = [(wire, codes[wire.name], _any_of(wire.plan.opening)) for wire in wires]
        plans = [wire.plan for wire, _, _ in self._wires]
        self.codes = tuple(code for _, code, _ in self._wires)
        self.openings = tuple(dict.fromkeys(opening for plan in plans for opening in plan.opening))
        self.marks = tuple(dict.fromkeys(mark for opening in self.openings for mark in as_written(opening)))
        tokens = all(wire.style == TOKEN for wire, _, _ in self._wires)
        self._opening = _any_of(self.openings)
        self._anywhere = tokens
        self._marks = _any_of(self.marks)

    def __bool__(self) -> bool:
        return bool(self._wires)

    def met(self, view: Any, start: int = 0) -> bool:
        """Whether an opening, as such or as a string of JSON has it, stands in a text, or may in an array of bytes."""
        return bool(self._wires) and any(one.search(view, start) is not None for one in (self._marks, _BYTES))

    def opens(self, view: Any, start: int) -> bool:
        """Whether an opening is in a text where records may begin, outside of strings."""
        return bool(self._wires) and self._next_opening(view, start, len(view), start) is not None

    def _next_opening(self, data: Any, start: int, stop: int, first: int = 0) -> int | None:
        """The next opening of ``data[start:stop]`` where a record may begin; ``first``: where the first line does."""
        while (found := self._opening.search(data, start, stop)) is not None:
            if self._anywhere or found.start() == first or data[found.start() - 1] == ord("\n"):
                return found.start()
            start = found.start() + 1
        return None

    def goes_on(self, rest: bytes) -> bool:
        """Whether a text begins as an opening does, or may when more of it is there."""
        return any(rest.startswith(opening) or opening.startswith(rest) for opening in self.openings)

    def _reject(self, wire: Wire, code: int, data: Any, at: int, stop: int) -> Found:
        reason, fault = _refusal(wire, bytes(data[at:stop]))
        return Found(at, stop, DAMAGED, code, reason, at + min(fault, stop - at))

    def _whole(self, wire: Wire, code: int, data: Any, at: int, stop: int) -> Found:
        """A whole candidate: a record where the wire's own reading takes it."""
        try:
            wire.decode(bytes(data[at:stop]))
        except DecodeError:
            return self._reject(wire, code, data, at, stop)
        return Found(at, stop, RECORD, code)

    # --- tokens ---

    def worth(self, view: Any, limit: int) -> bool:
        """Whether a token, or a damaged one, may be in a block, outside of strings or in one."""
        if not self._wires:
            return False
        if _BYTES.search(view) is not None:
            return True
        place = 0
        for _ in range(_MANY):
            mark = self._marks.search(view, place)
            if mark is None:
                return self._ends_in_opening(view)
            at, place = mark.start(), mark.end()
            stop = _line_stop(view, at, len(view))
            if mark[0] not in self.openings or b"\\" in bytes(view[at:stop]):
                return True
            if self._token(view, at, stop, len(view), limit, stop == len(view)) is not None:
                return True
        return True

    def _ends_in_opening(self, view: Any) -> bool:
        tail = bytes(view[-max(map(len, self.openings)) :])
        return any(self.goes_on(tail[place:]) for place in range(len(tail)))

    def next(
        self, raw: bytes, start: int, to: int, size: int, line_stop: Callable[[int], int], limit: int, cut: bool
    ) -> Found | None:
        """The first token of ``raw[start:size]`` that begins in front of ``to``. line_stop: where the line of a place
        ends; cut: the text is a piece of a line, which goes on behind ``size``."""
        place = start
        while (at := self._next_opening(raw, place, size)) is not None and at < to:
            found = self._token(raw, at, line_stop(at), size, limit, cut)
            if found is not None:
                return found
            place = at + 1
        return None

    def _token(self, raw: Any, at: int, line: int, size: int, limit: int, cut: bool) -> Found | None:
        """The token that begins with the opening at ``at``; ``line``: where its line ends."""
        stop = min(line, at + limit)
        for wire, code, opening in self._wires:
            if opening.match(raw, at) is None:
                continue
            whole = wire.plan.whole.match(raw, at, stop)
            end = at if whole is None else whole.end()
            if cut and at > 0 and stop == size and end in (at, stop):
                return Found(at, at, CUT, code)
            if end > at:
                return self._whole(wire, code, raw, at, end)
            following = self._next_opening(raw, at + 1, stop)
            end = stop if following is None else following
            if wire.damaged is not None and wire.damaged(bytes(raw[at:end])):
                return self._reject(wire, code, raw, at, end)
        return None

    def token(self, raw: bytes, at: int, line: int, size: int, limit: int) -> Found | None:
        """The token that begins with the opening at ``at``, in a line that ends at ``line``."""
        return self._token(raw, at, line, size, limit, False)

    # --- lines ---

    def lines(self, view: Any, at: int, stop: int, final: bool, limit: int) -> Found | None:
        """The lines that begin with the opening at ``at``: a record, a reject, HELD or nothing."""
        return self._lines(view, at, stop, final, limit)

    def claims(self, view: Any, start: int, stop: int, final: bool, limit: int) -> list[Found]:
        """What the wires claim of the lines from ``start`` to ``stop``, in order. What the last one may still become,
        where ``final`` does not say that nothing follows, is ``HELD``."""
        claims: list[Found] = []
        place = start
        while (at := self._next_opening(view, place, stop, start)) is not None:
            found = self._lines(view, at, stop, final, limit)
            place = at + 1 if found is None else found.stop
            if found is not None:
                claims.append(found)
                if found.what == HELD:
                    break
        return claims

    def _lines(self, view: Any, at: int, stop: int, final: bool, limit: int) -> Found | None:
        newline = _NEWLINE.search(view, at, stop)
        end = stop if newline is None else newline.start()
        first = bytes(view[at:end]).removesuffix(b"\r")
        for wire, code, opening in self._wires:
            if opening.match(view, at) is None:
                continue
            if newline is None and not final and stop - at <= limit:
                return Found(at, stop, HELD, code)
            if wire.damaged is not None and not wire.damaged(first):
                continue
            to = self._following(opening, view, at + 1, min(stop, at + limit))
            whole = wire.plan.whole.match(view, at, to)
            if to == stop and not final and (whole is None or whole.end() in (at, stop)):
                return Found(at, stop, HELD, code)
            if whole is not None and whole.end() > at:
                return self._whole(wire, code, view, at, whole.end())
            if wire.damaged is not None:
                return self._reject(wire, code, view, at, at + len(first))
        return None

    def _following(self, opening: re.Pattern[bytes], view: Any, start: int, stop: int) -> int:
        """Where the next line begins with an opening of a wire, or ``stop``."""
        while (found := opening.search(view, start, stop)) is not None:
            if view[found.start() - 1] == ord("\n"):
                return found.start()
            start = found.start() + 1
        return stop

    def reaches_over(self, data: Any, start: int, place: int, limit: int) -> bool:
        """Whether lines that begin from ``start`` on (at a line's start) may be one record over ``place``."""
        at = start
        while (found := self._next_opening(data, at, place, start)) is not None:
            at = found
            for wire, _, mine in self._wires:
                if mine.match(data, at) is None:
                    continue
                to = self._following(mine, data, at + 1, min(at + limit, len(data)))
                whole = wire.plan.whole.match(data, at, to)
                if whole is not None and whole.end() > place:
                    return True
            at += 1
        return False


def as_written(opening: bytes) -> list[bytes]:
    """The forms in which a string of JSON may have an opening: as it is, with escapes."""
    text = opening.decode("utf-8", "surrogateescape")
    forms = [opening]
    for plain in (True, False):
        try:
            form = json.dumps(text, ensure_ascii=plain)[1:-1].encode()
        except UnicodeEncodeError:
            continue
        forms += [form, form.replace(b"/", b"\\/"), re.sub(rb"(?<=\\u)[0-9a-f]{4}", _upper, form)]
    return list(dict.fromkeys(forms))


def _upper(digits: re.Match[bytes]) -> bytes:
    return digits[0].upper()


def _any_of(texts: tuple[bytes, ...]) -> re.Pattern[bytes]:
    """A pattern for these texts; one that never matches where there are none."""
    return re.compile(b"|".join(map(re.escape, texts)) or rb"(?!)")


def _line_stop(view: Any, at: int, stop: int) -> int:
    newline = _NEWLINE.search(view, at, stop)
    if newline is None:
        return stop
    return newline.start() - (newline.start() > at and view[newline.start() - 1] == ord("\r"))


def _refusal(wire: Wire, raw: bytes) -> tuple[int, int]:
    """The reason for which a wire refuses bytes, and the place of the fault."""
    try:
        wire.decode(raw)
    except DecodeError as error:
        return _CODES[error.reason], error.offset or 0
    return _CODES[Reason.BAD_FRAMING], 0
