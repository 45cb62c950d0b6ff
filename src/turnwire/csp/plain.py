"""A record of CSP/1 as plain JSON values."""

from __future__ import annotations

from typing import Any


def plain(message: Any) -> dict[str, Any]:
    """The header, and the block with its id and fields; of a template its flags, mode and lines."""
    if not hasattr(message, "block"):  # a Template
        return {"flags": list(message.flags), "mode": message.mode, "lines": list(message.lines)}
    block = message.block
    head = {"from": message.sender, "to": message.receiver, "ctx": message.ctx, "intent": str(message.intent)}
    body: dict[str, Any] = {"block": block.kind, "id": block.id}
    if block.kind == "PATCH":
        ops = [{name: value for name, value in op._asdict().items() if value is not None} for op in block.ops]
        return {**head, **body, "base": block.base, "ops": ops, "apply": block.apply}
    if hasattr(block, "op"):
        body["op"] = block.op
    names = [name for name, _ in block.fields]
    if len(set(names)) == len(names) and not {*head, "block", "id", "op"} & {name.lower() for name in names}:
        return {**head, **body, **{name.lower(): value for name, value in block.fields}}
    return {**head, **body, "fields": [list(pair) for pair in block.fields]}
