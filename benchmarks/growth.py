"""The cost of hostile input: instructions at n and 4n bytes of each entry, counted by valgrind.

    python benchmarks/growth.py [--all] [NAME ...]

Twice the bytes cost 2.4 times as much at most, and no byte costs more than 20 of good input. The table is entries times
hostile units (``tests/hostile.py``), shapes and histories (``histories.py``): some of them always, all with ``--all``.
NAME chooses entries by a part of their names. Instructions repeat, so that no figure is a matter of luck.
"""

from __future__ import annotations

import argparse
import gc
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from os import cpu_count
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

import callgrind  # noqa: E402
from histories import HISTORIES, SAMPLES, SHAPES  # noqa: E402

import turnwire  # noqa: E402
from tests.convert.messages import DEFAULTS, explicit  # noqa: E402
from tests.hostile import CSP, GOOD, MESSAGES, REFUSED, UNITS  # noqa: E402
from turnwire import Context, Decoder, csp, kick, sap, session, sstp, tokens  # noqa: E402
from turnwire.errors import ConvertError, WireError  # noqa: E402
from turnwire.log import stats  # noqa: E402
from turnwire.nslip import Slot  # noqa: E402
from turnwire.read.located import conform  # noqa: E402
from turnwire.report import report  # noqa: E402

DOUBLING = 2.4
"""Twice the input may cost so many times as much."""
TIMES = 20
"""A byte of any input may cost so many times what one of good input costs."""
FLOOR = 25
"""Instructions that a byte of good input counts as at least: a good text of one long line is copied, not read."""
SHORT = 16
"""Each unit may cost as much as so many bytes: a record of a reject or an event has its cost, however short it is."""
Run = Callable[[bytes], Any]
Make = Callable[[int], bytes]


class Entry(NamedTuple):
    """run: does with a text what the entry does; good: a unit of good input, whose cost is the measure; size: bytes of
    the smaller of the two inputs."""

    run: Run
    good: bytes
    size: int = 2048


def _refused(call: Run) -> Run:
    """The refusal of bad input is a part of an entry's cost."""

    def run(data: bytes) -> Any:
        try:
            return call(data)
        except (WireError, ConvertError) as error:
            return error

    return run


def _text(call: Callable[[str], Any]) -> Run:
    return _refused(lambda data: call(data.decode("utf-8", "replace")))


# --- entries ----------------------------------------------------------------------------------------------------------

MIXED = b"".join(GOOD.values())
SPACE = "⫻content/text:a\nsome text here\n".encode()
SESSION = b'{"conv":1,"turn":12,"text":"a question of someone, as long as most of them are"}\n'
CONTEXT = Context(defaults=DEFAULTS)


def _scanned(data: bytes, **options: Any) -> int:
    found = turnwire.scan(data, **options)
    return sum(len(batch) for batch in found) + len(found.rejects)


def _fed(data: bytes, wire: str | None, size: int) -> None:
    """Feeds a decoder pieces of this size, on and on where it raises."""
    decoder = Decoder(wire)
    for place in range(0, len(data), size):
        _taken(partial(decoder.feed, data[place : place + size]), partial(decoder.feed, b""))
    _taken(decoder.close, decoder.close)


def _taken(first: Callable[[], Any], then: Callable[[], Any]) -> None:
    try:
        first()
    except WireError:
        _taken(then, then)


def _saying(wire: str) -> Callable[[str], Any]:
    """Makes a message of a wire that says a text."""
    if wire == "nslip":
        return lambda text: turnwire.decode(GOOD["nslip"]).replace(slots={Slot.TAG: text})
    if wire == "csp":
        return lambda text: csp.message("A", "B", "C0", csp.Task("T1", {"REQ": text}))

    def make(text: str) -> Any:
        document: Any = json.loads(GOOD[wire])
        if wire == "kick":
            document["content"] = text
        else:
            document["payload"]["goal" if wire == "sstp" else "topic"] = text
        return turnwire.decode(json.dumps(document), wire=wire)

    return make


def _of_message(wire: str, call: Callable[[Any], Any]) -> Entry:
    make = _saying(wire)
    return Entry(_text(lambda text: call(make(text))), b"some text ")


def _watched(monitor: Any, wire: str, data: bytes) -> None:
    for one in turnwire.scan(data, wire=wire).messages():
        if not isinstance(one.message, kick.Space):  # a document is nobody's message
            monitor.feed(one.message)


def _timed(data: bytes) -> Any:
    monitor = kick.Monitor()
    for number, one in enumerate(turnwire.scan(data, wire="kick").messages()):
        if not isinstance(one.message, kick.Space):
            monitor.feed(one.message, float(number))
    return monitor.unfinished, monitor.tasks


