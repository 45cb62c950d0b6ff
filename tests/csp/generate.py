"""Random CSP/1 text, mostly valid, with everything that has ever confused a reader of it."""

from __future__ import annotations

import random
from typing import Any

from turnwire import csp
from turnwire.contract import LIMITS
from turnwire.csp.records import StrictReader

GOOD_BLOCKS = {
    "TASK": ["TASK T001", "REQ find auth", "IN SRC,LIB", "OUT FILE_REFS", "OWNER CODE_EXP", "PRIORITY P1"],
    "RESULT": ["RESULT T001", "STATUS OK", "PRODUCED F1", "DATA src/a.ts:2-7;b:1"],
    "ERROR": ["ERROR E001", "AT T001", "CAUSE none", "NEXT try"],
    "PATCH": ["PATCH P001", "BASE C0", "+ DEF A = b", "~ DEF B_1 := c", "- DEF _C", "APPLY -> C1"],
    "FILE": ["FILEOP F001 PATCH", "PATH src/x y.ts", "BASE abc", "CONTENT", "<<<", "@@ -1 +1 @@", "+n", ">>>"],
    "PLAN": ["PLAN L1", "STEP 1 go", "STEP 2 stop"],
    "QUERY": ["QUERY q", "ASK where", "IN SRC"],
    "MEM": ["MEM M1", "KEY a", "VALUE_2", "<<<<", ">>>", "CSP/1", "FROM EVIL", "", ">>>>"],
}
ODD_LINES = [
    *("", " ", "\t", "CSP/1", "CSP/2", "csp/1", "CSP/1 ", " CSP/1", "\ufeffCSP/1", "CSP/1;a;b", "CSP/1 MODE;x"),
    *("```", "```csp", "FROM A", "FROM  A", "FROM", "TO B C", "TO \x7fB", "CTX C\u00e9", "INTENT TASK"),
    *("INTENT FILEOP", "INTENT DO", "INTENT TASKTASKTASK", "TASK T1", "TASK X1", "TASK", "TASK T1 ", "RESULT T12"),
    *("ERROR E1", "PATCH P", "FILEOP F1", "FILEOP F1 ", "FILEOP F1 patch", "FILEOP X1 PATCH", "FILEOP F1 CREATE x"),
    *("PLAN", "PLAN a b", "MEM \u00fc", "REQ x", "REQ", "REQ ", "IN  y", "PRIORITY P9", "PRIORITY", "STATUS OK"),
    *("STATUS DONE", "STATUS PARTIAL", "STATUS FAIL", "SCOPE x", "READ_RECS", "STATUSES", "PRIORITYX 1"),
    *("PRODUCED", "PRODUCED1 x", "DATA", "DATA \u2028\x85x", "AT T1", "CAUSE", "NEXT n", "PATH p", "BASE C0"),
    *("BASE x", "BASE", "CONTENT", "CONTENT inline", "APPLY -> C2", "APPLY C1", "APPLY -> X", "APPLY"),
    *("+ DEF A = 1", "+ DEF A =", "+ DEF A := 1", "+ DEF A", "+ DEF A ", "+ DEF a = 1", "+ DEFA", "+ DEF A  = 1"),
    *("~ DEF A := 1", "~ DEF A := ", "~ DEF A = 1", "- DEF A", "- DEF A ", "- DEF A = 1", "- DEF A x"),
    *("* DEF A = 1", "-", "+", "DEF A = 1", "DEF A =", "DEF a = 1", "DEF A=1", "DEF A = \u00e9", "LAWS"),
    *("- L1: only", "- L12:", "- Lx: y", "- L1 x", "<<<", "<<<<", "<<", "<<<-", "<<< ", ">>>", ">>>>", ">>> "),
    *(">>", ">>>>>", "<<<<<", "free prose", "Free", "I am", "K_1 v", "UNKNOWN_KEY_THAT_IS_LONG v", "x" * 70),
    *("A" * 70, "\r", "a\rb", "REQ v\r", "\x00", "DATA \x00"),
]
EOLS = ["\n", "\n", "\n", "\r\n"]


def document(seed: int, damage: float = 0.15) -> bytes:
    """One text; the same seed gives the same text."""
    rng = random.Random(seed)
    lines: list[str] = []
    for _ in range(rng.randrange(1, 7)):
        intent = rng.choice(list(GOOD_BLOCKS))
        lines += ["CSP/1", "FROM MAIN", "TO CODE_EXP", "CTX C0", f"INTENT {intent}", "", *GOOD_BLOCKS[intent]]
        lines += [""] * rng.randrange(3)
        if rng.random() < 0.2:
            lines += rng.choice(
                [["```", "DEF A = b", "", "LAWS", "- L1: x"], ["CSP/1;!prose;DATA ONLY", "TASK REQ:x", ""], ["```"]]
            )
    result = b""
    usual = rng.choice(EOLS)
    rate = rng.choice([0.0, damage, damage / 4])
    for line in lines:
        draw = rng.random()
        if draw < rate:
            kind = rng.randrange(4)
            if kind == 0:
                continue
            if kind == 1:
                line = rng.choice(ODD_LINES)
            elif kind == 2:
                result += (rng.choice(ODD_LINES) + usual).encode()
            else:
                result += (line + usual).encode()
        result += (line + (usual if rng.random() > rate / 5 else rng.choice(EOLS))).encode()
    if rng.random() < 0.3:
        result = result[: rng.randrange(len(result) + 1)]
    if rng.random() < 0.1 and result:
        at = rng.randrange(len(result))
        result = result[:at] + bytes([rng.randrange(256)]) + result[at + 1 :]
    return result


def shape(record: Any) -> dict[str, Any]:
    if isinstance(record, csp.Junk):
        return {"kind": "junk", "line": record.line, "text": record.text}
    if isinstance(record, csp.Template):
        return {"kind": "template", "flags": record.flags, "lines": record.lines}
    if isinstance(record, csp.Preamble):
        return {"kind": "preamble", "defs": record.defs, "laws": record.laws}
    block = record.block
    body: dict[str, Any] | None = None
    if block is not None:
        body = {"kind": block.kind, "id": block.id}
        if isinstance(block, csp.FileOp):
            body["op"] = block.op
        if isinstance(block, csp.Patch):
            body |= {"base": block.base, "ops": [list(op) for op in block.ops], "apply": block.apply}
        else:
            body["fields"] = [list(field) for field in block.fields]
    head = {"from": record.sender, "to": record.receiver, "ctx": record.ctx, "intent": record.intent}
    return {"kind": "message", **head, "block": body}


def kept(store):
    """All that a store holds: the log, every checkpoint, and the head."""
    return store.log, [store.at(name) for name in store.checkpoints], store.head


class Walk(StrictReader):
    """All that is in a text: also what is behind a fault. rejects: (start, stop, reason, fault)."""

    def __init__(self, raw, limits, core):
        super().__init__(raw, limits, core)
        self.rejects = []

    def reject(self, reason, start, stop, fault):
        self.rejects.append((start, stop, str(reason), fault))
        return stop

    def repeated(self, reason, offset, line):
        self.rejects.append((offset, offset, str(reason), offset))


def walked(core, data, limits=None):
    """(records, rejects) of a text by a core: each record with its place and line.

    limits: bytes of a message, fields of a generic block, bytes of a key.
    """
    bounds = LIMITS if limits is None else LIMITS._replace(message=limits[0], fields=limits[1], key=limits[2])
    walk = Walk(data, bounds, core)
    walk.read()
    records = [(*place, one.line, repr(one)) for place, one in zip(walk.places, walk.records, strict=True)]
    return records, walk.rejects
