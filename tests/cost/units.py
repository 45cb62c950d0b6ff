"""Hostile input: units that are repeated, good messages, messages that are refused. All are generated."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import islice, product
from typing import Any

from tests.sap.documents import RESULT, TASK, changed
from tests.sstp.examples import example
from turnwire.sstp.spec import Kind


def _line(document: dict[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


KICK = {
    "id": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a",
    "timestamp": "2026-01-15T00:00:00Z",
    "sender": "Orchestrator",
    "receiver": "Dima",
    "type": "Command",
    "channel": "⫻command/run",
    "content": "run it",
    "correlation_id": "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0b",
}
SSTP = example(Kind.INTENT)
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ do it\n\n"
GOOD: dict[str, bytes] = {
    "nslip": b'@a3|f0|c1|S0|d1|T1|gH|t"hello"#\n',
    "csp": CSP,
    "sstp": _line(SSTP),
    "sap": _line(TASK),
    "kick": _line(KICK),
}
"""A good message of each wire, with what stands behind it in a log."""


def _without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


REFUSED: dict[str, tuple[bytes, ...]] = {
    "nslip": (b'@a3|f0|c1|S0|d1|T1|gH|t"hello#\n', b"@a3|f0|c!|S0|d1|T1|gH#\n", b"@a9|f9|c1#\n"),
    "csp": (
        CSP.replace(b"\n\nTASK", b"\nTASK"),
        CSP.replace(b"CTX C0\n", b""),
        CSP.replace(b"REQ do it\n", b"REQ\n<<<\ndo it\n"),
    ),
    "sstp": (
        _line({**SSTP, "header": _without(SSTP["header"], "actor_id")}),
        _line({**SSTP, "header": {**SSTP["header"], "logical_clock": "1"}}),
        _line({**SSTP, "payload": _without(SSTP["payload"], *list(SSTP["payload"])[:1])}),
    ),
    "sap": (
        _line(_without(TASK, "issuer")),
        _line(changed(TASK, "/issuedAt", "yesterday")),
        _line(changed(RESULT, "/status", "FINE")),
    ),
    "kick": (
        _line(_without(KICK, "type")),
        _line({**KICK, "timestamp": "yesterday"}),
        _line({**KICK, "content": 7}),
    ),
}
"""Messages of each wire that are refused, each by one rule."""


def quoted(text: bytes, depth: int = 1) -> bytes:
    """The text as a JSON string, in a string, and so on."""
    said = text.decode("utf-8", "replace")
    for _ in range(depth):
        said = json.dumps(said, ensure_ascii=False)
    return said.encode()


UNITS: tuple[bytes, ...] = (
    *(b"x", b" ", b"\n", b"a b ", b"\xff", b"\0", "é".encode(), b"word\n", b"\r\n", b"\r", b"0", b"-", b"\t \n"),
    *(
        b"@",
        b"@a",
        b"@a ",
        b"@a\n",
        b"@a3|",
        b'@a3"a\\"',
        b'@a3"',
        b'@a3|t"',
        b"@a3|#",
        b"#",
        b"|",
        b'@a3|t"\\',
        b"@f0|f0",
        b"@a3|CSP/1",
    ),
    *(
        b"{",
        b"[",
        b"}",
        b"{}",
        b"[]",
        b"{}\n",
        b"{\n",
        b'{"',
        b'{"a":',
        b'[{"a":',
        b'"',
        b"\\",
        b'\\"',
        b'"\\',
        b'{"a":"',
        b'{"a":1,',
    ),
    *(
        b'"a":1,',
        b'{"a":1}',
        b'{"header":{',
        b'{"header":{}}',
        b'{"header":{}}\n',
        b'{"taskId":"a"}\n',
        b'"{\\"',
        b'{"a":"{\\"',
        b'{"@a3|#"}',
    ),
    *(
        b'["@a3|#"]',
        b'"@a3|#"',
        b'{"a":"@a3|#"}\n',
        b'{"a":"CSP/1\\n"}\n',
        b'{"a":"\\u0040"}',
        b"\\u0022",
        b"{,",
        b"{\\",
    ),
    *(
        b"CSP/1",
        b"CSP/1\n",
        b"CSP/1 \n",
        b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n",
        b"FROM A\nTO B\nCTX C0\nINTENT TASK\n",
        b"TASK T1\n",
        b"REQ\n<<<\n",
        b"REQ v\n",
    ),
    *(
        b"<<<\n",
        b">>>\n",
        b"CSP/1\nREQ\n<<<\n",
        b"LAWS\n",
        b"DEF A = b\n",
        b"PATCH P1\n",
        b"+ A = b\n",
        b"x CSP/1\n",
        b"CSP/1\nx y\n",
        b"CSP/1\n{}\n",
        b"csp/1\n",
        b"---\n",
    ),
    *(
        "⫻".encode(),
        "⫻\n".encode(),
        "⫻a/b:c/d\n".encode(),
        "⫻cmd/exec\n".encode(),
        "⫻content/x:y\ntext\n".encode(),
        b"```\n",
        b"```",
        b"~~~\n",
    ),
    *(b"\\u2afb", "x ⫻".encode(), "⫻⫻/".encode(), b"`", b"```json\n{\n"),
    *(
        b'{"log":"a","stream":"stdout","time":"2026-01-01T00:00:00Z"}\n',
        b"2026-01-01T00:00:00Z stdout P x\n",
        b"2026-01-01T00:00:00Z stdout F x\n",
    ),
    *(b"1", b".", "…".encode(), b"\\ud800", b"\xed\xa0\x80", b"\\\\", b"a/", b"see a.py:1;", b'"a":"b",', b'"{\n'),
    *(b"@a3|f0|c1|S0|d1|T1|", b"|g1", b"app | CSP/1\n", b"CSP/1;A>B;C0;T1\n", b"- L1: a -> B only\n", b"> CSP/1\n"),
    *(b'{\n"a":1\n', b"[\n", b'{"a":[\n', b'{\n"a":1\n}\n', "⫻a/b:c/1\n```\n".encode(), "⫼a/b:c\n".encode()),
    *(b"INFO 2026-01-01 00:00:00 ", b"2026-01-01 00:00:00 x\n", b"[2026", b"app-1  | x\n"),
)
"""Short texts of which each means something to one of the wires, or nearly does."""


CRI = b"2026-01-01T00:00:00Z stdout P "


def _messages() -> dict[str, bytes]:
    """Units that are messages, good and bad, bare and wrapped."""
    found: dict[str, bytes] = {}
    for wire, good in GOOD.items():
        bare = good.strip()
        found[f"good {wire}"] = good
        found[f"glued {wire}"] = bare
        found[f"cut {wire}"] = bare[: len(bare) * 2 // 3]
        found[f"cut {wire} line"] = bare[: len(bare) * 2 // 3] + b"\n"
        found[f"quoted {wire}"] = b'{"m":' + quoted(good) + b"}\n"
        found[f"quoted {wire} deep"] = b'{"m":' + quoted(good, 3) + b"}\n"
        found[f"quoted {wire} cut"] = b'{"m":' + quoted(good)[:-1]
        for number, refused in enumerate(REFUSED[wire]):
            found[f"refused {wire} {number}"] = refused
            found[f"refused {wire} {number} quoted"] = b'{"m":' + quoted(refused) + b"}\n"
        found[f"{wire} in parts of CRI"] = b"".join(map(_in_parts, good.splitlines(keepends=True)))
    for name, prefix in (
        ("a prefix", b"app: "),
        ("spaces", b"    "),
        ("a quote", b"> "),
        ("CRI", CRI.replace(b"P", b"F")),
    ):
        found[f"csp behind {name}"] = _behind(prefix, CSP)
        found[f"cut csp behind {name}"] = _behind(prefix, CSP[:13])
        found[f"template behind {name}"] = _behind(prefix, b"CSP/1;A>B;C0;T1\n")
    return found


def _in_parts(line: bytes) -> bytes:
    """A line that CRI cut once."""
    half = len(line) // 2
    return _behind(CRI, line[:half] + b"\n") + _behind(CRI.replace(b"P", b"F"), line[half:])


def _behind(prefix: bytes, lines: bytes) -> bytes:
    """Lines with this in front of each."""
    return b"".join(prefix + line for line in lines.splitlines(keepends=True))


MESSAGES = _messages()

KNOWN = b'{"header":{},"taskId":1,'
"""How an object begins that several wires look at."""
LETTERS = b"abcdefghijklmnopqrstuvwxyz"


def _names(count: int) -> bytes:
    """Members whose names differ in their last three letters: a hash that mixes badly puts them all in one place."""
    ends = product(LETTERS, repeat=3)
    return b",".join(b'"aaaaa%c%c%c":1' % end for end in islice(ends, count))


def _many_then_some(size: int) -> bytes:
    """Half of it one object of many names, then objects of more than a few: what the first one left is not to cost."""
    some = KNOWN + b",".join(b'"q%d":1' % number for number in range(20)) + b"}\n"
    many = b",".join(b'"k%d":1' % number for number in range(size // 20))
    return KNOWN + many + b"}\n" + some * (size // 2 // len(some))


SHAPES: dict[str, Callable[[int], bytes]] = {
    "names of one hash": lambda n: KNOWN + _names(max(n // 12, 1)) + b"}\n",
    "many names, then some": _many_then_some,
    "nested objects": lambda n: b'{"a":' * (n // 6) + b"1" + b"}" * (n // 6),
    "nested arrays": lambda n: b'{"a":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}",
    "one long string": lambda n: b'{"a":"' + b"x" * n + b'"}\n',
    "one long escaped string": lambda n: b'{"a":"' + b'\\"' * (n // 2) + b'"}\n',
    "openings in a string": lambda n: b'{"a":' + quoted(b"@a3|" * (n // 4)) + b"}\n",
    "objects in a string": lambda n: b'{"a":' + quoted(b'{"a":' * (n // 6)) + b"}\n",
    "records in a string": lambda n: b'{"a":' + quoted(GOOD["nslip"] * (n // 34)) + b"}\n",
    "messages in a string": lambda n: b'{"a":' + quoted(GOOD["kick"] * max(n // 220, 1)) + b"}\n",
    "refused in a string": lambda n: b'{"a":' + quoted(REFUSED["kick"][0] * max(n // 200, 1)) + b"}\n",
    "csp in a string": lambda n: b'{"a":' + quoted(CSP * max(n // 50, 1)) + b"}\n",
    "members": lambda n: b"{" + b",".join(b'"k%d":1' % i for i in range(n // 8)) + b"}\n",
    "one heredoc": lambda n: CSP[:-10] + b"REQ\n<<<\n" + b"line\n" * (n // 5) + b">>>\n\n",
    "open heredoc": lambda n: CSP[:-10] + b"REQ\n<<<\n" + b"line\n" * (n // 5),
    "spaces in a line": lambda n: b"x" + b" " * n + b"y\n",
    "digits": lambda n: b'{"a":' + b"1" * n + b"}\n",
    "base62": lambda n: b"@a" + b"1" * n + b"|f0#\n",
    "fraction": lambda n: b'{"a":0.' + b"1" * n + b"}\n",
    "arrays": lambda n: b"[" * n,
    "surrogates": lambda n: b'{"a":"' + b"\\ud800" * (n // 6) + b'"}\n',
    "same key": lambda n: b"{" + b'"a":1,' * (n // 6) + b'"a":1}\n',
    "escaped keys": lambda n: b"{" + b",".join(b'"\\u006b%d":1' % i for i in range(n // 14)) + b"}\n",
    "lines in an object": lambda n: b'{"a":' + b"\n" * n + b"1}\n",
    "object over lines": lambda n: b"{\n" + b'"a":1,\n' * (n // 7) + b'"b":1}\n',
    "longer fences": lambda n: b"".join(b"`" * (i + 3) + b"\n" for i in range(int((2 * n) ** 0.5))),
    "sigils in a string": lambda n: b'{"a":"' + b"\\u2afba/b:c\\n" * (n // 13) + b'"}\n',
    "fences in a string": lambda n: b'{"a":' + quoted(b"```\n" * (n // 4)) + b"}\n",
    "backslashes": lambda n: b'{"a":"' + b"\\" * n + b'"}\n',
}
SHAPES = {name: cache(make) for name, make in SHAPES.items()}
"""Texts of about ``n`` bytes that are not repetitions of one unit. Entries are given the same sizes, powers of two."""


def text(unit: bytes, size: int) -> bytes:
    return unit * max(size // len(unit), 1)
