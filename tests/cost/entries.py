"""The entries of which each has a contract of cost: what a text of any size does to one, and what a good one is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, NamedTuple

import turnwire
from tests.convert.messages import DEFAULTS, explicit
from tests.cost.units import GOOD, REFUSED
from turnwire import Context, DecodeError, Decoder, csp, kick, sap, session, sstp, tokens
from turnwire.csp.laws import by_subject
from turnwire.errors import ConvertError, EncodeError, RuleError
from turnwire.nslip import Slot
from turnwire.read.judging import conform
from turnwire.read.stats import stats
from turnwire.report import report

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


def _rejects(data: bytes) -> Any:
    found = turnwire.scan(data)
    return sum(map(len, found)), found.rejects.rows()


def _explained(text: str) -> list[str]:
    found = turnwire.extract(text, rejects=True)
    return [turnwire.explain(one) for one in found if one.message is None]


def reading() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text: (name, entry)."""
    for wire in (*turnwire.WIRES, None):
        # Whichever wire is named, all of them are looked for: what is good is what that search takes as such.
        yield f"scan {wire}", Entry(_scan(wire), MIXED)
        for size in (1, 4, 64):
            yield f"feed {wire} {size}", Entry(_feed(wire, size), MIXED)
    yield "scan in blocks of 1", Entry(_scan(None, batch_bytes=1), MIXED)
    for wire in turnwire.WIRES:
        yield f"decode {wire}", Entry(_refused(partial(turnwire.decode, wire=wire)), GOOD[wire])
    yield "scan messages", Entry(lambda data: [*turnwire.scan(data).messages()], MIXED)
    yield "scan rejects", Entry(_rejects, MIXED)
    yield "scan where", Entry(_scan(None, where={"kind": "REQUEST", "subject": "x"}), MIXED)
    # What is good here is a near miss: nothing else is explained.
    yield "explain", Entry(_text(_explained), b"".join(one for refused in REFUSED.values() for one in refused))
    yield "tokens.count", Entry(_text(partial(tokens.count, tokenizer=tokens.tokenizers()[0])), b"some text ")
    yield "extract", Entry(_text(turnwire.extract), MIXED)
    yield "sstp.salvage", Entry(_text(sstp.salvage), GOOD["sstp"])
    yield "detect", Entry(turnwire.detect, GOOD["kick"])
    for wire in turnwire.WIRES:
        yield f"conform {wire}", Entry(_refused(partial(conform, wire)), GOOD[wire])
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


# --- entries that take messages: the text is what stands in one of their fields --------------------------------------


def _said(wire: str) -> Callable[[str], Any]:
    """Makes a message of a wire that says a text."""
    if wire == "nslip":
        return lambda text: turnwire.decode(GOOD["nslip"]).replace(slots={Slot.TAG: text})
    if wire == "csp":
        return lambda text: csp.message("A", "B", "C0", csp.Task("T1", {"REQ": text}))
    document = json.loads(GOOD[wire])
    field = {"sstp": ("payload", "goal"), "sap": ("payload", "topic"), "kick": ("content",)}[wire]

    def make(text: str) -> Any:
        changed = json.loads(GOOD[wire])
        inner = changed
        for step in field[:-1]:
            inner = inner[step]
        inner[field[-1]] = text
        return turnwire.decode(json.dumps(changed), wire=wire)

    assert document[field[0]]
    return make


CONTEXT = Context(defaults=DEFAULTS)


def _of_message(wire: str, call: Callable[[Any], Any]) -> Callable[[bytes], Any]:
    make = _said(wire)
    return _text(lambda text: call(make(text)))


def saying() -> Iterator[tuple[str, Entry]]:
    """Entries that take messages, made of any text."""
    for wire in turnwire.WIRES:
        yield f"decode {wire} saying", Entry(_of_message(wire, bool), b"some text ")
        yield f"encode {wire}", Entry(_of_message(wire, turnwire.encode), b"some text ")
        yield f"check {wire}", Entry(_of_message(wire, turnwire.check), b"some text ")
        for other in turnwire.WIRES:
            if other != wire:
                context = explicit(_said(wire)("some text "), other, CONTEXT, nearest=True)
                call = partial(turnwire.convert, to=other, context=context, carry=True, nearest=True)
                yield f"convert {wire} to {other}", Entry(_of_message(wire, call), b"some text ")
    yield "sstp.Session", Entry(_of_message("sstp", lambda message: sstp.Session().feed(message)), b"some text ")
    yield "kick.Monitor", Entry(_of_message("kick", lambda message: kick.Monitor().feed(message)), b"some text ")
    yield "sap.Lifecycle", Entry(_of_message("sap", lambda message: sap.Lifecycle().feed(message)), b"some text ")


