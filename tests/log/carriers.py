"""A good and a damaged message of each wire, and what carries messages in a log."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

HEAD = {"actor_id": "a", "schema_id": "ioc.knowledge.v0", "session_id": "s", "logical_clock": 1}
KICK = {"id": "1", "timestamp": "2026-01-01T00:00:00Z", "sender": "A", "receiver": "B", "type": "Info"}
UUID = "7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a"
GOOD = {
    "nslip": '@a2|f0|c9|S5|dA|T2|t"say {\\"x\\": 1} #"#',
    "csp": "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nhello\n```\n\nCSP/1\n>>>",
    "sstp": json.dumps({"header": {"kind": "knowledge", **HEAD}, "payload": {"content": "c"}}),
    "sap": json.dumps({"messageId": UUID, "correlationId": UUID, "status": "ACK", "reason": "r"}),
    "kick": json.dumps({**KICK, "channel": "⫻report/x", "content": "⫻a/b\nc\n"}, ensure_ascii=False),
}
BAD = {
    "nslip": "@a3|f0|c-|S0|d1|T1#",
    "csp": "CSP/1\nFROM A\nTO B\nINTENT TASK\n\nTASK T1\nREQ x",
    "sstp": '{"header": {"kind": "query", "actor_id": 3}, "payload": {}}',
    "sap": '{"protocolVersion": "2.0", "taskId": "x"}',
    "kick": json.dumps({**KICK, "channel": "⫻report/x", "content": "c", "sender": 3}),
}
TIME = "2026-01-02T03:04:05"
STAMP = f"{TIME}.123456789Z"


def lines(text: str, prefix: str) -> str:
    return "".join(f"{prefix}{line}\n" for line in text.split("\n"))


def parts(text: str, size: int = 40) -> Iterator[tuple[str, bool]]:
    """The lines of a text in pieces, each with whether the rest of the line is in the next one."""
    for line in text.split("\n"):
        pieces = [line[at : at + size] for at in range(0, len(line), size)] or [""]
        yield from ((piece, number + 1 < len(pieces)) for number, piece in enumerate(pieces))


def cri(text: str) -> str:
    return "".join(f"{STAMP} stdout {'P' if more else 'F'} {piece}\n" for piece, more in parts(text))


def docker(text: str, size: int = 1 << 20) -> str:
    pieces = [piece if more else f"{piece}\n" for piece, more in parts(text, size)]
    return "".join(json.dumps({"log": piece, "stream": "stdout", "time": STAMP}) + "\n" for piece in pieces)


def journald(text: str, size: int = 1 << 20) -> str:
    entries = []
    for piece, more in parts(text, size):
        partial = {"CONTAINER_PARTIAL_MESSAGE": "true"} if more else {}
        entries.append({"__REALTIME_TIMESTAMP": "1767323045123456", "CONTAINER_ID": "a", "MESSAGE": piece, **partial})
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def in_strings(text: str, depth: int) -> str:
    for _ in range(depth):
        text = json.dumps({"text": text})
    return text + "\n"


def notebook(text: str) -> str:
    source = text.splitlines(keepends=True)
    return (
        json.dumps({"cells": [{"cell_type": "raw", "source": [*source[:-1], source[-1] + "\n", "\n"]}]}, indent=1)
        + "\n"
    )


CARRIERS: dict[str, Callable[[str], str]] = {
    "file": lambda text: f"{text}\n",
    "crlf": lambda text: text.replace("\n", "\r\n") + "\r\n",
    "prefix": lambda text: lines(text, f"{TIME}Z INFO app: "),
    "numbered": lambda text: "".join(f"{at:>3} | {line}\n" for at, line in enumerate(text.split("\n"), 7)),
    "compose": lambda text: lines(text, "\x1b[36magent-1  | \x1b[0m"),
    "quote": lambda text: lines(text, "> "),
    "events": lambda text: lines(text, "data: "),
    "indented": lambda text: lines(text, "    "),
    "cri": lambda text: lines(text, f"{STAMP} stdout F "),
    "cri parts": cri,
    "docker": docker,
    "docker parts": lambda text: docker(text, 40),
    "journald": journald,
    "journald parts": lambda text: journald(text, 40),
    "string": lambda text: in_strings(text, 1),
    "strings in strings": lambda text: in_strings(text, 3),
    "bytes": lambda text: json.dumps({"MESSAGE": list(text.encode())}) + "\n",
    "list of lines": notebook,
}
PRETTY = {wire: json.dumps(json.loads(GOOD[wire]), indent=2, ensure_ascii=False) for wire in ("sstp", "sap", "kick")}
