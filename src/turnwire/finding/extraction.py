"""Messages of all wires out of any text: an LLM's answer, a chat transcript, a mail."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from turnwire import registry
from turnwire.contract import OBJECT, Wire
from turnwire.errors import DecodeError
from turnwire.json.embedded import pieces


class Found(NamedTuple):
    """One message that was found.

    start, end: its span in the text, in characters (inside a JSON string: of its escaped form). wrapped: "bare" (it is
    the whole text), "prose", "fence" or "json" (inside a larger JSON value); inside a JSON string, "json_string/"
    stands before that, once for each level.
    """

    message: Any
    wire: str
    start: int
    end: int
    wrapped: str


def extract(text: str, wires: Iterable[str] | None = None) -> list[Found]:
    """Every message of ``wires`` (by default of all) in ``text``, in order, with its span and how it was wrapped.

    Each message is one that its wire's ``decode`` takes; nothing is repaired, and what stands inside a message is its
    content. Raises DecodeError(unknown_wire) for a name that is no wire.
    """
    chosen = [registry.wire(name) for name in (registry.names() if wires is None else wires)]
    objects = [wire for wire in chosen if wire.style == OBJECT]
    searched = [(wire, wire.search) for wire in chosen if wire.style != OBJECT and wire.search is not None]

    def accept(fields: dict[str, Any], raw: bytes) -> tuple[Any, str] | None:
        for wire in objects:
            if fields and wire.detect(raw) and (message := _decoded(wire, raw)) is not None:
                return message, wire.name
        return None

    def search(part: str) -> Iterator[tuple[tuple[Any, str], int, int]]:
        for wire, finder in searched:
            for message, start, end in finder(part):
                yield (message, wire.name), start, end

    found = pieces(text, accept, search if searched else None)
    return [Found(message, name, start, end, how) for (message, name), start, end, how in found]


def _decoded(wire: Wire, raw: bytes) -> Any:
    try:
        return wire.decode(raw)
    except DecodeError:
        return None
