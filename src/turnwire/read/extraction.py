"""Messages of all wires out of any text: an LLM's answer, a chat transcript, a mail. Each is told with how it is
wrapped there, and near misses in words that can be sent back to a model, so that it mends its answer.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from json.decoder import scanstring  # type: ignore[attr-defined]
from operator import itemgetter
from typing import Any, Literal, NamedTuple, overload

from turnwire import _backend, registry
from turnwire.contract import FORMATS, FormatWire
from turnwire.errors import DecodeError, Reason, WireError
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import opened_at
from turnwire.json._wrapper_py import may_be_piece
from turnwire.json.faults import SPACE
from turnwire.json.text import reader
from turnwire.read.located import Located, located
from turnwire.showing import visible

DEEPEST_STRING = 8
"""JSON inside strings of JSON inside strings … is followed this far."""
_OPENING = re.compile(rb'\{[ \t\r\n]*["}]')
_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_LITERAL = re.compile(
    rb'(?:^|[{\[,:])[ \t\r\n]*"([^"\\]*(?:\\.[^"\\]*)*)(?:"(?=[ \t\r\n]*(?:[}\],:]|\Z))|\\?\Z)', re.DOTALL
)
"""A JSON string, by what is around it; or one that the text cuts off."""
_CONTINUATION = bytes(range(0x80, 0xC0))
"""The bytes of a character but its first; a place in a damaged string may be between two."""
_FENCE = re.compile(rb"`{3,}|~{3,}")


class Text:
    """One text in UTF-8: a whole one, or what a JSON string in it says."""

    def __init__(self, raw: bytes) -> None:
        self.raw = raw
        self._last: tuple[int, Text | None, EscapeMap] | None = None  # the string that was asked for last

    @cached_property
    def _fences(self) -> list[int]:
        return [match.start() for match in _FENCE.finditer(self.raw)]

    def objects(self) -> Iterator[tuple[int, int, Any]]:
        """The outermost objects of good JSON: bytes from and to, and what each says."""
        find = reader("json").find
        hopeless: set[int] = set()
        place = 0
        while (match := _OPENING.search(self.raw, place)) is not None:
            start = match.start()
            place = start + 1
            if start in hopeless:
                continue
            value, end = find(self.raw, start)
            if value is None:
                hopeless = opened_at(self.raw, start, end)
                continue
            place = end
            yield start, end, value

    def how(self, start: int, end: int) -> str:
        """The way in which the bytes from ``start`` to ``end`` are wrapped: "bare", "prose", "fence" or "json"."""
        before, after = start, end
        while before > 0 and self.raw[before - 1] in SPACE:
            before -= 1
        while after < len(self.raw) and self.raw[after] in SPACE:
            after += 1
        front, back = self.raw[max(before - 1, 0) : before], self.raw[after : after + 1]
        if not front and not back:
            return "bare"
        if front in (b":", b"[", b",") and back in (b"}", b"]", b","):  # perhaps inside a larger object of good JSON
            index = bisect_right(self._objects, (start, len(self.raw))) - 1
            if index >= 0 and self._objects[index][0] < start and end < self._objects[index][1]:
                return "json"
        if bisect_left(self._fences, start) % 2:
            return "fence"
        return "json" if front in (b"[", b",") and back in (b"]", b",") else "prose"

    @cached_property
    def _objects(self) -> list[tuple[int, int]]:
        return [(start, end) for start, end, _ in self.objects()]

    def wrapped(self, raw: bytes, place: int, known: int = 0) -> str:
        """The same for the bytes ``raw`` that stand at ``place``, or are what strings of JSON say there, with
        "json_string/" for each level of these. raw may also be as it is written there. known: in so many strings they
        are if the byte is in one, whatever these say."""
        text, depth = self, -1
        for inside, at in self._levels(place):
            if depth >= 0 and not inside.raw.startswith(raw, at):
                raw = unescaped(raw)
                if depth >= known and not inside.raw.startswith(raw, at):
                    break
            text, place, depth = inside, at, depth + 1
        return "json_string/" * depth + text.how(place, place + len(raw))

    def innermost(self, place: int) -> tuple[Text, int]:
        """The text of the innermost JSON string that holds a byte, and where that byte is there; of a byte in none,
        this text."""
        *_, last = self._levels(place)
        return last

    def _levels(self, place: int) -> Iterator[tuple[Text, int]]:
        """This text and the byte, and the same of each JSON string in a string that holds it."""
        text = self
        for _ in range(DEEPEST_STRING + 1):
            yield text, place
            start = text.literal(place)
            inside, escapes = (None, None) if start is None else text._string(start)
            if start is None or inside is None or escapes is None:
                return
            text, place = inside, escapes.said(place - start)

    @cached_property
    def _literals(self) -> list[tuple[int, int]]:
        """The insides of JSON strings, in order; the last one may have no end."""
        return [match.span(1) for match in _LITERAL.finditer(self.raw)]

    def literal(self, place: int) -> int | None:
        """The place where the inside of the JSON string begins that holds a byte, if any."""
        index = bisect_right(self._literals, (place, len(self.raw))) - 1
        return self._literals[index][0] if index >= 0 and place < self._literals[index][1] else None

    def said(self, start: int) -> Text | None:
        """The text of the JSON string whose inside begins there; None if it is damaged."""
        return self._string(start)[0]

    def written(self, start: int, place: int) -> int:
        """The byte at which that JSON string has what is at a place of what it says."""
        return start + self._string(start)[1].place(place)

    def _string(self, start: int) -> tuple[Text | None, EscapeMap]:
        if self._last is None or self._last[0] != start:
            inside = self.raw[start : inside_end(self.raw, start)]
            raw = _decoded(inside)
            self._last = start, None if raw is None else Text(raw), EscapeMap(inside)
        return self._last[1:]

    def characters(self, places: Iterable[int]) -> dict[int, int]:
        """Byte offset -> character offset, for each of ``places``."""
        if self.raw.isascii():
            return {place: place for place in places}
        result = {}
        byte = character = 0
        for place in sorted(set(places)):
            character += len(self.raw[byte:place].translate(None, _CONTINUATION))
            byte = place
            result[place] = character
        return result


def inside_end(raw: bytes, start: int) -> int:
    """The place where the inside of the JSON string ends that begins at ``start``."""
    match = _INSIDE.match(raw, start)
    return match.end() if match else start


def unescaped(inside: bytes, times: int = 1) -> bytes:
    """The text that the inside of a JSON string says, or the part of one; itself if it is none. times: of strings in
    strings, in how many it is."""
    for _ in range(times):
        said = _decoded(inside)
        if said is None:
            break
        inside = said
    return inside


def _decoded(inside: bytes) -> bytes | None:
    """The text of a JSON string, without its quotes; None if it is none."""
    try:
        written = f'{inside.decode("utf-8", "surrogatepass")}"'
        text, end = scanstring(written, 0, False)  # a third of what a decoder of whole values takes
    except ValueError:
        return None
    return text.encode("utf-8", "surrogatepass") if end == len(written) else None


if _backend.NAME == "native":
    may_be_piece = _backend.load("common.door").may_be_piece
_ESCAPES = {0x0A: b"n", 0x0D: b"r", 0x09: b"t"}


class Found(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters (inside a JSON string: of its escaped form). wrapped: "bare" (it is
    the whole text), "prose", "fence" or "json" (inside a larger JSON value); inside a JSON string, "json_string/"
    is before that, once for each level.
    """

    message: Any
    wire: str
    start: int
    end: int
    wrapped: str

    @property
    def error(self) -> None:
        """None; for a near miss (:class:`NearMiss`) the error."""
        return None


