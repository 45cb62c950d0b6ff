"""Messages of the five wires, drawn at random. Nothing here depends on turnwire or on other tests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
SIGIL = "\u2afb"
START = 1795330800
"""2026-11-22T07:00:00Z"""
DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
WORDS = ("Ready.", "refactor auth", "done", "a\\b", 'say "hi" | #1', "é 日本 🙂", "a.ts:2-7;b.ts:1", "} ] {", "x" * 90)
WORDS += ("@a3|f0|c3|S0|d1|T2#", "CSP/1", "```", ">>>", "a\u2028b", "\x1b[31mred\x1b[0m", "2026-11-22T07:00:00Z", "")
WORDS += ("# x", "\x85", "header", '{"header": {"kind": "intent"}}', f"{SIGIL}task/x:y/1")
BODIES = ("one\ntwo", "a\n\nb\n", "\n", ">>> x\n>>>> y", "```\nx\n```", "@@ -1,3 +1,5 @@\n-old\n+new")
BODIES += ("CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T9\nREQ x", "@a3|f0|c3|S0|d1|T2#\nx")
BODIES += (f"{SIGIL}task/x:y/1\nGo", '{"a": 1}\n{"header": {}}')
UUIDS = ("7fbb32b6-0d2c-4c1a-9b75-2a4b3b0b6c0a", "a7f5d5b2-13a8-4a0d-9ba2-6b1e3c6f9d11")
NAMES = ("MAIN", "coder", "WePlan", "Orchestrator", "agent-1", "B", "Broadcast")
WRONG = (None, 1, -1, "x", "", [], {}, True, 1.5, float("nan"), 1e300, [1], {"a": {}}, "2026-13-01", "\ud800", 2**64)


class Chance(random.Random):
    """Draws made from ``random()`` alone: its sequence for a seed is the same in every version of Python.

    seconds: how late it is in the log, since START.
    """

    seconds = 0

    def below(self, count: int) -> int:
        return int(self.random() * count)

    def pick(self, *choices: T) -> T:
        return choices[self.below(len(choices))]

    def often(self, share: float) -> bool:
        return self.random() < share

    def word(self) -> str:
        return self.pick(*WORDS[:3]) if self.often(0.6) else self.pick(*WORDS)

    def body(self) -> str:
        return self.word() if self.often(0.5) else self.pick(*BODIES)

    def mixed(self, items: list[T]) -> list[T]:
        """The items in another order."""
        return [item for _, item in sorted(((self.random(), place), item) for place, item in enumerate(items))]

    def some(self, items: list[T], share: float) -> list[T]:
        return [item for item in items if self.often(share)]


def nslip(chance: Chance) -> str:
    """One message of nSLIP; a few with a header that lacks something, or a newline in a string."""

    def number() -> str:
        return "".join(chance.pick(*DIGITS) for _ in range(1 + chance.below(chance.pick(1, 1, 2, 2, 10, 11))))

    def quoted() -> str:
        text = chance.body() if chance.often(0.1) else chance.word()
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

    act, frame = chance.pick(*"0123456789A" * 3, "B"), chance.pick(*"01234" * 4, "5")
    fields = [f"a{act}", f"f{frame}", f"c{number()}", f"S{number()}", f"d{number()}", f"T{number()}"]
    if chance.often(0.1):
        fields = chance.mixed(chance.some(fields, 0.9))
    slots = [*(name + number() for name in "gkprqse"), "u" + quoted(), "t" + quoted()]
    return "@" + "|".join(fields + chance.some(slots, 0.3)) + "#"


BLOCKS = (
    ("TASK", "TASK T{n}\nREQ {w}\nIN SRC,LIB\nOUT FILE_REFS\nOWNER CODE_EXP\nPRIORITY P1"),
    ("TASK", "TASK T{n}\nREQ {w}"),
    ("RESULT", "RESULT T{n}\nSTATUS OK\nPRODUCED FILE_REFS_1\nDATA {w}"),
    ("RESULT", "RESULT T{n}\nSTATUS PARTIAL\nDATA\n<<<\n{b}\n>>>"),
    ("ERROR", "ERROR E{n}\nAT T{n}\nCAUSE {w}\nNEXT try again"),
    ("PATCH", "PATCH P{n}\nBASE C{n}\n+ DEF AUTH = {w}\n~ DEF DB := x\n- DEF OLD\nAPPLY -> C9"),
    ("FILE", "FILEOP F{n} CREATE\nPATH src/a.py\nCONTENT\n<<<<\n{b}\n>>>\n>>>>"),
    ("FILE", "FILEOP F{n} DELETE\nPATH src/a.py\nBASE sha256:abcdef0"),
    ("PLAN", "PLAN L{n}\nSTEP_1 {w}\nNOTE\n<<<\n{b}\n>>>\nEND"),
    ("QUERY", "QUERY Q{n}\nASK {w}"),
    ("MEM", "MEM M{n}\nKEY\n<<<\n{b}\n>>>"),
)


def csp(chance: Chance) -> str:
    """One message of CSP/1, a template or a preamble."""
    if chance.often(0.08):
        return chance.pick("CSP/1;!prose;DATA\nTASK REQ:x IN:y", "CSP/1 MODE;!prose", "DEF A = a/\n\nLAWS\n- L1: x")
    intent, form = chance.pick(*BLOCKS)
    block = form.format(n=chance.below(9), w=chance.word(), b=chance.body())
    head = [f"FROM {chance.pick(*NAMES)}", f"TO {chance.pick(*NAMES)}", f"CTX C{chance.below(4)}", f"INTENT {intent}"]
    if chance.often(0.05):
        head = chance.mixed(chance.some(head, 0.9))
    return "\n".join(["CSP/1", *head, *[""] * chance.pick(1, 1, 1, 1, 2, 0), block])


def _dump(chance: Chance, value: dict[str, Any]) -> str:
    """An object as JSON, as one of several writers would write it; at times with a value that is wrong or unknown."""
    if chance.often(0.1):
        place = value
        while isinstance(inner := place[chance.pick(*place)], dict) and inner and chance.often(0.7):
            place = inner
        place[chance.pick(*place, "unknown")] = chance.pick(*WRONG)
    if chance.often(0.1):
        value = dict(chance.mixed(list(value.items())))
    if chance.often(0.1):
        del value[chance.pick(*value)]
    separators = (",", ":") if chance.often(0.4) else None
    indent = chance.pick(1, 2, 4, "\t") if chance.often(0.2) else None
    text = json.dumps(value, separators=separators, indent=indent, ensure_ascii=chance.often(0.5))
    if chance.often(0.03):
        text = text.replace("{", '{"kind": "intent", "taskId": "x", ', 1)  # names that are there twice
    return text


def sstp(chance: Chance) -> str:
    """One object of SSTP."""
    refs = [chance.word() for _ in range(chance.below(3))]
    kind, payload = chance.pick(
        ("intent", {"goal": chance.word(), "assumptions": refs, "success_criteria": "c", "constraints": []}),
        ("query", {"question": chance.word(), "required_fields": refs, "uncertainty": 0.5, "directed_to": "B"}),
        ("knowledge", {"content": chance.body(), "confidence": chance.pick(1, 0.25, 1.5), "evidence_refs": refs}),
        ("knowledge", {"content": chance.body(), "confidence": 0.9, "evidence_refs": refs}),
        ("delegation", {"task": chance.body(), "assigned_to": "B", "required_capabilities": refs}),
        ("commit", {"decision": chance.word(), "scope": "all", "commit_mode": "unilateral", "supersedes": None}),
        (
            "evidence_bundle",
            {"claim": "c", "artifacts": [{"type": "t", "name": "n", "value": refs}], "verdict": "pass"},
        ),
        ("memory_delta", {"summary": chance.body(), "memory_type": "episodic", "derived_rule": "r"}),
    )
    header = {"kind": kind, "actor_id": chance.pick(*NAMES), "session_id": chance.pick("s1", "s2")}
    header |= {"logical_clock": chance.below(20), "schema_id": f"ioc.{kind.removesuffix('_bundle')}.v0"}
    if chance.often(0.5):
        header = dict(chance.mixed(list(header.items())))
    return _dump(chance, {"header": header, "payload": payload})


def sap(chance: Chance) -> str:
    """One object of SAP: a Task, a Result, an Ack or a Nack."""
    stamp = f"2026-11-22T07:{10 + chance.below(50)}:00" + chance.pick("Z", "Z", "Z", ".5Z", "+02:00")
    ids = {"protocolVersion": "2.0", "taskId": chance.pick(*UUIDS), "correlationId": chance.pick(*UUIDS)}
    agent = {"agentId": chance.pick(*NAMES), "agentKind": chance.pick("agent", "system")}
    context = {"pressureLevel": chance.pick("instant", "consulted"), "pressure": {"p": chance.below(120)}}
    context |= chance.pick({}, {"cachePolicy": {"mode": "prefer", "maxAgeSec": 60}}, {"territory": chance.word()})
    target = {"agentId": "B", "capability": "consult.align"}
    task = {**ids, "issuedAt": stamp, "issuer": agent, "target": target, "constitutionalContext": context}
    task |= {"payload": {"text": chance.body()}} | chance.pick({}, {"tags": ["x"]}, {"parentTaskId": None})
    evidence = {"alignment": chance.pick("VALID", "ESCALATE"), "policyChecks": [{"principle": "p", "status": "pass"}]}
    status = chance.pick("SUCCEEDED", "RUNNING", "PARTIAL", "QUEUED")
    result = {**ids, "reportedAt": stamp, "producer": agent, "status": status, "output": {"x": chance.body()}}
    result |= {"constitutionalEvidence": evidence} | chance.pick({}, {"metrics": {"tokens": 12}})
    receipt = {"messageId": UUIDS[0], "correlationId": UUIDS[1], "status": chance.pick("ACK", "NACK"), "reason": "full"}
    return _dump(chance, chance.pick(task, task, result, result, receipt))


def space(chance: Chance) -> str:
    """A Space document of KickLang."""
    heads = (
        "content/meta:cell/0",
        "task/dispatch:T-7/001",
        "const/json:store",
        "task",
        "a/b:",
        " x/y:z",
        "note: inline",
    )
    parts = [f"{SIGIL}{chance.pick(*heads)}\n{chance.body()}" for _ in range(1 + chance.below(3))]
    return "\n".join(parts)


def kick(chance: Chance) -> str:
    """One envelope of KickLang."""
    kind, channel = chance.pick(
        ("Command", "command/x"), ("Info", "report/x"), ("Alert", "alert/x"), ("Query", "query/x")
    )
    stamp = f"2026-11-22T07:00:{10 + chance.below(50)}Z"
    value = {"id": chance.pick(*UUIDS), "timestamp": stamp, "sender": chance.pick(*NAMES), "type": kind}
    value |= {"receiver": chance.pick(*NAMES), "channel": SIGIL + channel, "content": space(chance)}
    return _dump(chance, value | ({"correlation_id": UUIDS[1]} if chance.often(0.4) else {}))


WIRES: tuple[Callable[[Chance], str], ...] = (nslip, csp, sstp, sap, kick)
