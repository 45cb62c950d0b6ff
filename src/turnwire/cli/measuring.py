"""What ``turnwire bench`` measures: both cores in one process, beside msgspec, orjson and json on the same fields."""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import repeat
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import msgspec

import turnwire
from turnwire import nslip

REAL_LINES = Path(turnwire.__file__).parents[2] / "examples" / "data" / "nslip_upstream.txt"
"""The real messages in a source tree; an installed package does not have them."""

SINGLE = {
    "short": '@a3|f0|c1|S0|d1|T1|g1|k1|q3|t"goal_1"#',
    "wide ids": '@a3|f0|cLygHa16AHYE|S7n42DGM5Tg|d9gBQw3Gq2a|T2q3Rktoe|g5Bd2QfZ|k8M0kX2c|qA|t"goal_1"#',
    "two strings": '@a1|f2|c1|S2|d0|T3|g1|k1|u"waiting for the review of the last change"|t"release_2026_01"#',
}
"""One message each, made up, of ten fields each."""

FOUR_COLUMNS = ("act", "src", "conv_id", "tag")
FEWEST = 3
PATIENCE = 5
"""A call that takes so many times the seconds of a round gets the fewest rounds."""


class Effort(NamedTuple):
    """How hard to measure: rounds a subject, seconds a round, bytes of a scan, values of an array, lines of a set."""

    rounds: int
    seconds: float
    bulk: int
    values: int
    lines: int

    def some(self, lines: bytes) -> bytes:
        """As many of the lines as this effort takes."""
        return b"".join(lines.splitlines(keepends=True)[: self.lines])


FULL = Effort(9, 0.02, 32 << 20, 100_000, 100_000)
QUICK = Effort(3, 0.004, 4 << 20, 10_000, 400)


class Measure(NamedTuple):
    """The median of one subject: nanoseconds for each ``unit`` of a task on some data."""

    task: str
    data: str
    subject: str
    unit: str
    nanoseconds: float
    bytes: int


class Work(NamedTuple):
    """What one call does: a function, its argument, how many units and bytes of input it takes."""

    function: Callable[[Any], Any]
    argument: Any
    units: int = 1
    bytes: int = 0


def twins(stem: str) -> dict[str, ModuleType]:
    """The cores there are of a module, by name."""
    found = {}
    for name in ("native", "pure"):
        try:
            found[name] = import_module(f"turnwire._{name}.{stem}")
        except ImportError:
            if name == "pure":
                raise
    return found


def medians(subjects: dict[str, Work], effort: Effort) -> dict[str, float]:
    """Nanoseconds a unit for each subject; the rounds of all take turns, so that a slow moment hits them alike."""
    loops, wanted = {}, {}
    for name, work in subjects.items():
        once = _seconds(work, 1)
        if once < effort.seconds:
            once = min(once, _seconds(work, 1))  # the first call may have been a cold one
        loops[name] = max(1, round(effort.seconds / max(once, 1e-8)))
        wanted[name] = effort.rounds if once < PATIENCE * effort.seconds else min(effort.rounds, FEWEST)
    rounds: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(effort.rounds):
        for name, work in ((name, work) for name, work in subjects.items() if number < wanted[name]):
            rounds[name].append(_seconds(work, loops[name]) / loops[name] / work.units * 1e9)
    return {name: statistics.median(times) for name, times in rounds.items()}


def _seconds(work: Work, loops: int) -> float:
    function, argument = work.function, work.argument
    started = time.perf_counter()
    for _ in repeat(None, loops):
        function(argument)
    return time.perf_counter() - started


def measured(task: str, data: str, unit: str, subjects: dict[str, Work], effort: Effort) -> Iterator[Measure]:
    """The medians of the subjects of one task."""
    for name, nanoseconds in medians(subjects, effort).items():
        work = subjects[name]
        yield Measure(task, data, name, unit, nanoseconds, round(work.bytes / work.units))


def fields(message: Any) -> dict[str, Any]:
    """The fields of a message as JSON has them."""
    header = ("act", "frame", "conv_id", "src", "dst", "turn")
    slots = {slot.name.lower(): value for slot, value in message.slots.items()}
    return {**{name: int(getattr(message, name)) for name in header}, **slots}


def record_type(sample: Sequence[dict[str, Any]]) -> Any:
    """A msgspec Struct of the fields that the samples have; what some of them lack has the default None."""
    always = set.intersection(*(set(each) for each in sample))
    types = {name: type(value) for each in sample for name, value in each.items()}
    required = [(name, kind) for name, kind in types.items() if name in always]
    optional = [(name, kind | None, None) for name, kind in types.items() if name not in always]
    return msgspec.defstruct("Record", [*required, *optional], omit_defaults=bool(optional))


def _orjson() -> Any:
    try:
        return import_module("orjson")
    except ImportError:
        return None


def single(effort: Effort) -> Iterator[Measure]:
    """decode and encode of one message."""
    cores, orjson = twins("nslip.codec"), _orjson()
    for data, text in SINGLE.items():
        wire = text.encode()
        values = fields(nslip.decode(wire))
        record = record_type([values])
        packed = json.dumps(values, separators=(",", ":")).encode()
        decoders = {name: Work(core.decode, wire) for name, core in cores.items()}
        encoders = {name: Work(core.encode, core.decode(wire)) for name, core in cores.items()}
        decoders["msgspec"] = Work(msgspec.json.Decoder(record).decode, packed)
        encoders["msgspec"] = Work(msgspec.json.Encoder().encode, record(**values))
        if orjson is not None:
            decoders["orjson"] = Work(orjson.loads, packed)
            encoders["orjson"] = Work(orjson.dumps, values)
        decoders["json"] = Work(json.loads, packed)
        encoders["json"] = Work(json.dumps, values)
        yield from measured("decode", data, "message", decoders, effort)
        yield from measured("encode", data, "message", encoders, effort)


