"""The entries of which each has a contract of cost: what a text of any size does to one, and what a good one is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from importlib import import_module

import turnwire
from tests.cost.units import GOOD
from turnwire import DecodeError, Decoder, csp, kick, sstp
from turnwire.errors import ConvertError, EncodeError, RuleError

REFUSALS = (DecodeError, EncodeError, ConvertError, RuleError)


class Entry(NamedTuple):
    """run: does with a text what the entry does; good: a unit of good input, whose cost is the measure."""

    run: Callable[[bytes], Any]
    good: bytes


def _refused(call: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """What an entry does with bad input is to refuse it: that is a part of its cost."""

    def run(data: bytes) -> Any:
        try:
            return call(data)
        except REFUSALS as error:
            return error

    return run


def _text(call: Callable[[str], Any]) -> Callable[[bytes], Any]:
    return _refused(lambda data: call(data.decode("utf-8", "replace")))


def scanned(data: bytes, **options: Any) -> int:
    found = turnwire.scan(data, **options)
    return sum(len(batch) for batch in found) + len(found.rejects)


def fed(data: bytes, wire: str | None, size: int) -> int:
    """All that comes out of a decoder that is fed pieces of this size."""
    decoder = Decoder(wire)
    count = 0
    for place in range(0, len(data), size):
        count += _emptied(decoder, data[place : place + size])
    while True:
        try:
            return count + len(decoder.close())
        except DecodeError:
            count += 1


def _emptied(decoder: Decoder, piece: bytes) -> int:
    count = 0
    while True:
        try:
            return count + len(decoder.feed(piece))
        except DecodeError:
            count, piece = count + 1, b""


def _scan(wire: str | None, **options: Any) -> Callable[[bytes], Any]:
    return lambda data: scanned(data, wire=wire, **options)


def _feed(wire: str | None, size: int) -> Callable[[bytes], Any]:
    return lambda data: fed(data, wire, size)


MIXED = b"".join(GOOD.values())


def reading() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text: (name, entry)."""
    for wire in (*turnwire.WIRES, None):
        good = MIXED if wire is None else GOOD[wire]
        yield f"scan {wire}", Entry(_scan(wire), good)
        for size in (1, 4, 64):
            yield f"feed {wire} {size}", Entry(_feed(wire, size), good)
    yield "scan where", Entry(_scan(None, where={"kind": "REQUEST", "subject": "x"}), MIXED)
    yield "extract", Entry(_text(turnwire.extract), MIXED)
    yield "sstp.salvage", Entry(_text(sstp.salvage), GOOD["sstp"])
    yield "detect", Entry(turnwire.detect, GOOD["kick"])
    for wire in turnwire.WIRES:
        yield f"conform {wire}", Entry(_refused(import_module(f"turnwire.{wire}.checklist").conform), GOOD[wire])
    yield "csp.parse", Entry(_refused(csp.parse), GOOD["csp"])
    yield "csp.parse lenient", Entry(_refused(lambda data: csp.parse(data, mode="lenient")), GOOD["csp"])
    yield "csp.lint", Entry(_refused(lambda data: csp.lint(csp.parse(data, mode="lenient"))), GOOD["csp"])
    yield "csp.read_log", Entry(_refused(csp.read_log), GOOD["csp"])
    yield "csp.replay", Entry(_refused(csp.replay), GOOD["csp"])
    space = "⫻content/text:a\nsome text here\n".encode()
    yield "kick.parse_space", Entry(_refused(kick.parse_space), space)
    yield "kick.parse_space lenient", Entry(_refused(lambda data: kick.parse_space(data, mode="lenient")), space)
    yield "kick.lint", Entry(_refused(lambda data: kick.lint(kick.parse_space(data, mode="lenient"))), space)
    yield "kick.salvage_space", Entry(_refused(kick.salvage_space), space)
    yield "csp.refs", Entry(_text(csp.refs), b"see a/b.py:1-2, ")
    yield "csp.expand", Entry(_text(lambda text: csp.expand(text, {"A": "b"})), b"see A, B and ")
    yield "csp.routing_laws", Entry(_text(lambda text: csp.routing_laws({"L1": text})), b"some files -> A only ")
