"""What answers what in nSLIP: the next message back, from the receiver of an ASK or REQUEST to its sender in the
conversation; it settles every request that waits for it."""

from __future__ import annotations

from turnwire.pairs import Rule, Way, back, there

PAIRS = (Rule("ask", frozenset({"ASK", "REQUEST"}), (Way(None, there, back),), all_at_once=True),)
