"""Logs of all wires, with what should be found in them: good lines and blocks in any order."""

from __future__ import annotations

import json
import random

from tests.log import engines, json_engines
from turnwire import csp, scan

NSLIP = [*engines.UPSTREAM.read_bytes().split(b"\n")[:200], b'@a3|f0|c1|S0|d1|T1|t"a \\"b\\" \\\\ {c"#']
JSON = [record for wire in json_engines.RECORDS.values() for record in wire if b"\n" not in record]


def is_good(record: bytes) -> bool:
    """True if one of the JSON wires finds all of it."""
    for wire in json_engines.RECORDS:
        for batch in scan(record, wire=wire):
            return bytes(batch.raw(0)) == record and len(batch) == 1
    return False


GOOD_JSON = [record for record in JSON if is_good(record)]
TEXT = [b"", b"INFO start", b"bob@example.com {}", b"{", b'say "hi"', b"<<<", b'{"level": "info"}', b"see @a and @c#"]


def csp_message(chance: random.Random) -> bytes:
    """A message whose content looks like everything else."""
    content = chance.choice(
        ("x", "two\nlines", "CSP/1\nFROM A", ">>>\n<<<", '{"header": {}}\n' + NSLIP[0].decode(), GOOD_JSON[0].decode())
    )
    block = csp.Result(f"T{chance.randrange(99)}", {"STATUS": "OK", "DATA": content})
    return csp.encode(csp.message("A", "B", f"C{chance.randrange(9)}", block)).encode()


def container(record: bytes, chance: random.Random) -> bytes:
    """A record in a line of a container's log, with its line end or in a sentence."""
    text = chance.choice(("{}\n", "said: {} and more\n")).format(record.decode())
    line = json.dumps({"log": text, "stream": "stderr", "time": "2026-05-04T10:00:00.5Z"})
    return line.encode() if chance.random() < 0.8 else json.dumps({"outer": line}).encode()


def good_log(chance: random.Random, most: int = 12) -> tuple[bytes, list[tuple[str, bytes]]]:
    """A log without damage, and its records in order: (wire, the record itself)."""
    parts: list[bytes] = []
    records: list[tuple[str, bytes]] = []
    for _ in range(chance.randrange(1, most)):
        kind = chance.choice(("nslip", "csp", "json", "json", "text", "container", "container"))
        if kind == "text":
            parts.append(chance.choice(TEXT))
            continue
        if kind == "csp":
            record, line = (message := csp_message(chance)), message.rstrip(b"\n")
            records.append(("csp", record.rstrip(b"\n")))
        elif kind == "nslip":
            record = chance.choice(NSLIP)
            line = chance.choice((b"%b", b"2026-05-04 10:00:00 INFO %b sent", b"%b %b")).replace(b"%b", record)
            records += [("nslip", record)] * line.count(record)
        else:
            record = chance.choice(GOOD_JSON + NSLIP if kind == "container" else GOOD_JSON)
            line = record if kind == "json" else container(record, chance)
            wire = "nslip" if record.startswith(b"@") else json_wire(record)
            records.append((wire, record))
        parts.append(line)
        if kind == "csp":
            parts.append(b"")  # ends the message: a line directly behind it would make it a reject
    return b"\n".join(parts) + b"\n", records


def json_wire(record: bytes) -> str:
    """The wire of a JSON record."""
    return next(wire for wire, records in json_engines.RECORDS.items() if record in records)


PIECES = (
    engines.GOOD,
    b'@a3|f0|c1|S9|d5|T1|t"ab',
    b'@a3|f0|c1|S9|d5|T1|t"a\\"b"#',
    b"@a3|",
    b"@",
    b"#",
    b'"',
    b"\\",
    b'{"',
    b"{",
    b"}",
    b"prose " * 30,
    b"y" * 700,
    b'{\\"kind\\":',
    b"CSP/1",
    b'"kind":"intent"',
    b'{"log":"',
    b'"taskId":',
)
"""Of lines that are damaged."""


def long_lines(chance: random.Random) -> bytes:
    """Lines of up to 30,000 bytes, with records, damage and signs of it."""
    sizes = chance.choices((10, 100, 300), k=3)
    return b"\n".join(b"".join(chance.choices(PIECES, k=size)) for size in sizes)
