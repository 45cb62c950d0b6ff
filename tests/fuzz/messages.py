"""Messages of the usual form of each wire, which the quickest code reads, at the edges of tables of characters."""

from __future__ import annotations

import json
from pathlib import Path

MESSAGES: dict[str, tuple[str, ...]] = {}
"""By wire. Words and numbers begin and end with the first and the last of their letters and digits: what is beside each
of them in the table of characters is none any more."""
for line in (Path(__file__).parent / "messages.jsonl").read_text("utf-8").splitlines():
    message = json.loads(line)
    MESSAGES[message["wire"]] = (*MESSAGES.get(message["wire"], ()), message["text"])
