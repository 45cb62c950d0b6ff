"""Memos in a bulk scan."""

import re

from turnwire.contract import Column, TextPlan

from .codec import Memo, damaged

PLAN = TextPlan(
    opening=(b"MEMO ",),
    whole=re.compile(rb"MEMO [a-z]+\r?\n(?:(?!END[\r\n]|MEMO ).*\n)*END(?=[\r\n]|\Z)", re.MULTILINE),
    columns=(
        Column("sender", "text"),
        Column("lines", "u64"),
        Column("urgency", "enum", names=("calm", "urgent")),
        Column("first", "text", nullable=True),
    ),
    common={"kind": "urgency", "sequence": "lines", "subject": "first"},
    values=lambda message: values(message),
    damaged=damaged,
)


def values(message: Memo) -> dict[str, object]:
    """The columns of a memo."""
    lines = message.text.splitlines()
    return {
        "sender": message.sender,
        "lines": len(lines),
        "urgency": "urgent" if message.text.isupper() else "calm",
        "first": lines[0] if lines else None,
    }
