"""Shared by the tests of the search for JSON: both cores on some bytes, and logs of JSON messages with any damage."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.conftest import BACKENDS
from tests.cores import use
from tests.log.engines import one_damage
from tests.log.found import everything
from tests.vectors import load
from turnwire import LIMITS, scan

JSON_WIRES = ("sstp", "sap", "kick")


def both(wire: str, data: bytes, *, limit: int = LIMITS.message, batch_bytes: int | None = None) -> Any:
    """Columns, rejects and counts of a scan for a wire, which are the same on both cores. limit: bytes of a message."""
    found = []
    for backend in BACKENDS:
        with pytest.MonkeyPatch.context() as patch:
            use(backend, patch)
            limits = LIMITS._replace(message=limit)
            found.append(everything(scan(data, wire=wire, limits=limits, batch_bytes=batch_bytes or len(data) + 1)))
    assert found.count(found[0]) == len(found), data
    return found[0]


def vectors(wire: str) -> list[bytes]:
    """The texts of the wire's vectors that are JSON objects, as lines."""
    found = []
    for case in load(wire):
        text = case["text"]
        if isinstance(text, str) and text.lstrip().startswith("{"):
            found.append(text.replace("\n", " ").encode("utf-8", "surrogatepass"))
    assert len(found) > 8
    return found


RECORDS = {wire: vectors(wire) for wire in JSON_WIRES}
_ODD = b'{}[]":,\\\n\r \t0-.eEtfnu\xc3\xa9\xff\x00\xed\xa0\x80'
_GLUE = (b"\n", b"\r\n", b'{"header": {"ki', b'{"', b"{", b"\x00" * 9, b"\xff\xfe", b'"', b"\\", b'\\"', b"}{", b"{}")
_BEFORE = (b"", b"", b"2026-05-04T10:00:00Z INFO planner: ", b"[2026-05-04 10:00:00,5] ", b'say "hi" ')
_BEFORE += (b"[", b'{"a": ', b"{")
_AFTER = (b"\n", b"\n", b"\r\n", b" ", b"\n\n", b"", b", ", b"}\n", b"]\n", b' "x"\n')


def quoted(text: bytes) -> bytes:
    """Bytes as a JSON string; what is not UTF-8 stays what it is."""
    inside = json.dumps(text.decode("utf-8", "surrogateescape"), ensure_ascii=False)
    return inside.encode("utf-8", "surrogateescape")


def wrapped(record: bytes, chance: random.Random) -> bytes:
    """A record in some other JSON, or in strings of it, or as it is."""
    kind = chance.random()
    if kind < 0.5:
        return record
    if kind < 0.6:
        return b'{"msg": %b, "n": [1, 2.5e3, null]}' % record
    text = chance.choice((b"%b", b"%b\n", b"Sure:\n```json\n%b\n```\n", b"%b and %b")).replace(b"%b", record)
    wrap = chance.choice((b'{"log": %b, "stream": "stdout"}', b'  "userMessage": %b,', b"[%b]", b'{"a": {"b": [%b]}}'))
    result = wrap % quoted(text)
    if kind > 0.85:
        result = b'{"outer": %b}' % quoted(result)
    return result


def damaged_log(chance: random.Random, records: list[bytes], most: int = 4) -> bytes:
    """Some records with text around them, half of them damaged once or twice."""
    parts = []
    for _ in range(chance.randrange(1, most + 1)):
        record = chance.choice(records)
        broken = bytearray(record)
        if chance.random() < 0.3:
            one_damage(broken, chance, _ODD, _GLUE)
        line = bytearray(wrapped(bytes(broken), chance))
        if chance.random() < 0.3:
            one_damage(line, chance, _ODD, _GLUE)
        parts.append(chance.choice(_BEFORE) + bytes(line) + chance.choice(_AFTER))
    return b"".join(parts)