class NearMiss(NamedTuple):
    """A text that carries the marks of a wire and is not a message.

    error: why it is none: ``reason``, ``path`` (a JSON pointer, where the wire has such), ``offset`` and ``line`` in
    the text's UTF-8; :func:`turnwire.explain` says it in words for a model. wire: whose marks. start, end, wrapped: as
    of :class:`Found`. raw: its bytes, in a JSON string those that the string says.
    """

    error: DecodeError
    wire: str
    start: int
    end: int
    wrapped: str
    raw: bytes

    @property
    def message(self) -> None:
        """There is none."""
        return None


@overload
def extract(text: str, wires: Iterable[str] | None = None, *, rejects: Literal[False] = False) -> list[Found]: ...


@overload
def extract(text: str, wires: Iterable[str] | None = None, *, rejects: bool) -> list[Found | NearMiss]: ...


def extract(text: str, wires: Iterable[str] | None = None, *, rejects: bool = False) -> Any:
    """Returns every message of ``wires`` (names of wires or formats; all wires by default) in ``text``, in order, with
    span and wrapping.

    They are the records that :func:`turnwire.scan` finds in the text; nothing is repaired. ``rejects=True`` also
    returns near misses (:class:`NearMiss`). Raises UnknownName for an unknown wire.
    """
    if not isinstance(text, str):
        raise TypeError(f"the text to search must be a str, not {type(text).__name__}")
    one = _one_message(text)
    if one is not None and wires is None:
        return [one]
    wanted = set(registry.chosen(wires))
    searched = {FORMATS if isinstance(registry.wire(name), FormatWire) else None for name in wanted}
    if one is not None and FORMATS not in searched:
        return [one] if one.wire in wanted else []
    raw = text.encode("utf-8", "surrogatepass")
    records = [one for wire in searched for one in located(raw, wire, rejects=rejects) if one.wire in wanted]
    found = placed(raw, records)
    places = Text(raw).characters(place for _, span, _ in found for place in span)
    return [
        Found(one.message, one.wire, places[start], places[end], how)
        if one.error is None
        else NearMiss(
            one.error, one.wire, places[start], places[end], how, unescaped(one.raw, how.count("json_string/"))
        )
        for one, (start, end), how in found
    ]


