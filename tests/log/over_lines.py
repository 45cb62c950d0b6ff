"""Logs in which JSON goes over several lines, for the tests of the scan."""

from __future__ import annotations

import json
import random

from tests.log import engines, json_engines
from tests.log.mixed_logs import GOOD_JSON, csp_message

RECORDS = {
    wire: [record for record in records if record in GOOD_JSON] for wire, records in json_engines.RECORDS.items()
}
ALL = [record for records in RECORDS.values() for record in records]
_SPACE = ("\n", "\n", "\n", "\r\n", "\n\n", " \n\t", "\n  \r\n", " ", "")
_BETWEEN = (
    b"",
    b"\n",
    b"\n",
    b"\r\n",
    b"\n\n",
    b" x\n",
    b"\ntrue\n",
    b"\n{\n",
    b'\n"a",\n',
    b"\n{}\n",
    b"\n2026-05-04 ",
    b"\n}\n",
)
_BETWEEN += (
    b"\n2026-05-04T10:00:00Z INFO b: ",
    b" {",
    b"\nCSP/1\n",
    b"\n```\n",
    b'\n{"header": {"actor_id": 1,\n',
    b"\n\\n\n",
)
_BEFORE = (b"", b"", b"2026-05-04T10:00:00Z INFO planner: ", b"INFO (", b"[\n", b'{"a":\n', b'{"b": 1,\n', b"\n")


def spread(text: bytes, chance: random.Random, share: float) -> bytes:
    """A JSON text with white space in places where it may stand."""
    parts: list[str] = []
    inside = escaped = False
    for character in text.decode("utf-8", "surrogateescape"):
        parts.append(character)
        if inside:
            inside = escaped or character != '"'
            escaped = not escaped and character == "\\"
        elif character == '"':
            inside = True
        if not inside and character in '{}[],:"' and chance.random() < share:
            parts.append(chance.choice(_SPACE))
    return "".join(parts).encode("utf-8", "surrogateescape")


def pretty(record: bytes, chance: random.Random) -> bytes:
    """A record over several lines."""
    kind = chance.random()
    if kind < 0.4:
        return json.dumps(json.loads(record), indent=chance.choice((0, 1, 4)), ensure_ascii=False).encode(
            "utf-8", "surrogatepass"
        )
    return spread(record, chance, chance.choice((0.05, 0.3, 0.9)))


def wrapped(record: bytes, chance: random.Random) -> bytes:
    """A record, or several, in other JSON over several lines, or in strings of it."""
    kind = chance.random()
    if kind < 0.5:
        return record
    if kind < 0.65:
        return b'{"time": "2026-11-22T07:00:01.5Z",\n "all": [\n%b,\n{"b": %b}\n]\n}' % (record, record)
    text = chance.choice((b"%b", b"%b\n", b"Sure:\n```json\n%b\n```\n", b"@a3|f0|c1|S0|d1|T1# %b")).replace(
        b"%b", record
    )
    wrap = chance.choice((b'{"log": %b,\n "stream": "stdout"\n}', b'[\n  "a",\n  %b\n]', b'  "userMessage": %b,\n'))
    return wrap % json_engines.quoted(text)


def log(chance: random.Random, records: list[bytes], most: int = 4, lines: bool = True) -> bytes:
    """Pretty-printed records with text between them; some are damaged. ``lines``: CSP/1 and nSLIP among them."""
    parts = []
    for _ in range(chance.randrange(1, most + 1)):
        record = pretty(chance.choice(records), chance)
        if chance.random() < 0.25:
            damaged = bytearray(record)
            json_engines.one_damage(damaged, chance)
            record = bytes(damaged)
        record = bytearray(wrapped(record, chance))
        if chance.random() < 0.25:
            json_engines.one_damage(record, chance)
        parts += [chance.choice(_BEFORE), bytes(record), chance.choice(_BETWEEN)]
        if lines and chance.random() < 0.3:
            parts.append(
                chance.choice((engines.GOOD, engines.GOOD[:-4], csp_message(chance), b"\n" + csp_message(chance)[:60]))
            )
            parts.append(chance.choice((b"\n", b"", b"\n```\n")))
    return b"".join(parts) + chance.choice((b"", b"\n", b"\r\n"))