def many(data: str, lines: bytes, effort: Effort) -> Iterator[Measure]:
    """decode_many and encode_many of some lines; the peers read and write JSON lines of the same fields."""
    cores, orjson = twins("nslip.codec"), _orjson()
    lines = effort.some(lines)
    values = [fields(message) for message in nslip.decode_many(lines)]
    count = len(values)
    record = record_type(values)
    packed = [json.dumps(each, separators=(",", ":")).encode() for each in values]
    joined = b"\n".join(packed)
    readers = {name: Work(core.decode_many, lines, count, len(lines)) for name, core in cores.items()}
    writers = {name: Work(core.encode_many, core.decode_many(lines), count) for name, core in cores.items()}
    readers["msgspec"] = Work(msgspec.json.Decoder(record).decode_lines, joined, count, len(joined))
    writers["msgspec"] = Work(msgspec.json.Encoder().encode_lines, [record(**each) for each in values], count)
    for name, module in (("orjson", orjson), ("json", json)):
        if module is not None:
            readers[name] = Work(_each(module.loads), packed, count, len(joined))
            writers[name] = Work(_each(module.dumps), values, count)
    yield from measured("decode_many", data, "message", readers, effort)
    yield from measured("encode_many", data, "message", writers, effort)


def _each(function: Callable[[Any], Any]) -> Callable[[list[Any]], Any]:
    return lambda items: [function(item) for item in items]


def base62(effort: Effort) -> Iterator[Measure]:
    """base62 of single integers and of columns, on random numbers of every length."""
    import numpy as np

    chance = random.Random(62)
    numbers = [chance.getrandbits(chance.randint(1, 64)) for _ in range(effort.values)]
    cores = twins("nslip.base62")
    few = numbers[:1000]
    texts = [cores["pure"].encode(number) for number in few]
    column = np.array(numbers, np.uint64)
    digits = cores["pure"].encode_array(column)
    for task, function, items in (("base62 encode", "encode", few), ("base62 decode", "decode", texts)):
        subjects = {name: Work(_each(getattr(core, function)), items, len(items)) for name, core in cores.items()}
        yield from measured(task, "single", "number", subjects, effort)
    for task, function, array in (("base62 encode", "encode_array", column), ("base62 decode", "decode_array", digits)):
        subjects = {name: Work(getattr(core, function), array, len(array)) for name, core in cores.items()}
        yield from measured(task, "column", "number", subjects, effort)


@contextmanager
def _core_of_scans(core: ModuleType) -> Iterator[None]:
    """Has ``turnwire.scan`` use this core meanwhile."""
    bulk: Any = import_module("turnwire.nslip.bulk")
    usual = bulk._core
    bulk._core = core
    try:
        yield
    finally:
        bulk._core = usual


def _scanning(core: ModuleType, columns: Sequence[str] | None) -> Callable[[bytes], int]:
    def scan(data: bytes) -> int:
        with _core_of_scans(core):
            return sum(len(batch) for batch in turnwire.scan(data, wire="nslip", columns=columns))

    return scan


def bulk(data: str, lines: bytes, effort: Effort) -> Iterator[Measure]:
    """Bulk scans of some lines, repeated; the pure twin takes the lines once. memchr is the floor of any reader."""
    lines = effort.some(lines)
    count = lines.count(b"\n")
    times = max(1, effort.bulk // len(lines))
    repeated = lines * times
    values = [fields(message) for message in nslip.decode_many(lines)]
    packed = b"\n".join(json.dumps(each, separators=(",", ":")).encode() for each in values)
    for task, columns in (("scan, all columns", None), ("scan, four columns", FOUR_COLUMNS)):
        subjects = {}
        for name, core in twins("nslip.scan").items():
            much = name == "native"
            some = repeated if much else lines
            subjects[name] = Work(_scanning(core, columns), some, count * times if much else count, len(some))
        if columns is None:
            reader = msgspec.json.Decoder(record_type(values)).decode_lines
            subjects["msgspec"] = Work(reader, packed, count, len(packed))
        subjects["memchr"] = Work(lambda haystack: haystack.find(b"\xff"), repeated, count * times, len(repeated))
        yield from measured(task, data, "record", subjects, effort)


def generated(count: int = 4000) -> bytes:
    """Lines of made-up messages, the same at every run: wide ids, half of them with text, some of that escaped."""
    chance = random.Random(7)
    texts = ("in_progress", "waiting for review", 'said "no"', "C:\\logs\\agent", "überprüft", "done")
    messages = []
    for number in range(count):
        slots: dict[nslip.Slot, Any] = {
            nslip.Slot.GOAL_ID: chance.getrandbits(60),
            nslip.Slot.TASK_ID: chance.getrandbits(60),
        }
        if number % 2:
            slots[nslip.Slot.STATUS] = chance.choice(texts)
            slots[nslip.Slot.TAG] = f"release_{chance.randrange(1000)}"
        else:
            slots[nslip.Slot.PRIORITY] = chance.randrange(10)
        messages.append(
            nslip.SlipMessage(
                chance.getrandbits(64),
                number,
                chance.getrandbits(40),
                chance.getrandbits(40),
                nslip.Act(chance.randrange(11)),
                nslip.FrameType(chance.randrange(5)),
                slots,
            )
        )
    return nslip.encode_many(messages)
