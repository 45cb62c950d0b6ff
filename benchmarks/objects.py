"""Messages as objects, wire by wire: decode, check and encode, against msgspec to and from dicts in the same rounds.

    python benchmarks/objects.py [--rounds N] [WIRE ...]

400 messages of each wire from ``logs.py``. msgspec reads and writes the same information as JSON: for the JSON wires
the very same bytes, for the others an object with the same members. Times are processor time, medians of the rounds;
each ratio is the median of the ratios of the rounds.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import msgspec
from logs import LOGS
from measure import Run, by_turns, ratio

import turnwire

COUNT = 400
WIRES = ("nslip", "csp", "sstp", "sap", "kick")
COLUMNS = ("decode", "check", "decode + check", "encode untouched", "encode made", "msgspec decode", "msgspec encode")


class Work(NamedTuple):
    """The messages of one wire, in all the forms that are read and written."""

    wire: str
    texts: list[bytes]
    json: list[bytes]

    @property
    def size(self) -> float:
        """Bytes of a message, on average."""
        return sum(map(len, self.texts)) / len(self.texts)


def work_of(wire: str, count: int = COUNT) -> Work:
    """The first messages of a wire's log."""
    log = LOGS[wire](count * 1200)
    if wire == "csp":
        texts = [b"CSP/1\n" + part.rstrip(b"\n") + b"\n" for part in log.split(b"CSP/1\n")[1 : count + 1]]
    else:
        texts = log.splitlines()[:count]
    if len(texts) != count:
        raise AssertionError(f"{len(texts)} messages of {wire}, not {count}")
    if wire not in ("nslip", "csp"):
        return Work(wire, texts, texts)
    encode = msgspec.json.Encoder().encode
    return Work(wire, texts, [encode(members(wire, turnwire.decode(text, wire))) for text in texts])


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


def made(wire: str, text: bytes) -> Any:
    """A message as a program makes it: through its class, of values that were never read as a message."""
    message = turnwire.decode(text, wire)
    if wire == "sstp":
        return type(message)(dict(message.header), dict(message.payload))
    if wire == "sap":
        return type(message).from_dict(msgspec.json.decode(text))
    if wire == "kick":
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


def each_pair(decode: Callable[[Any], Any], check: Callable[[Any], Any], values: list[Any]) -> float:
    """Seconds that reading and checking take together."""
    start = process_time()
    for value in values:
        check(decode(value))
    return (process_time() - start) / len(values)


def fresh(call: Callable[[Any], Any], decode: Callable[[Any], Any], values: list[Any]) -> float:
    """Seconds that a call takes for messages that have just been read, and that nobody has looked at."""
    return each(call, [decode(value) for value in values])


def runs(work: Work, repeats: int) -> dict[str, Run]:
    """What is timed, each the best of some passes over all messages: the entries of the package, which find the wire
    themselves."""
    decode, check, encode = turnwire.decode, turnwire.check, turnwire.encode
    objects = [made(work.wire, text) for text in work.texts]
    written = [encode(decode(text)).encode() for text in work.texts]  # what is written back as it was read
    dicts = [msgspec.json.decode(text) for text in work.json]
    single: dict[str, Run] = {
        "decode": partial(each, decode, work.texts),
        "check": partial(fresh, check, decode, work.texts),
        "decode + check": partial(each_pair, decode, check, work.texts),
        "encode untouched": partial(fresh, encode, decode, written),
        "encode made": partial(each, encode, objects),
        "msgspec decode": partial(each, msgspec.json.Decoder().decode, work.json),
        "msgspec encode": partial(each, msgspec.json.Encoder().encode, dicts),
    }
    return {name: partial(least, run, repeats) for name, run in single.items()}


def least(run: Run, repeats: int) -> float:
    """The least of some runs: a slow moment of the machine is not what is measured."""
    return min(run() for _ in range(repeats))


def row(work: Work, samples: dict[str, list[float]]) -> str:
    """A line of the table."""
    cells = [f"{work.wire:6}{work.size:6.0f}"]
    for name in COLUMNS:
        cells.append(f"{median(samples[name]) * 1e9:10,.0f}")
        if not name.startswith("msgspec"):
            base = "msgspec encode" if name.startswith("encode") else "msgspec decode"
            cells.append(f"{ratio(samples, name, base).median:7.2f}")
    return "".join(cells)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("wires", nargs="*", metavar="WIRE", help=f"{', '.join(WIRES)}; without any, all of them")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    print(f"{turnwire.backend} core, {COUNT} messages of each wire: ns a message, then the ratio to msgspec")
    names = "".join(f"{name:>10}" if name.startswith("msgspec") else f"{name:>17}" for name in COLUMNS)
    print(f"wire   bytes{names}")
    for wire in options.wires or WIRES:
        work = work_of(wire)
        print(row(work, by_turns(runs(work, 3), options.rounds)), flush=True)


if __name__ == "__main__":
    main()