def _one_message(text: str) -> Found | None:
    """The message that a text is and nothing else, by decode alone; None if only the search can tell."""
    end = len(text)
    if text.startswith("CSP/1\n") and text.count("CSP/1") == 1:
        end = len(text.rstrip("\n"))
    elif not text.startswith(("@a", "{")) or "\n" in text or (text[0] == "{" and may_be_piece(text)):
        return None
    if text[end - 1].isspace():
        return None
    try:
        message = registry.decode(text)
    except DecodeError:
        return None
    wire = getattr(message, "__wire__", None) or registry.wire_of(message) or ""
    return tuple.__new__(Found, (message, wire, 0, end, "bare"))  # in a third of the time of Found(...)


def placed(raw: bytes, found: Iterable[Located]) -> list[tuple[Located, tuple[int, int], str]]:
    """Messages in a text, in order, each with its span in bytes and how it is wrapped."""
    whole = Text(raw)
    return sorted(((one, *_placed(whole, one)) for one in found), key=itemgetter(1))


def _placed(whole: Text, one: Located) -> tuple[tuple[int, int], str]:
    first, raw = one.offset, one.raw
    if one.inner is None:
        end = first + len(whole.raw[first : first + one.length].rstrip())
        return (first, end), whole.how(first, end)
    if one.error is not None:  # it has its own place, and its bytes are as written there
        how = whole.wrapped(raw, first, 1)
        raw = unescaped(raw)
    else:  # the place is that of the string; what is left of a text may begin in one
        start = first + (whole.raw[first : first + 1] in (b'"', b"["))
        first, said = whole.written(start, one.inner), whole.said(start)
        how = f"json_string/{'prose' if said is None else said.wrapped(raw.rstrip(), one.inner)}"
    literal = whole.raw[first : first + one.length]
    return (first, first + _without(literal, raw[len(raw.rstrip()) :], how.count("json_string/"))), how


