"""A message of any wire as plain JSON values: what the reference formats carry."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from turnwire.contract import WIRES
from turnwire.errors import EncodeError, Reason
from turnwire.registry import decode, encode, wire_of


def messages_of(given: Any) -> list[Any]:
    """Messages from one message, its text, or an iterable of these. Raises DecodeError, EncodeError(wrong_type)."""
    alone = isinstance(given, (str, bytes, bytearray, memoryview)) or wire_of(given) is not None
    if not alone and not isinstance(given, Iterable):
        raise EncodeError(Reason.WRONG_TYPE, f"{type(given).__name__} is no message of {', '.join(WIRES)}")
    found = [given] if alone else list(given)
    made = [decode(each) if isinstance(each, (str, bytes, bytearray, memoryview)) else each for each in found]
    for each in made:
        if wire_of(each) is None:
            raise EncodeError(Reason.WRONG_TYPE, f"{type(each).__name__} is no message of {', '.join(WIRES)}")
    return made


def text_of(message: Any) -> str:
    """A message in its own wire, as it was read."""
    return encode(message, strict=False)


def plain(message: Any) -> dict[str, Any]:
    """All that a message says, as JSON values with names: an object a reader needs no other document for.

    nSLIP: act and frame by name, the header, each slot by name. CSP/1: the header, the block with its id and fields.
    SSTP, SAP and KickLang are JSON on the wire: their own objects.
    """
    wire = wire_of(message)
    if wire == "nslip":
        fields: dict[str, Any] = dict(message.to_dict())
        head = {name: fields.pop(name) for name in ("act", "frame", "conv_id", "src", "dst", "turn")}
        slots = {name.lower(): value for name, value in fields.pop("slots").items()}
        return {**head, **slots, **fields}
    if wire == "csp":
        return _csp(message)
    fields = json.loads(text_of(message))
    return fields


def _csp(message: Any) -> dict[str, Any]:
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
    if len(set(names)) == len(names) and not {"block", "id", "op"} & {name.lower() for name in names}:
        return {**head, **body, **{name.lower(): value for name, value in block.fields}}
    return {**head, **body, "fields": [list(pair) for pair in block.fields]}
