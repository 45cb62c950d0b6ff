"""Logs of each wire, the same on every machine: real lines where there are any, else generated and seeded ones.

Nothing here uses turnwire: what is measured does not write its own input. The lines of nSLIP (from the training set of
the original SLIP project) and of SSTP are real; no public corpus of CSP/1 messages, SAP objects or KickLang envelopes
exists.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID

UPSTREAM = Path(__file__).parent.parent / "examples" / "data" / "nslip_upstream.txt"
SSTP = Path(__file__).parent.parent / "tests" / "data" / "sstp_real.jsonl"
SEED = 20261122
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
CSP_WORDS = ["find", "auth", "middleware", "refactor", "session", "token", "store", "cache", "lib", "tests", "jwt"]
AGENTS = ("planner", "coder", "critic", "observer", "AR-00L", "SystemMonitor")
WORDS = [
    "review",
    "the",
    "budget",
    "and",
    "split",
    "it",
    "between",
    "teams",
    "überprüfen",
    "before",
    "the",
    "next",
    "call",
    "レビュー",
    "with",
    "a",
    "quote",
]
TIME = "2026-11-22T07:{:02}:{:02}Z"


def identifier(numbers: random.Random) -> str:
    return str(UUID(int=numbers.getrandbits(128), version=4))


def sentence(numbers: random.Random, words: int) -> str:
    text = " ".join(numbers.choices(WORDS, k=words))
    return text + ('\nand "so on"' if numbers.random() < 0.3 else "")


def upstream() -> list[bytes]:
    """The 4,356 real lines of nSLIP, without their newlines."""
    return UPSTREAM.read_bytes().splitlines()


def base62(number: int) -> str:
    """A non-negative integer as nSLIP writes it."""
    digits = DIGITS[number % 62]
    while number := number // 62:
        digits = DIGITS[number % 62] + digits
    return digits


def varied_nslip(numbers: random.Random) -> bytes:
    """A message as hard as nSLIP can be: any slots in any order, integers of one to ten digits, strings of none to
    eight words, some escaped or not ASCII."""

    def identifier() -> str:
        digits = numbers.randint(1, 10)
        return base62(numbers.randrange(62 ** (digits - 1), 62**digits))

    parts = [f"@a{base62(numbers.randrange(11))}", f"f{numbers.randrange(5)}"]
    parts += [prefix + identifier() for prefix in "cSdT"]
    for prefix in numbers.sample("gkprqsuet", numbers.randint(0, 9)):
        if prefix in "ut":
            text = " ".join(numbers.choices([*WORDS, 'say "go"', "C:\\tmp"], k=numbers.randint(0, 8)))
            parts.append('{}"{}"'.format(prefix, text.replace("\\", "\\\\").replace('"', '\\"')))
        else:
            parts.append(prefix + identifier())
    return ("|".join(parts) + "#").encode()


def repeated(lines: Iterable[bytes], size: int) -> bytes:
    """The lines over and over, at least ``size`` bytes."""
    block = b"".join(line + b"\n" for line in lines)
    return block * -(-size // len(block))


def in_a_log(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Lines of a log with the messages in them: time, level and name before each; some hold two, some none."""
    numbers = random.Random(20260105)
    for number, line in enumerate(lines):
        clock = (number // 3600 % 24, number // 60 % 60, number % 60, number % 997)
        stamp = b"2026-01-05T%02d:%02d:%02d.%03dZ " % clock
        choice = numbers.random()
        if choice < 0.05:
            yield stamp + b"DEBUG scheduler: queue length %d, mail to ops@example.com" % number
        if choice > 0.95:
            line = line + b" answered by " + line
        yield stamp + b"INFO planner: " + line


def sstp(numbers: random.Random, number: int) -> dict[str, Any]:
    kind = numbers.choice(("query", "knowledge"))
    header = {
        "kind": kind,
        "actor_id": numbers.choice(AGENTS),
        "schema_id": f"ioc.{kind}.v0",
        "session_id": f"session-{number // 40}",
        "policy_labels": ["retention:90d"],
        "logical_clock": number % 40 + 1,
    }
    if kind == "query":
        payload: dict[str, Any] = {"question": sentence(numbers, 14), "required_fields": ["amount", "owner"]}
        payload |= {"uncertainty": round(numbers.random(), 2), "directed_to": numbers.choice(AGENTS)}
    else:
        payload = {"content": sentence(numbers, 30), "confidence": round(numbers.random(), 3), "evidence_refs": ["e:1"]}
    return {"header": header, "payload": payload}


def sap(numbers: random.Random, number: int) -> dict[str, Any]:
    return {
        "protocolVersion": "2.0",
        "taskId": identifier(numbers),
        "parentTaskId": None,
        "correlationId": identifier(numbers),
        "issuedAt": TIME.format(number // 60 % 60, number % 60),
        "issuer": {"agentId": numbers.choice(AGENTS), "agentKind": "agent", "name": "A"},
        "target": {"agentId": "A-ml-001", "capability": numbers.choice(("consult.align", "spec.write"))},
        "constitutionalContext": {
            "pressureLevel": "consulted",
            "principles": ["systems_over_willpower", "blueprint_thinking"],
            "pressure": {"systems_over_willpower": 52, "blueprint_thinking": 41},
            "riskTolerance": "low",
            "cachePolicy": {"mode": "prefer", "maxAgeSec": 86400, "mustAlign": True},
        },
        "payload": {"topic": sentence(numbers, 6), "depth": "detailed", "limits": [1, 2.5, None]},
        "telemetry": {"priority": "high", "budget": {"tokens": 8000}},
        "tags": ["spec", "protocol"],
    }


def kick(numbers: random.Random, number: int) -> dict[str, Any]:
    return {
        "id": identifier(numbers),
        "timestamp": TIME.format(number // 60 % 60, number % 60),
        "sender": numbers.choice(AGENTS),
        "receiver": "Orchestrator",
        "type": "Info",
        "channel": "\u2afbreport/status",
        "content": f"\u2afbtask/report:T-{number}/001\n{sentence(numbers, 12)}\n",
        "correlation_id": identifier(numbers),
    }


JSON_WIRES: dict[str, Callable[[random.Random, int], dict[str, Any]]] = {"sstp": sstp, "sap": sap, "kick": kick}
"""A message of each JSON wire: (numbers, its number) -> the object."""


def json_lines(wire: str, size: int) -> Iterator[bytes]:
    """Lines with generated messages of a JSON wire, at least ``size`` bytes of them."""
    numbers = random.Random(SEED)
    number = 0
    while size > 0:
        message = JSON_WIRES[wire](numbers, number)
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        yield line
        size -= len(line)
        number += 1


def hard(wire: str, numbers: random.Random, number: int) -> dict[str, Any]:
    """A message of a JSON wire that is dear to read and to write: floats of 17 digits, texts with CJK and escapes."""
    message = JSON_WIRES[wire](numbers, number)
    text = "\n".join(f'{sentence(numbers, 9)} \u4f1a\u8bae "{numbers.random()}"' for _ in range(2))
    if wire == "sstp":
        payload = message["payload"]
        payload[next(name for name in ("question", "content") if name in payload)] = text
        payload[next(name for name in ("uncertainty", "confidence") if name in payload)] = numbers.random()
    elif wire == "sap":
        message["payload"] |= {"topic": text, "scores": [numbers.random() * 10**power for power in (0, 3, 9, -7)]}
    else:
        message["content"] += text + "\n"
    return message


def hard_messages(wire: str, count: int) -> list[bytes]:
    """So many messages of :func:`hard`; of nSLIP :func:`varied_nslip`."""
    numbers = random.Random(SEED)
    if wire == "nslip":
        return [varied_nslip(numbers) for _ in range(count)]
    found = (hard(wire, numbers, number) for number in range(count))
    return [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in found]


def csp_log(size: int, seed: int = 1) -> bytes:
    """A log of all common blocks, a tenth of it file operations with heredocs."""
    rng = random.Random(seed)
    parts: list[str] = []
    total = number = 0
    while total < size:
        number += 1
        words = " ".join(rng.choices(CSP_WORDS, k=6))
        diff = "".join(f"+{words}\n" for _ in range(rng.randrange(2, 15)))
        intent, block = rng.choices(
            [
                ("TASK", f"TASK T{number}\nREQ {words}\nIN SRC,LIB\nOUT FILE_REFS\nOWNER CODE_EXP\nPRIORITY P1\n"),
                (
                    "RESULT",
                    f"RESULT T{number}\nSTATUS OK\nPRODUCED R_{number}\nDATA src/auth.ts:24-67;lib/jwt.ts:12-45\n",
                ),
                ("ERROR", f"ERROR E{number}\nAT T{number}\nCAUSE {words}\nNEXT {words}\n"),
                ("PATCH", f"PATCH P{number}\nBASE C{number}\n+ DEF NEW = {words}\n- DEF OLD\nAPPLY -> C{number + 1}\n"),
                ("FILE", f"FILEOP F{number} PATCH\nPATH src/f.ts\nBASE abc\nCONTENT\n<<<\n@@ -1 +1 @@\n{diff}>>>\n"),
            ],
            [35, 35, 10, 10, 10],
        )[0]
        parts.append(f"CSP/1\nFROM MAIN\nTO CODE_EXP\nCTX C{number // 10}\nINTENT {intent}\n\n{block}\n")
        total += len(parts[-1])
    return "".join(parts).encode()


def text_log(size: int) -> bytes:
    """Lines of a log without any message, as services write them."""
    numbers = random.Random(SEED)
    lines: list[bytes] = []
    while size > 0:
        words = sentence(numbers, 12).replace("\n", " ")
        line = f"2026-11-22 07:{len(lines) // 60 % 60:02}:{len(lines) % 60:02} INFO worker-{len(lines) % 7}: {words}\n"
        lines.append(line.encode())
        size -= len(lines[-1])
    return b"".join(lines)


def in_json(lines: list[bytes]) -> list[bytes]:
    """Lines of JSON as services log them, each with a text in a string."""
    return [
        json.dumps({"time": f"2026-11-22T07:00:{number % 60:02}Z", "level": "info", "msg": line.decode()}).encode()
        for number, line in enumerate(lines)
    ]


def mixed(size: int) -> bytes:
    """Messages of all wires by turns, with text between."""
    part = 256 << 10
    messages = [line + b"\n" for line in upstream()]
    logs: list[list[bytes]] = [messages, [b"CSP/1\n" + one for one in csp_log(part).split(b"CSP/1\n")[1:]]]
    logs += [list(json_lines(wire, part)) for wire in JSON_WIRES]
    texts = text_log(part).splitlines(keepends=True)
    lines: list[bytes] = []
    numbers = random.Random(SEED)
    for text in cycle(texts):
        if size <= 0:
            break
        lines += [text, numbers.choice(numbers.choice(logs))]
        size -= len(lines[-1]) + len(lines[-2])
    return b"".join(lines)


LOGS: dict[str, Callable[[int], bytes]] = {
    "nslip": lambda size: repeated(upstream(), size),
    "csp": csp_log,
    "sstp": lambda size: repeated(SSTP.read_bytes().splitlines(), size),
    "sap": lambda size: b"".join(json_lines("sap", size)),
    "kick": lambda size: b"".join(json_lines("kick", size)),
    "mixed": mixed,
    "prefixed nslip": lambda size: repeated(in_a_log(upstream()), size),
    "nslip in json": lambda size: repeated(in_json(upstream()), size),
    "text": text_log,
}
"""The logs by name: (size) -> at least so many bytes. The lines of nSLIP and SSTP are real, all others generated."""