def _without(literal: bytes, space: bytes, depth: int) -> int:
    """The length of a part of a JSON string's inside is without the white space that it says at its end; depth: in how
    many strings that is."""
    size = len(literal)
    if not depth:
        return len(literal.rstrip())
    for byte in reversed(space):
        escape = b"\\" * 2 ** (depth - 1) + _ESCAPES.get(byte, b"")
        if literal.endswith(escape, 0, size):
            size -= len(escape)
        elif literal.endswith(bytes([byte]), 0, size):
            size -= 1
    return size


_AROUND = 40
"""Bytes of the excerpt on each side of the fault."""


def explain(reject: Any) -> str:
    """Explains a fault to a model, so that it can correct its answer: wire, fault, position, expectation, excerpt.

    reject: a near miss of ``extract(..., rejects=True)``, ``Scan.errors()`` or
    ``finding.located``, or the DecodeError that ``decode`` or a ``Decoder`` raised. Returns a few lines of plain
    text, with the excerpt escaped. Raises TypeError for anything else.
    """
    error, raw = _of(reject)
    wire = error.wire
    title = registry.wire(wire).title if wire in registry.names() else None
    lines = [f"This is not a valid {title or ''} message.".replace("  ", " ")]
    alone, raw = _alone(error, raw)
    error = alone or error  # what a stream or a scan says of it is shorter
    line = f" in line {error.line}" if error.line is not None and error.line > 1 else ""
    where = f" at {visible(error.path)}" if error.path else line
    lines.append(f"Wrong{where}: {visible(error.text or str(error.reason).replace('_', ' '))} ({error.reason}).")
    if raw:
        lines.append(f"You wrote: {_excerpt(raw, 0 if alone is None else alone.offset or 0)}")
    lines.append("Send the whole message again with only this corrected and nothing around it.")
    return "\n".join(lines)


def _alone(error: WireError, raw: bytes | None) -> tuple[DecodeError | None, bytes | None]:
    """The verdict of the wire on the bytes alone, None if it is not the same, and the bytes: those of a reject in
    JSON strings are as written there, and say it without their escapes."""
    said, written = raw, None
    for _ in range(DEEPEST_STRING + 1):
        found = None if said is None or said == written else _decode_fault(said, error.wire)
        if said is None or found is None:
            break
        if found.reason is error.reason:
            return found, said
        said, written = unescaped(said), said
    return None, raw


def _of(reject: Any) -> tuple[WireError, bytes | None]:
    """The error of a near miss, and its bytes where they are known."""
    error = reject if isinstance(reject, WireError) else getattr(reject, "error", None)
    raw = getattr(reject, "raw", None)
    if isinstance(error, WireError):
        return error, raw
    if isinstance(raw, bytes) and isinstance(getattr(reject, "reason", None), str):  # of Scan.errors()
        return DecodeError(Reason(reject.reason), wire=reject.wire), raw
    raise TypeError(f"explain expects a near miss or a DecodeError, not {type(reject).__name__}")


def _decode_fault(raw: bytes, wire: str | None) -> DecodeError | None:
    """The verdict of the wire on some bytes alone; None if it takes them."""
    if wire not in registry.names():
        return None
    try:
        registry.wire(wire).decode(raw)
    except DecodeError as error:
        return error
    return None


def _excerpt(raw: bytes, place: int) -> str:
    """The text around the fault, on one line."""
    place = min(place, len(raw))
    start, end = max(place - _AROUND, 0), min(place + _AROUND, len(raw))
    text = raw[start:end].decode("utf-8", "ignore")
    shown = " ".join(visible(line).strip() for line in text.splitlines()).strip()
    return f"{'…' if start else ''}{shown}{'…' if end < len(raw) else ''}"
