"""Messages as objects, wire by wire: all entries of the package, against msgspec to and from dicts in the same rounds.

    python benchmarks/messages.py [--rounds N] [WIRE ...]

400 messages of each wire, hard ones (``logs.hard_messages``): floats of 17 digits, CJK, escapes; slots in any order. Of
nSLIP and SSTP there are real ones besides. msgspec reads and writes the same information as JSON: for JSON wires the
very same bytes, for the others an object with the same members. Times are processor time, medians of the rounds; each
ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import msgspec
from logs import LOGS, hard_messages
from measure import Run, by_turns, ratio

import turnwire

COUNT = 400
WIRES = ("nslip", "csp", "sstp", "sap", "kick")
CASES = ("nslip", "nslip real", "csp", "sstp", "sstp real", "sap", "kick")
"""A wire and its messages: those of CSP/1 are those of its log, others hard unless they are real."""
TIMED = ("decode", "decode + check", "encode made", "encode read", "feed", "extract")
"""``feed`` of a Decoder gets one message a call, with its line feed; ``extract`` gets one message alone."""


class Row(NamedTuple):
    """A line of the table: bytes of a message, and of each thing timed ns a message and the ratio to msgspec."""

    case: str
    size: float
    times: dict[str, float]
    ratios: dict[str, float]


def texts_of(case: str) -> list[bytes]:
    """The messages of a case."""
    wire, _, real = case.partition(" ")
    if wire == "csp":
        parts = LOGS["csp"](COUNT * 400).split(b"CSP/1\n")[1 : COUNT + 1]
        return [b"CSP/1\n" + part.rstrip(b"\n") + b"\n" for part in parts]
    return LOGS[wire](COUNT * 1200).splitlines()[:COUNT] if real else hard_messages(wire, COUNT)


def members(wire: str, message: Any) -> dict[str, Any]:
    """A message of nSLIP or CSP/1 as one writes it in JSON."""
    if wire == "nslip":
        found: dict[str, Any] = message.to_dict()
        return found
    block = message.block
    return {
        **{"from": message.sender, "to": message.receiver, "ctx": message.ctx, "intent": str(message.intent)},
        **{"id": block.id, **({"op": block.op} if hasattr(block, "op") else {})},
        **dict(block.fields),
    }


def as_json(wire: str, texts: list[bytes]) -> list[bytes]:
    """The same information as JSON objects: for the JSON wires the very same bytes."""
    if wire not in ("nslip", "csp"):
        return texts
    encode = msgspec.json.Encoder().encode
    return [encode(members(wire, turnwire.decode(text, wire))) for text in texts]


def made(wire: str, text: bytes) -> Any:
    """A message as a program makes it: through its class, of values that were never read as a message."""
    message = turnwire.decode(text, wire)
    if wire == "sstp":
        document = msgspec.json.decode(text)
        return type(message)(document["header"], document["payload"])
    if wire in ("sap", "kick"):
        return type(message).from_dict(msgspec.json.decode(text))
    if wire == "csp":
        return message.replace()
    return message.replace(slots=dict(message.slots))


def each(call: Callable[[Any], Any], values: list[Any]) -> float:
    """Seconds that a call takes for each of some values."""
    start = process_time()
    for value in values:
        call(value)
    return (process_time() - start) / len(values)


def fresh(call: Callable[[Any], Any], decode: Callable[[Any], Any], values: list[Any]) -> float:
    """Seconds that a call takes for messages that have just been read, and that nobody has looked at."""
    return each(call, [decode(value) for value in values])


def runs(wire: str, texts: list[bytes], json: list[bytes]) -> dict[str, Run]:
    """The entries that are timed, all of the package, which find the wire themselves: each the best of three passes."""
    decode, check, encode = turnwire.decode, turnwire.check, turnwire.encode
    objects = [made(wire, text) for text in texts]
    dicts = [msgspec.json.decode(text) for text in json]
    single: dict[str, Run] = {
        "decode": partial(each, decode, texts),
        "decode + check": partial(each, lambda text: check(decode(text)), texts),
        "encode made": partial(each, encode, objects),
        "encode read": partial(fresh, encode, decode, texts),
        "feed": partial(each, turnwire.Decoder(wire).feed, [text + b"\n" for text in texts]),
        "extract": partial(each, turnwire.extract, [text.decode() for text in texts]),
        "msgspec decode": partial(each, msgspec.json.Decoder().decode, json),
        "msgspec encode": partial(each, msgspec.json.Encoder().encode, dicts),
    }
    return {name: lambda run=run: min(run() for _ in range(3)) for name, run in single.items()}  # type: ignore[misc]


def measure(rounds: int, cases: tuple[str, ...] = CASES) -> Iterator[Row]:
    """A row for each case."""
    for case in cases:
        wire = case.partition(" ")[0]
        texts = texts_of(case)
        if len(texts) != COUNT:
            raise AssertionError(f"{len(texts)} messages of {case}, not {COUNT}")
        gc.collect()
        samples = by_turns(runs(wire, texts, as_json(wire, texts)), rounds)
        other = {name: "msgspec encode" if name.startswith("encode") else "msgspec decode" for name in TIMED}
        ratios = {name: ratio(samples, name, other[name]).median for name in TIMED}
        times = {name: median(taken) * 1e9 for name, taken in samples.items()}
        yield Row(case, sum(map(len, texts)) / COUNT, times, ratios)


def table(rows: list[Row]) -> str:
    """The rows in Markdown."""
    lines = ["| messages | bytes | " + " | ".join(TIMED) + " |", "|---|--:|" + "--:|" * len(TIMED)]
    for row in rows:
        cells = [f"{row.times[name]:,.0f} ns, {row.ratios[name]:.2f}" for name in TIMED]
        lines.append(f"| {row.case} | {row.size:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"{', '.join(CASES)}; without any, all of them")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"{turnwire.backend} core, {COUNT} messages of each: ns a message, then the ratio to msgspec\n")
    print(table(list(measure(options.rounds, tuple(options.cases) or CASES))))


if __name__ == "__main__":
    main()
