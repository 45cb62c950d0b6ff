"""The wires that have a ``TextPlan``, as a part of the search: where their records and their damage are.

Where two wires could begin at one place, the first in the order of the registry does.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from turnwire.contract import Wire
from turnwire.errors import DecodeError, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NEWLINE = re.compile(rb"\n")


class TextSpan(NamedTuple):
    """A range that a wire takes. wire: its number; reason: None of a record; fault: its place; is_open: the
    lines go on behind the block."""

    start: int
    stop: int
    wire: int
    reason: Reason | None = None
    fault: int = 0
    is_open: bool = False


class TextWires:
    """The wires of one style that have a plan. codes: wire -> its number among all."""

    def __init__(self, wires: Iterable[Wire], codes: Mapping[str, int]) -> None:
        self._wires = [(wire, codes[wire.name], _any_of(wire.plan.opening)) for wire in wires]
        plans = [wire.plan for wire, _, _ in self._wires]
        self.codes = tuple(code for _, code, _ in self._wires)
        self.openings = tuple(dict.fromkeys(opening for plan in plans for opening in plan.opening))
        self.marks = tuple(dict.fromkeys(mark for opening in self.openings for mark in as_written(opening)))
        self._opening = _any_of(self.openings)

    def __bool__(self) -> bool:
        return bool(self._wires)

    def goes_on(self, rest: bytes) -> bool:
        """True if a text begins as an opening does, or may when more of it is there."""
        return any(rest.startswith(opening) or opening.startswith(rest) for opening in self.openings)

    def _reject(self, wire: Wire, code: int, data: bytes, at: int, stop: int) -> TextSpan:
        reason, fault = _refusal(wire, data[at:stop])
        return TextSpan(at, stop, code, reason, at + min(fault, stop - at))

    def _whole(self, wire: Wire, code: int, data: bytes, at: int, stop: int) -> TextSpan:
        """A whole candidate: a record where the wire's own reading takes it."""
        try:
            wire.decode(data[at:stop])
        except DecodeError:
            return self._reject(wire, code, data, at, stop)
        return TextSpan(at, stop, code)

    def token(self, data: bytes, at: int, line: int, limit: int) -> TextSpan | None:
        """The token that begins with the opening at ``at``, in a line that ends at ``line``."""
        stop = min(line, at + limit)
        for wire, code, opening in self._wires:
            if opening.match(data, at) is None:
                continue
            whole = wire.plan.whole.match(data, at, stop)
            if whole is not None and whole.end() > at:
                return self._whole(wire, code, data, at, whole.end())
            following = self._opening.search(data, at + 1, stop)
            end = stop if following is None else following.start()
            if wire.plan.damaged is not None and wire.plan.damaged(data[at:end]):
                return self._reject(wire, code, data, at, end)
        return None

    def lines(self, data: bytes, at: int, stop: int, final: bool, limit: int) -> TextSpan | None:
        """The lines that begin with the opening at ``at``."""
        newline = _NEWLINE.search(data, at, stop)
        end = stop if newline is None else newline.start()
        first = data[at:end].removesuffix(b"\r")
        for wire, code, opening in self._wires:
            if opening.match(data, at) is None:
                continue
            if newline is None and not final and stop - at <= limit:
                return TextSpan(at, stop, code, is_open=True)
            if wire.plan.damaged is not None and not wire.plan.damaged(first):
                continue
            to = self._following(opening, data, at + 1, min(stop, at + limit))
            whole = wire.plan.whole.match(data, at, to)
            if to == stop and not final and (whole is None or whole.end() in (at, stop)):
                return TextSpan(at, stop, code, is_open=True)
            if whole is not None and whole.end() > at:
                return self._whole(wire, code, data, at, whole.end())
            if wire.plan.damaged is not None:
                return self._reject(wire, code, data, at, at + len(first))
        return None

    def _following(self, opening: re.Pattern[bytes], data: bytes, start: int, stop: int) -> int:
        """The place where the next line begins with an opening of a wire, or ``stop``."""
        while (found := opening.search(data, start, stop)) is not None:
            if data[found.start() - 1] == ord("\n"):
                return found.start()
            start = found.start() + 1
        return stop


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


def _refusal(wire: Wire, raw: bytes) -> tuple[Reason, int]:
    """The reason for which a wire refuses bytes, and the place of the fault."""
    try:
        wire.decode(raw)
    except DecodeError as error:
        return error.reason, error.offset or 0
    return Reason.BAD_FRAMING, 0