def _stored(data: bytes) -> Any:
    store = csp.Store()
    for message in csp.parse(data, mode="lenient").messages:
        _refused(store.apply)(message)
    return store.verify(), store.diff("C0", store.head)


def _packed(data: bytes) -> Any:
    lines = data.decode("utf-8", "replace").split("\n")
    return session.decode(session.encode(lines, None))


def _read_in_pieces(data: bytes) -> None:
    reader, text = session.Reader(), data.decode("utf-8", "replace")
    for at in range(0, len(text), 64):
        reader.feed(text[at : at + 64])
    reader.close()


def entries() -> Iterator[tuple[str, Entry]]:
    """Entries that take any text, by name."""
    for wire in (None, *turnwire.WIRES):
        # Whichever wire is named, all of them are looked for: what is good is what that search takes as such.
        yield f"scan {wire or 'all'}", Entry(partial(_scanned, wire=wire), MIXED, 1 << 13)
        yield f"feed {wire or 'all'}", Entry(partial(_fed, wire=wire, size=64), MIXED, 512)
    yield "scan formats", Entry(partial(_scanned, wire="formats"), SAMPLES["claude_code"], 1 << 14)
    yield "feed by 4", Entry(partial(_fed, wire=None, size=4), MIXED, 512)
    yield "scan in blocks of 1", Entry(partial(_scanned, batch_bytes=1), MIXED, 256)
    yield "messages", Entry(lambda data: [*turnwire.scan(data).messages()], MIXED)
    yield "extract", Entry(_text(turnwire.extract), MIXED)
    yield "explain", Entry(_text(_explained), b"".join(one for refused in REFUSED.values() for one in refused))
    for wire in turnwire.WIRES:
        yield f"decode {wire}", Entry(_refused(partial(turnwire.decode, wire=wire)), GOOD[wire], 1 << 13)
        yield f"conform {wire}", Entry(_refused(partial(conform, wire)), GOOD[wire])
        yield f"encode {wire}", _of_message(wire, turnwire.encode)
        yield f"check {wire}", _of_message(wire, turnwire.check)
        other = {"nslip": "kick", "csp": "sap", "sstp": "nslip", "sap": "csp", "kick": "sstp"}[wire]
        context = explicit(_saying(wire)("some text "), other, CONTEXT, nearest=True)
        call = partial(turnwire.convert, to=other, context=context, carry=True, nearest=True)
        yield f"convert {wire} to {other}", _of_message(wire, call)
    yield "csp.parse", Entry(_refused(lambda data: csp.parse(data, mode="lenient")), CSP)
    yield "csp.lint", Entry(_refused(lambda data: csp.lint(csp.parse(data, mode="lenient"))), CSP)
    yield "csp.read_log", Entry(_refused(csp.read_log), CSP)
    yield "csp.Store", Entry(_refused(_stored), CSP)
    yield "csp.refs", Entry(_text(csp.refs), b"see a/b.py:1-2, ")
    yield "csp.expand", Entry(_text(lambda text: csp.expand(text, {"A": "b"})), b"see A, B and ")
    yield "kick.parse_space", Entry(_refused(lambda data: kick.parse_space(data, mode="lenient")), SPACE)
    yield "kick.lint", Entry(_refused(lambda data: kick.lint(kick.parse_space(data, mode="lenient"))), SPACE)
    yield "kick.Monitor", Entry(_timed, GOOD["kick"])
    yield "sstp.salvage", Entry(_text(sstp.salvage), GOOD["sstp"])
    yield "sstp.Session", Entry(lambda data: _watched(sstp.Session(), "sstp", data), GOOD["sstp"])
    yield "sap.Lifecycle", Entry(lambda data: _watched(sap.Lifecycle(strict=False), "sap", data), GOOD["sap"])
    yield "session.decode", Entry(_text(session.decode), SESSION)
    yield "session.salvage", Entry(_text(session.salvage), SESSION)
    yield "session.encode", Entry(_refused(_packed), SESSION, 512)
    yield "session.Reader", Entry(_refused(_read_in_pieces), SESSION)
    yield "stats", Entry(stats, MIXED)
    yield "report", Entry(lambda data: report(data, tokenizer=None).html(), MIXED)
    yield "tokens.count", Entry(_text(partial(tokens.count, tokenizer=tokens.tokenizers()[0])), b"some text ")


def _explained(text: str) -> list[str]:
    return [turnwire.explain(one) for one in turnwire.extract(text, rejects=True) if one.message is None]


# --- what they are given ----------------------------------------------------------------------------------------------


