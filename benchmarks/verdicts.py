"""How fast messages are judged: ``validate`` and ``conform`` on good logs of each wire, and damaged lines.

Run ``python -m benchmarks.verdicts [megabytes [results.json]]``. All in one process and one thread. Good logs are made
here, the same on every machine. Times are of the processor; a doubling is the time of a log over that of its half.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time
from typing import Any
from uuid import UUID

import turnwire
from benchmarks.traffic import SEED, rows, wire
from turnwire import registry
from turnwire.cli.commands.validate import RecordValidator, ValidationCounts, _findings_in_logs
from turnwire.progress import Progress
from turnwire.read.judging import conform

TIME = "2026-01-{:02}T{:02}:{:02}:{:02}Z"


def nslip(numbers: random.Random) -> Iterator[str]:
    """Conversations with short texts."""
    for row in rows("varied", 200_000):
        if all(len(value) <= 64 for value in row.values() if isinstance(value, str)):
            yield wire(row).decode() + "\n"


def csp(numbers: random.Random) -> Iterator[str]:
    """Tasks and their results; each fifth changes the state."""
    yield "DEF SRC = src/\nDEF LIB = lib/\nDEF CODE_EXP = code-explorer\n\n"
    yield "LAWS\n- L1: Web search/fetch -> WEB_RES only\n\n"
    state = number = 0
    while True:
        number += 1
        head = f"CSP/1\nFROM MAIN\nTO CODE_EXP\nCTX C{state}\nINTENT "
        back = f"CSP/1\nFROM CODE_EXP\nTO MAIN\nCTX C{state}\nINTENT "
        yield f"{head}TASK\n\nTASK T{number}\nREQ find auth middleware {number}\nIN SRC,LIB\nOWNER CODE_EXP\n\n"
        yield f"{back}RESULT\n\nRESULT T{number}\nSTATUS OK\nDATA src/auth.ts:24-67;lib/jwt.ts:12-45\n\n"
        if number % 5 == 0:
            yield f"{head}PATCH\n\nPATCH P{state + 1}\nBASE C{state}\n"
            yield f"+ DEF A{state} = v{state}\nAPPLY -> C{state + 1}\n\n"
            state += 1


def sstp(numbers: random.Random) -> Iterator[str]:
    """Sessions of questions and answers."""
    for session in range(1 << 30):
        for clock in range(1, 21):
            header = {"session_id": f"session-{session}", "logical_clock": clock, "policy_labels": ["retention:90d"]}
            ask = {"kind": "query", "actor_id": "alex", "schema_id": "ioc.query.v0", **header}
            say = {"kind": "knowledge", "actor_id": "blake", "schema_id": "ioc.knowledge.v0", **header}
            text = f"which migration of run {numbers.randrange(10**6)} last changed the table of amounts?"
            question = {"question": text, "required_fields": ["id"], "uncertainty": 0.5, "directed_to": "blake"}
            answer = f"migration {numbers.randrange(10**6)} did, with two columns and an index more than before"
            finding = {"content": answer, "confidence": 0.9, "evidence_refs": ["commit:abc"]}
            yield json.dumps({"header": ask, "payload": question}) + "\n"
            yield json.dumps({"header": say, "payload": finding}) + "\n"


def sap(numbers: random.Random) -> Iterator[str]:
    """Tasks and their results."""
    while True:
        ids = {"taskId": identifier(numbers), "correlationId": identifier(numbers)}
        context = {
            "pressureLevel": "consulted",
            "territory": "EUFM",
            "cachePolicy": {"mode": "prefer", "maxAgeSec": 60},
        }
        task = {"protocolVersion": "2.0", **ids, "issuedAt": "2026-01-01T10:00:00Z"}
        task |= {
            "issuer": {"agentId": "A-prime", "agentKind": "agent"},
            "payload": {"topic": "plan", "depth": "detailed"},
        }
        task |= {"target": {"agentId": "A-1", "capability": "consult.align"}, "constitutionalContext": context}
        evidence = {"alignment": "VALID", "cache": {"hit": False}}
        result = {"protocolVersion": "2.0", **ids, "reportedAt": "2026-01-01T10:00:09Z", "status": "SUCCEEDED"}
        result |= {"producer": {"agentId": "A-1", "agentKind": "agent"}, "output": {"sections": ["Purpose", "Objects"]}}
        result |= {"metrics": {"latencyMs": 842, "tokensIn": 2100}, "constitutionalEvidence": evidence}
        yield json.dumps(task) + "\n" + json.dumps(result) + "\n"


def kick(numbers: random.Random) -> Iterator[str]:
    """Tasks from their dispatch to their end."""
    for number in range(1 << 30):
        place = (number // 86400 % 28 + 1, number // 3600 % 24, number // 60 % 60, number % 60)
        request = identifier(numbers)
        sent = {"timestamp": TIME.format(*place), "sender": "Orchestrator", "receiver": "WePlan", "type": "Command"}
        text = f"\u2afbtask/dispatch:T-{number}/001\nBuild part {number} of the plan."
        yield said({"id": request, **sent, "channel": "\u2afbcommand/dispatch", "content": text})
        for name, word in (("status", "Accepted"), ("artifact", "/plans/a.md"), ("status", "Completed")):
            back = {"timestamp": TIME.format(*place), "sender": "WePlan", "receiver": "Orchestrator", "type": "Info"}
            text = f"\u2afbreport/{name}:T-{number}/001\n{word}"
            envelope = {"id": identifier(numbers), **back, "channel": f"\u2afbreport/{name}", "content": text}
            yield said({**envelope, "correlation_id": request})


def said(envelope: dict[str, Any]) -> str:
    """An envelope as a line."""
    return json.dumps(envelope, ensure_ascii=False) + "\n"


def identifier(numbers: random.Random) -> str:
    """A UUID of version 4."""
    return str(UUID(int=numbers.getrandbits(128), version=4))


LOGS: dict[str, Callable[[random.Random], Iterator[str]]] = {
    "nslip": nslip,
    "csp": csp,
    "sstp": sstp,
    "sap": sap,
    "kick": kick,
}
DAMAGED = {
    "nslip": "@a3|f9|c{0}|S0|d1|T1#\n",
    "csp": "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T{0}\nIN x{0}\n\n",
    "sstp": '{{"header":{{"kind":"intent","actor_id":"a","schema_id":"ioc.intent.v0","logical_clock":{0}}},'
    '"payload":{{"assumptions":[]}}}}\n',
    "sap": '{{"protocolVersion":"2.0","taskId":"{1}","constitutionalContext":{{}},"issuedAt":"2026-01-01T10:00Z"}}\n',
    "kick": '{{"id":"{1}","sender":"WePlan","receiver":"Orchestrator","channel":"\u2afbreport/status"}}\n',
}
"""A damaged record of each wire, with a number or a UUID in it that makes it another one each time."""


def log(name: str, megabytes: float) -> bytes:
    """A good log of about that size."""
    parts = []
    size = 0
    for part in LOGS[name](random.Random(SEED)):
        parts.append(part.encode())
        size += len(parts[-1])
        if size >= megabytes * 1e6:
            break
    return b"".join(parts)


def damaged(name: str, count: int) -> bytes:
    """So many damaged records, no two of them alike."""
    numbers = random.Random(SEED)
    return "".join(DAMAGED[name].format(number, identifier(numbers)) for number in range(1, count + 1)).encode()


def validated(data: bytes, name: str) -> Callable[[], int]:
    """``turnwire validate`` of some bytes, without its output: how many findings there are."""

    def run() -> int:
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            judge, tally = RecordValidator(name, "error"), ValidationCounts()
            return sum(1 for _ in _findings_in_logs([file.name], judge, tally, Progress(None, wanted=False)))

    return run


def seconds(run: Callable[[], object], rounds: int = 3) -> float:
    """The least processor time of some runs."""
    times = []
    for _ in range(rounds):
        begun = process_time()
        run()
        times.append(process_time() - begun)
    return min(times)


def explained(name: str) -> str:
    """How many tokens it takes to tell a model what is wrong with a damaged record, where a tokenizer is there."""
    from turnwire import tokens

    (miss,) = turnwire.extract(damaged(name, 1).decode(), rejects=True)
    said = turnwire.explain(miss)
    known = tokens.tokenizers()
    return f"{tokens.count(said, known[0])} tokens of {known[0]}" if known else f"{len(said)} characters"


def measured(name: str, megabytes: float) -> dict[str, Any]:
    """What is measured of a wire, in MB/s and microseconds."""
    data = log(name, megabytes)
    half = data[: data.index(b"\n\n" if name == "csp" else b"\n", len(data) // 2) + 1]
    checklist = conform(name, data)
    judged = seconds(lambda: conform(name, data))
    checked = seconds(validated(data, name))
    count = 20_000
    wrong = seconds(validated(damaged(name, count), name))
    size = len(data) / 1e6
    return {
        "wire": name,
        "megabytes": size,
        "records": checklist.records,
        "verdict": checklist.verdict,
        "conform": size / judged,
        "validate": size / checked,
        "damaged": wrong / count * 1e6,
        "doubling": judged / seconds(lambda: conform(name, half)),
        "explained": explained(name),
    }


BARS = {"conform": (20.0, True), "validate": (100.0, True), "damaged": (10.0, False)}
"""What is wanted: MB/s at the least, microseconds at the most."""


def table(rows: list[dict[str, Any]]) -> str:
    """The figures beside what is wanted; what does not reach it has a mark."""
    lines = [
        "| wire | verdict | conform, MB/s (≥ 20) | validate, MB/s (≥ 100) | a damaged record, µs (≤ 10) | doubling |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for row in rows:
        shown = []
        for name, (bar, least) in BARS.items():
            reached = row[name] >= bar if least else row[name] <= bar
            shown.append(f"{row[name]:.1f}{'' if reached else ' (not yet)'}")
        lines.append(f"| {row['wire']} | {row['verdict']} | {' | '.join(shown)} | {row['doubling']:.2f} |")
    return "\n".join(lines)


def main(megabytes: float = 4.0, results: str | None = None) -> None:
    """Prints a table; with a path, keeps the figures there as JSON."""
    rows = [measured(name, megabytes) for name in registry.WIRES if name in LOGS]
    print(f"turnwire {turnwire.__version__}, {turnwire.backend}\n")
    print(table(rows))
    for row in rows:
        print(f"{row['wire']}: a damaged record is explained in {row['explained']}")
    if results is not None:
        whole = {"turnwire": turnwire.__version__, "backend": turnwire.backend, "python": sys.version, "wires": rows}
        Path(results).write_text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(*map(float, sys.argv[1:2]), *sys.argv[2:3])
