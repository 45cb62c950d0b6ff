"""One message at a time: decode and encode against the JSON and MessagePack codecs, on the same ten fields."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

import msgpack
import msgspec
import numpy as np
import orjson
import traffic
from measure import Group, Run, by_turns, statement

from turnwire import nslip
from turnwire.nslip import _base62_py as pure_base62
from turnwire.nslip import _codec_py as pure
from turnwire.nslip import base62

MANY = 1000
COUNT = 100_000
MESSAGES: dict[str, traffic.Row] = {
    "short": {
        **{"act": 3, "frame": 0, "conv_id": 1, "src": 0, "dst": 1, "turn": 1},
        **{"goal_id": 1, "task_id": 1, "priority": 3, "tag": "goal_1"},
    },
    "wide ids": {
        **{"act": 3, "frame": 0, "conv_id": 738_264_915_507_123_456, "src": 48_213_977, "dst": 3_120_554_871},
        **{"turn": 1482, "goal_id": 9_214_882_117_405, "task_id": 88_120_443_907, "priority": 3, "tag": "goal_1"},
    },
    "two strings": {
        **{"act": 1, "frame": 2, "conv_id": 8, "src": 2, "dst": 0, "turn": 3},
        **{"goal_id": 8, "task_id": 8, "status": "in_progress", "tag": "exec_status"},
    },
}
"""Ten fields each; the first is the first upstream line, the third is one upstream line without its result."""


def struct(row: traffic.Row) -> type[msgspec.Struct]:
    """The comparator: a msgspec Struct with all options at their defaults and exactly these fields, all required."""
    return msgspec.defstruct("Message", [(name, type(value)) for name, value in row.items()])


def decoding(row: traffic.Row, seconds: float) -> dict[str, Run]:
    """Everything that reads this message, bytes in; decoders are made once and used again."""
    wire, text = traffic.wire(row), traffic.json_line(row).strip()
    packed = msgpack.packb(row)
    cls = struct(row)
    typed, typed_pack = msgspec.json.Decoder(cls), msgspec.msgpack.Decoder(cls)
    wires, lines = [wire] * MANY, (text + b"\n") * MANY
    joined = b"\n".join(wires)
    check(row, wire, typed.decode(text), typed_pack.decode(packed))
    return {
        "turnwire": statement("decode(data)", seconds, decode=nslip.decode, data=wire),
        "turnwire, then .slots": statement("decode(data).slots", seconds, decode=nslip.decode, data=wire),
        "turnwire decode_many, a list": statement("decode(data)", seconds, MANY, decode=nslip.decode_many, data=wires),
        "turnwire decode_many, lines": statement("decode(data)", seconds, MANY, decode=nslip.decode_many, data=joined),
        "turnwire, pure Python": statement("decode(data)", seconds, decode=pure.decode, data=wire),
        "msgspec JSON": statement("decode(data)", seconds, decode=typed.decode, data=text),
        "msgspec JSON decode_lines": statement("decode(data)", seconds, MANY, decode=typed.decode_lines, data=lines),
        "msgspec MessagePack": statement("decode(data)", seconds, decode=typed_pack.decode, data=packed),
        "orjson": statement("decode(data)", seconds, decode=orjson.loads, data=text),
        "msgpack": statement("decode(data)", seconds, decode=msgpack.unpackb, data=packed),
        "json": statement("decode(data)", seconds, decode=json.loads, data=text),
    }


def encoding(row: traffic.Row, seconds: float) -> dict[str, Run]:
    """Everything that writes this message; encoders are made once and used again."""
    wire = traffic.wire(row)
    untouched, touched, plain = nslip.decode(wire), nslip.decode(wire), pure.decode(wire)
    if len(touched.slots) != len(row) - len(traffic.HEADER):
        raise AssertionError("slots are missing")
    typed, copies = struct(row)(**row), [untouched] * MANY
    return {
        "turnwire": statement("encode(data)", seconds, encode=nslip.encode, data=untouched),
        "turnwire, .slots touched": statement("encode(data)", seconds, encode=nslip.encode, data=touched),
        "turnwire encode_many": statement("encode(data)", seconds, MANY, encode=nslip.encode_many, data=copies),
        "turnwire, pure Python": statement("encode(data)", seconds, encode=pure.encode, data=plain),
        "msgspec JSON": statement("encode(data)", seconds, encode=msgspec.json.Encoder().encode, data=typed),
        "msgspec MessagePack": statement("encode(data)", seconds, encode=msgspec.msgpack.Encoder().encode, data=typed),
        "orjson": statement("encode(data)", seconds, encode=orjson.dumps, data=row),
        "msgpack": statement("encode(data)", seconds, encode=msgpack.packb, data=row),
        "json": statement("encode(data)", seconds, encode=json.dumps, data=row),
    }


def check(row: traffic.Row, wire: bytes, *others: Any) -> None:
    """All decoders must give the same values before any of them is timed."""
    message = nslip.decode(wire)
    found: dict[str, Any] = {name: getattr(message, name) for name in traffic.HEADER}
    found.update((slot.name.lower(), value) for slot, value in message.slots.items())
    for values in (found, *(msgspec.structs.asdict(other) for other in others)):
        if values != row:
            raise AssertionError(f"{values} is not {row}")


def arrays(seconds: float) -> Iterator[Group]:
    """base62 of 100,000 integers at once, narrow and wide."""
    for case, digits in (("1 to 3 digits", (1, 3)), ("4 to 10 digits", (4, 10))):
        numbers = random.Random(traffic.SEED)
        values = [traffic.of_digits(numbers, *digits) for _ in range(COUNT)]
        texts = [traffic.base62(value) for value in values]
        columns = {"encode": np.array(values, np.uint64), "decode": np.array(texts, "S11")}
        for way, listed in (("encode", values), ("decode", texts)):
            one, column, pure_column = (
                getattr(module, name)
                for module, name in ((base62, way), (base62, f"{way}_array"), (pure_base62, f"{way}_array"))
            )
            runs = {
                "turnwire": statement("call(data)", seconds, COUNT, call=column, data=columns[way]),
                "turnwire, pure Python": statement("call(data)", seconds, COUNT, call=pure_column, data=columns[way]),
                "turnwire, one by one": statement("[call(one) for one in data]", seconds, COUNT, call=one, data=listed),
            }
            yield Group(table=f"base62 {way}", case=case, facts={}, samples=by_turns(runs, 5))


def measure(rounds: int, seconds: float) -> list[Group]:
    """All groups of this section: ``seconds`` for each run of a statement."""
    groups = []
    for case, row in MESSAGES.items():
        facts = {"nSLIP bytes": len(traffic.wire(row)), "JSON bytes": len(traffic.json_line(row)) - 1}
        for table, runs in (("decode", decoding(row, seconds)), ("encode", encoding(row, seconds))):
            groups.append(Group(table=table, case=case, facts=facts, samples=by_turns(runs, rounds)))
    return [*groups, *arrays(seconds)]
