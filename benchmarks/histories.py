"""Inputs of any size by which entries grew: shapes that are no repetition of a unit, and long conversations."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from itertools import cycle, islice, product
from pathlib import Path
from typing import Any

from tests.hostile import CSP, GOOD, KICK, REFUSED, SSTP, line, quoted
from tests.sap.documents import RESULT, TASK

SAMPLES = {
    path.parent.name: path.read_bytes()
    for path in sorted((Path(__file__).parent.parent / "src/turnwire/formats").glob("*/samples.jsonl"))
}
"""A log of each format of real traffic."""
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
