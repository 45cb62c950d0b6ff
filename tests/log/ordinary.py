"""Ordinary text of many kinds, none of which holds a message of any wire: ``ordinary.logs``, and its objects."""

from __future__ import annotations

import json
from pathlib import Path

from tests.clauses import parts

TEXTS = {name: text.decode() for name, text in parts(Path(__file__).with_suffix(".logs"))}
_LINES = TEXTS.pop("objects").splitlines()
TEXTS["json"] = "".join(f"INFO {line}\n{line}{line}\n[{line}]\n" for line in _LINES)
_PRETTY = (json.dumps(json.loads(line), indent=2, ensure_ascii=False) for line in _LINES)
TEXTS["pretty_json"] = "".join(f"INFO {text}\n" for text in _PRETTY)
TORN = [f"INFO {line[:size]}\n" for line in _LINES for size in range(17, len(line), 17)]