# --- entries that take many messages ---------------------------------------------------------------------------------


def _decoded(wire: str, data: bytes) -> list[Any]:
    return [one.message for one in turnwire.scan(data, wire=wire).messages()]


def _fed_all(monitor: Any, wire: str, data: bytes) -> None:
    for message in _decoded(wire, data):
        if not isinstance(message, kick.Space):  # a document is nobody's message
            monitor.feed(message)


def _store(document: csp.Document) -> csp.Store:
    store = csp.Store()
    for message in document.messages:
        _refused(store.apply)(message)
    return store


def _stored(data: bytes) -> Any:
    """What a store makes of the messages it takes, its proof, and its dump."""
    store = _store(csp.parse(data, mode="lenient"))
    return store.verify(), csp.verify_dump(store.dump()), store.heads, store.diff("C0", store.head), store.explain("AB")


def _linted(data: bytes) -> Any:
    document = csp.parse(data, mode="lenient")
    return csp.lint(document, _store(document))


def _judged(data: bytes) -> Any:
    document = csp.parse(data, mode="lenient")
    laws = {name: law for record in document.records for name, law in getattr(record, "laws", {}).items()}
    return csp.judge_laws(document, laws, by_subject)


def _timed(data: bytes) -> Any:
    monitor = kick.Monitor()
    for number, message in enumerate(_decoded("kick", data)):
        if not isinstance(message, kick.Space):
            monitor.feed(message, float(number))
    return monitor.unfinished, monitor.tasks


def many() -> Iterator[tuple[str, Entry]]:
    """Entries that take a log, such as are slower: sums, reports, sessions over it."""
    yield "report", Entry(lambda data: report(data, tokenizer=None).html(), MIXED)
    yield "stats", Entry(lambda data: stats(data), MIXED)
    yield "sstp.Session log", Entry(lambda data: _fed_all(sstp.Session(), "sstp", data), GOOD["sstp"])
    yield "kick.Monitor log", Entry(lambda data: _fed_all(kick.Monitor(), "kick", data), GOOD["kick"])
    yield "sap.Lifecycle log", Entry(lambda data: _fed_all(sap.Lifecycle(strict=False), "sap", data), GOOD["sap"])
    yield "csp.board", Entry(_refused(lambda data: csp.board(csp.parse(data, mode="lenient"))), GOOD["csp"])
    yield "csp.Store", Entry(_refused(_stored), GOOD["csp"])
    yield "csp.lint beside a store", Entry(_refused(_linted), GOOD["csp"])
    yield "csp.judge_laws", Entry(_refused(_judged), GOOD["csp"])
    yield "sstp.Session roster", Entry(lambda data: _fed_all(sstp.Session(["alex", "b"]), "sstp", data), GOOD["sstp"])
    yield "kick.Monitor timed", Entry(_timed, GOOD["kick"])
    yield "arrow", Entry(lambda data: sum(1 for _ in _arrow(turnwire.scan(data))), MIXED)


SESSION_LINE = b'{"conv":1,"turn":12,"text":"a question of someone, as long as most of them are"}\n'


def _packed(data: bytes) -> str:
    """Each line an event, an object or text: there and back."""
    lines = data.decode("utf-8", "replace").split("\n")
    text = session.encode(lines, None)
    assert len(session.decode(text)) == len(lines)
    return text


def _read_in_pieces(data: bytes) -> int:
    reader = session.Reader()
    text = data.decode("utf-8", "replace")
    return sum(len(reader.feed(text[at : at + 64])) for at in range(0, len(text), 64)) + len(reader.close())


def of_sessions() -> Iterator[tuple[str, Entry]]:
    """Entries that read sessions, or JSON lines, or what is neither; and that write them."""
    yield "session.decode", Entry(_text(session.decode), SESSION_LINE)
    yield "session.salvage", Entry(_text(session.salvage), SESSION_LINE)
    yield "session.Reader.feed", Entry(_refused(_read_in_pieces), SESSION_LINE)
    yield "session.encode", Entry(_refused(_packed), SESSION_LINE)


def _arrow(scan: turnwire.Scan) -> Iterator[Any]:
    for batch in scan:
        yield batch.__arrow_c_array__()
