"""The shape in which the vectors describe records."""

from __future__ import annotations

from typing import Any

from turnwire import csp


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
