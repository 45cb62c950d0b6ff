"""Hostile input: units that are repeated, messages that are good and refused."""

from __future__ import annotations

import json
from typing import Any

from tests.sap.documents import RESULT, TASK, changed
from tests.sstp.examples import example
from turnwire.sstp.spec import Kind


def line(document: dict[str, Any]) -> bytes:
    """A document as a line of JSON."""
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _without(document: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


SSTP = example(Kind.INTENT)
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
CSP = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ do it\n\n"
GOOD: dict[str, bytes] = {
    "nslip": b'@a3|f0|c1|S0|d1|T1|gH|t"hello"#\n',
    "csp": CSP,
    "sstp": line(SSTP),
    "sap": line(TASK),
    "kick": line(KICK),
}
"""A good message of each wire, with what stands behind it in a log."""
REFUSED: dict[str, tuple[bytes, ...]] = {
    "nslip": (b'@a3|f0|c1|S0|d1|T1|gH|t"hello#\n', b"@a3|f0|c!|S0|d1|T1|gH#\n", b"@a9|f9|c1#\n"),
    "csp": (
        CSP.replace(b"\n\nTASK", b"\nTASK"),
        CSP.replace(b"CTX C0\n", b""),
        CSP.replace(b"REQ do it\n", b"REQ\n<<<\ndo it\n"),
    ),
    "sstp": (
        line({**SSTP, "header": _without(SSTP["header"], "actor_id")}),
        line({**SSTP, "header": {**SSTP["header"], "logical_clock": "1"}}),
        line({**SSTP, "payload": _without(SSTP["payload"], *list(SSTP["payload"])[:1])}),
    ),
    "sap": (
        line(_without(TASK, "issuer")),
        line(changed(TASK, "/issuedAt", "yesterday")),
        line(changed(RESULT, "/status", "FINE")),
    ),
    "kick": (line(_without(KICK, "type")), line({**KICK, "timestamp": "yesterday"}), line({**KICK, "content": 7})),
}
"""Messages of each wire that are refused, each by one rule."""


def quoted(text: bytes, depth: int = 1) -> bytes:
    """The text as a JSON string, in a string, and so on."""
    said = text.decode("utf-8", "replace")
    for _ in range(depth):
        said = json.dumps(said, ensure_ascii=False)
    return said.encode()


_TEXTS = (
    "x", " ", "\n", "a b ", "\0", "é", "word\n", "\r\n", "\r", "0", "-", "\t \n", "1", ".", "…", "a/", "see a.py:1;",
    "@", "@a", "@a ", "@a\n", "@a3|", '@a3"a\\"', '@a3"', '@a3|t"', "@a3|#", "#", "|", '@a3|t"\\', "@f0|f0",
    "@a3|CSP/1", "@a3|f0|c1|S0|d1|T1|", "|g1",
    "{", "[", "}", "{}", "[]", "{}\n", "{\n", '{"', '{"a":', '[{"a":', '"', "\\", '\\"', '"\\', '{"a":"', '{"a":1,',
    '"a":1,', '"a":"b",', '{"a":1}', '{"header":{', '{"header":{}}', '{"header":{}}\n', '{"taskId":"a"}\n', '"{\\"',
    '{"a":"{\\"', '{"@a3|#"}', '["@a3|#"]', '"@a3|#"', '{"a":"@a3|#"}\n', '{"a":"CSP/1\\n"}\n', '{"a":"\\u0040"}',
    "\\u0022", "{,", "{\\", '"{\n', "\\ud800", "\\\\", '{\n"a":1\n', "[\n", '{"a":[\n', '{\n"a":1\n}\n', "call() {\n",
    '{"a":{"b":1},\n"c":[2,\n3 x\n', '{"header":{"actor_id":1},\n"payload":\n', '{"a":["{","{",\n "{"',
    "CSP/1", "CSP/1\n", "CSP/1 \n", "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n", "FROM A\nTO B\nCTX C0\nINTENT TASK\n",
    "TASK T1\n", "REQ\n<<<\n", "REQ v\n", "<<<\n", ">>>\n", "CSP/1\nREQ\n<<<\n", "LAWS\n", "DEF A = b\n", "PATCH P1\n",
    "+ A = b\n", "x CSP/1\n", "CSP/1\nx y\n", "CSP/1\n{}\n", "csp/1\n", "---\n", "app | CSP/1\n", "CSP/1;A>B;C0;T1\n",
    "- L1: a -> B only\n", "> CSP/1\n",
    "⫻", "⫻\n", "⫻a/b:c/d\n", "⫻cmd/exec\n", "⫻content/x:y\ntext\n", "```\n", "```", "~~~\n", "\\u2afb", "x ⫻", "⫻⫻/",
    "`", "```json\n{\n", "⫻a/b:c/1\n```\n", "⫼a/b:c\n",
    '{"log":"a","stream":"stdout","time":"2026-01-01T00:00:00Z"}\n', "2026-01-01T00:00:00Z stdout P x\n",
    "2026-01-01T00:00:00Z stdout F x\n", "INFO 2026-01-01 00:00:00 ", "2026-01-01 00:00:00 x\n", "[2026",
    "app-1  | x\n",
)  # fmt: skip
UNITS: tuple[bytes, ...] = (*(text.encode() for text in _TEXTS), b"\xff", b"\xed\xa0\x80")
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
    prefixes = {"a prefix": b"app: ", "spaces": b"    ", "a quote": b"> ", "CRI": CRI.replace(b"P", b"F")}
    for name, prefix in prefixes.items():
        found[f"csp behind {name}"] = _behind(prefix, CSP)
        found[f"cut csp behind {name}"] = _behind(prefix, CSP[:13])
        found[f"template behind {name}"] = _behind(prefix, b"CSP/1;A>B;C0;T1\n")
    return found


def _in_parts(text: bytes) -> bytes:
    """A line that CRI cut once."""
    half = len(text) // 2
    return _behind(CRI, text[:half] + b"\n") + _behind(CRI.replace(b"P", b"F"), text[half:])


def _behind(prefix: bytes, lines: bytes) -> bytes:
    """Lines with this in front of each."""
    return b"".join(prefix + text for text in lines.splitlines(keepends=True))


MESSAGES = _messages()
