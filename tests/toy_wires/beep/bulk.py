"""Beeps in a bulk scan."""

import re

from turnwire.contract import Column, TextPlan

from .codec import damaged

PLAN = TextPlan(
    opening=(b"~",),
    whole=re.compile(rb"~[a-z]+>[a-z]+:[^~\n]*~"),
    columns=(Column("sender", "text"), Column("receiver", "text"), Column("text", "text")),
    common={"subject": "text"},
    damaged=damaged,
)
