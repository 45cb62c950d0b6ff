"""Messages of all wires out of any text: an LLM's answer, a chat transcript, a mail."""

from __future__ import annotations

from collections.abc import Iterable
from operator import itemgetter
from typing import Any, Literal, NamedTuple, overload

from turnwire import _backend, registry
from turnwire.contract import FORMATS, FormatWire
from turnwire.errors import DecodeError
from turnwire.json._wrapper_py import may_be_piece
from turnwire.read.located import Located, located
from turnwire.read.wrapping import Text, unescaped

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
