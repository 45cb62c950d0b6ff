"""An nSLIP message as plain JSON values."""

from __future__ import annotations

from typing import Any

from turnwire.nslip.messages import SlipMessage


def plain(message: SlipMessage) -> dict[str, Any]:
    """Act and frame by name, the header, each slot by name."""
    fields: dict[str, Any] = dict(message.to_dict())
    head = {name: fields.pop(name) for name in ("act", "frame", "conv_id", "src", "dst", "turn")}
    slots = {name.lower(): value for name, value in fields.pop("slots").items()}
    return {**head, **slots, **fields}