def _repeated(unit: bytes) -> Make:
    return lambda n: unit * max(n // len(unit), 1)


ALWAYS = ("scan all", "feed all", "extract", "decode", "conform csp", "conform kick", "csp.lint")
ALWAYS += ("kick.parse_space", "sstp.salvage", "session.decode", "session.encode", *HISTORIES)
OFTEN = (
    "{}",
    "@a",
    '@a3"a\\"',
    '{"a":',
    "x CSP/1\n",
    "CSP/1\n",
    "\n",
    '\\"',
    '{"header":{}}\n',
    'x "header":',
    "⫻a/b:c/d\n",
    "@a3|CSP/1",
)
SHAPED = ("records in a string", "nested objects", "open heredoc", "names of one hash", "many names, then some")
DEAR = ("behind ", "in parts of CRI", "preambles behind")
"""In the names of inputs of which only growth is judged: docs/theory.md, Admitted imperfections."""


def inputs(name: str, every: bool) -> dict[str, Make]:
    """The inputs of an entry, by name."""
    units = {repr(one): one.encode() for one in OFTEN}
    if every:
        units |= {repr(unit): unit for unit in UNITS} | MESSAGES
    found = {told: _repeated(unit) for told, unit in units.items()}
    found |= {shape: make for shape, make in SHAPES.items() if every or shape in SHAPED}
    return found | HISTORIES.get(name, {})


# --- counting ---------------------------------------------------------------------------------------------------------


def _count(names: list[str], every: bool, scale: int) -> None:
    """The process whose instructions are counted: each entry with each input of n and of 4n bytes."""
    known = dict(entries())
    gc.collect()
    gc.freeze()
    gc.disable()  # when it runs depends on all that went before
    callgrind.begin()
    for name in names:
        entry = known[name]
        for make in (_repeated(entry.good), *inputs(name, every).values()):
            entry.run(make(256))  # what is done once is done
            for times in (1, 4):
                data = make(times * scale * entry.size)
                callgrind.mark()
                entry.run(data)
                callgrind.mark()
            gc.collect()


def counted(names: list[str], every: bool, scale: int) -> dict[str, list[tuple[int, int]]]:
    """Instructions of the smaller and of the larger input of all that ``_count`` tries, for each entry in order."""
    parts = callgrind.counted(ROOT / "src", __file__, "--count", json.dumps([names, every, scale]))
    work = iter(parts[1::2])  # what stands between is preparation
    return {name: [(next(work), next(work)) for _ in range(1 + len(inputs(name, every)))] for name in names}


def faults(names: list[str], every: bool, scale: int = 1) -> dict[tuple[str, str], str]:
    """The breaches of the contract, in words, by the names of entry and input."""
    several, known = cpu_count() or 1, dict(entries())
    with ThreadPoolExecutor(several) as pool:  # a process each
        parts = pool.map(lambda at: counted(names[at::several], every, scale), range(several))
    bad = {}
    for name, ((small, large), *others) in ((name, found) for part in parts for name, found in part.items()):
        size = scale * known[name].size
        allowed = TIMES * max((large - small) / (3 * size), FLOOR)
        for (what, make), (small, large) in zip(inputs(name, every).items(), others, strict=True):
            growth = (large / small) ** 0.5
            more = len(make(4 * size)) - len(make(size))
            a_byte = (large - small) / more / max(SHORT / (len(make(1)) or SHORT), 1)
            judged = not any(part in what for part in DEAR)
            if growth > DOUBLING or (judged and a_byte > allowed):
                told = f"{name}, {what}: twice costs {growth:.2f}, a byte {a_byte:.0f} (at most {allowed:.0f})"
                bad[name, what] = told
    return bad


def main() -> int:
    """Counts and judges; the exit code. What costs too much is counted again with longer input: where memory is first
    asked for, or a template made, is a step between two sizes, and no growth."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of entries")
    parser.add_argument("--all", action="store_true", help="all entries and inputs")
    parser.add_argument("--count", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.count:
        _count(*json.loads(options.count))
        return 0
    if shutil.which("valgrind") is None:
        print("NOT JUDGED: there is no valgrind, which counts the instructions", file=sys.stderr)
        return 1
    wanted = tuple(options.names) or (("",) if options.all else ALWAYS)
    names = [name for name, _ in entries() if any(part in name for part in wanted)]
    bad = faults(names, options.all)
    again = faults(sorted({name for name, _ in bad}), options.all, 4) if bad else {}
    told = [f"FAILED: {again[one]}" for one in bad if one in again]
    print(*told, f"{len(names)} entries, {len(told)} inputs cost too much", sep="\n")
    return 1 if told else 0


if __name__ == "__main__":
    sys.exit(main())
