"""What answers what in SAP: a Task the Result with the same correlation id."""

from __future__ import annotations

from turnwire.pairs import Rule, Way, conversation

PAIRS = (Rule("task", frozenset({"Task"}), (Way(frozenset({"Result"}), conversation, conversation),)),)
