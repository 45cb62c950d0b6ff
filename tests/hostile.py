"""Hostile input: units that are repeated, messages that are good and refused, shapes and histories of any size."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from itertools import cycle, islice, product
from pathlib import Path
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
SAMPLES = {
    path.parent.name: path.read_bytes()
    for path in sorted((Path(__file__).parent.parent / "src/turnwire/formats").glob("*/samples.jsonl"))
}
"""A log of each format of real traffic."""
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

# --- shapes and histories ---------------------------------------------------------------------------------------------

Make = Callable[[int], bytes]
KNOWN = b'{"header":{},"taskId":1,'
"""How an object begins that several wires look at."""


def _members(count: int) -> bytes:
    """Members whose names differ in their last three letters: a hash that mixes badly puts them all in one place."""
    ends = product(b"abcdefghijklmnopqrstuvwxyz", repeat=3)
    return b",".join(b'"aaaaa%c%c%c":1' % end for end in islice(ends, count))


SHAPES: dict[str, Make] = {
    "names of one hash": lambda n: KNOWN + _members(max(n // 12, 1)) + b"}\n",
    "many names, then some": lambda n: (
        KNOWN
        + b",".join(b'"k%d":1' % number for number in range(n // 20))
        + b"}\n"
        + (KNOWN + b",".join(b'"q%d":1' % number for number in range(20)) + b"}\n") * (n // 400)
    ),
    "nested objects": lambda n: b'{"a":' * (n // 6) + b"1" + b"}" * (n // 6),
    "nested arrays": lambda n: b'{"a":' + b"[" * (n // 2) + b"]" * (n // 2) + b"}",
    "one long string": lambda n: b'{"a":"' + b"x" * n + b'"}\n',
    "objects in a string": lambda n: b'{"a":' + quoted(b'{"a":' * (n // 6)) + b"}\n",
    "records in a string": lambda n: b'{"a":' + quoted(GOOD["nslip"] * (n // 34)) + b"}\n",
    "messages in a string": lambda n: b'{"a":' + quoted(GOOD["kick"] * max(n // 220, 1)) + b"}\n",
    "refused in a string": lambda n: b'{"a":' + quoted(REFUSED["kick"][0] * max(n // 200, 1)) + b"}\n",
    "csp in a string": lambda n: b'{"a":' + quoted(CSP * max(n // 50, 1)) + b"}\n",
    "members": lambda n: b"{" + b",".join(b'"k%d":1' % i for i in range(n // 8)) + b"}\n",
    "escaped keys": lambda n: b"{" + b",".join(b'"\\u006b%d":1' % i for i in range(n // 14)) + b"}\n",
    "open heredoc": lambda n: CSP[:-10] + b"REQ\n<<<\n" + b"line\n" * (n // 5),
    "value over many lines": lambda n: CSP[:-10] + b"REQ x\n" + b"y\n" * (n // 2) + b"OWNER A\n\n",
    "spaces in a line": lambda n: b"x" + b" " * n + b"y\n",
    "digits": lambda n: b'{"a":' + b"1" * n + b"}\n",
    "base62": lambda n: b"@a" + b"1" * n + b"|f0#\n",
    "string of ends and escapes": lambda n: b'@a3|f0|c1|S0|d1|T1|t"' + b"#\\\\" * (n // 3),
    "object over lines": lambda n: b"{\n" + b'"a":1,\n' * (n // 7) + b'"b":1}\n',
    "longer fences": lambda n: b"".join(b"`" * (i + 3) + b"\n" for i in range(int((2 * n) ** 0.5))),
    "preambles behind a prefix": lambda n: b"app | DEF A = b\napp | text\n" * (n // 27),
}
"""Texts of about ``n`` bytes that are not repetitions of one unit."""


def _id(number: int) -> str:
    return str(uuid.UUID(int=number, version=4))


def _each(make: Callable[[int], bytes], size: int) -> Make:
    """Messages number 0, 1, ... of about ``size`` bytes each."""
    return lambda n: b"".join(make(number) for number in range(max(n // size, 1)))


def _cut(log: bytes) -> Make:
    """The lines of a log over and over, each cut in the middle."""
    lines = [one[: len(one) // 2] + b"\n" for one in log.splitlines()]
    return lambda n: b"".join(islice(cycle(lines), max(len(lines) * n // len(log), 1)))


def _csp(intent: str, body: str, ctx: str = "C0") -> bytes:
    return f"CSP/1\nFROM A\nTO B\nCTX {ctx}\nINTENT {intent}\n\n{body}\n\n".encode()


def _patch(n: int) -> bytes:
    return _csp("PATCH", f"PATCH P{n + 1}\nBASE C{n}\n+ DEF AB{n} = v{n}\nAPPLY -> C{n + 1}", f"C{n}")


def _laws(n: int, law: str, task: str) -> bytes:
    """Half of it laws, the other half tasks. Each has a word of its own."""
    words = ["".join("bcfhjklmnp"[int(digit)] for digit in str(number)) for number in range(n // 80)]
    laws = "LAWS\n" + "".join(f"- L{number}: {law.format(word)}\n" for number, word in enumerate(words))
    return laws.encode() + b"\n" + b"".join(_csp("TASK", f"TASK T1\nREQ {task.format(word)}") for word in words[::2])


def _kick(number: int, channel: str, content: str, **fields: Any) -> bytes:
    return line({**KICK, "id": _id(number), "channel": f"⫻{channel}", "content": f"⫻{content}\nx\n", **fields})


def _then(n: int, channel: str, content: str, **fields: Any) -> bytes:
    """Half of the messages dispatch tasks of one correlation, the others say something of that."""
    count, group = max(n // 600, 1), {"correlation_id": _id(1 << 40)}
    tasks = (_kick(one, "command/dispatch", f"task/dispatch:T-{one}/001", **group) for one in range(1, count))
    rest = (_kick(one, channel, content.format(one), **{**group, **fields}) for one in range(count, 2 * count))
    return b"".join((*tasks, *rest))


TOLD = {"sender": "Dima", "receiver": "Orchestrator", "type": "Info"}
ALERT = {"sender": "SystemMonitor", "receiver": "Broadcast", "type": "Alert"}
HISTORIES: dict[str, dict[str, Make]] = {
    "csp.lint": {
        "laws": lambda n: _laws(n, "always do the thing {}", "always do the thing {}"),
        "patches": _each(_patch, 90),
        "tasks": _each(lambda one: _csp("TASK", f"TASK T{one}\nREQ x\nOWNER A{one}"), 68),
    },
    "conform csp": {
        "laws that route": lambda n: _laws(n, "topic number x{0} -> {0} only", "topic number x{0}"),
        "results": _each(lambda one: _csp("RESULT", f"RESULT T{one}\nSTATUS OK\nPRODUCED a{one}.py"), 80),
    },
    "csp.Store": {"patches": _each(_patch, 90)},
    "kick.Monitor": {
        "violations": lambda n: _then(n, "alert/violation", "alert/violation:V/1", **ALERT),
        "escalations": lambda n: _then(n, "command/escalate", "command/escalate:V/1", receiver="Supervisor"),
        "reports of others": lambda n: _then(n, "report/status", "task/status:X-{}/001", **TOLD),
        "stops": lambda n: _then(n, "command/stop", "command/stop"),
        "resumptions": lambda n: _then(n, "command/resume", "command/resume"),
    },
    "session.encode": {
        "many kinds": _each(lambda one: line({f"k{one}": one, "say": "so"}), 24),
        "ever more members": lambda n: b"".join(
            line({f"m{one}": 1 for one in range(many)}) for many in range(int((n / 4) ** 0.5))
        ),
        "many members": lambda n: line({"k" * min(n // 2, 1 << 15): {f"m{one}": 1 for one in range(n // 16)}}),
        "what is far back": _each(lambda one: line({"say": f"the words of number {one % 200} again"}), 50),
    },
    "sap.Lifecycle": {
        "tasks of one correlation": _each(lambda one: line({**TASK, "taskId": _id(one)}), 1050),
        "results of one task": _each(lambda one: line({**RESULT, "status": "RUNNING", "output": one}), 700),
    },
    "scan formats": {f"cut {name}": _cut(log) for name, log in SAMPLES.items()}
    | {"keys where no object is open": lambda n: b'x "sessionId":{} ' * (n // 17)},
    "sstp.Session": {
        "clocks back": _each(lambda one: _sstp(logical_clock=(1 << 30) - 2 * one), 290),
        "actors": _each(lambda one: _sstp(actor_id=f"agent {one}"), 290),
    },
}
"""Conversations by which entries grew that keep what was said before."""


def _sstp(**header: Any) -> bytes:
    return line({**SSTP, "header": {**SSTP["header"], **header}})
