"""Small logs that keep and break each clause, a wire's in ``<wire>.logs``, each behind ``=== clause.verdict ...``."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory

TEXTS: dict[tuple[str, str], bytes] = {}
"""(wire, name) -> the log."""
_FOLDER = TemporaryDirectory(prefix="turnwire-clauses-")
CLAUSES = Path(_FOLDER.name)
"""The same as files, ``<wire>/<name>``."""

for path in sorted(Path(__file__).parent.glob("*.logs")):
    (CLAUSES / path.stem).mkdir()
    for log in re.split(rb"^=== ", path.read_bytes(), flags=re.MULTILINE)[1:]:
        names, _, text = log.partition(b"\n")
        for name in names.decode().split():
            TEXTS[path.stem, name] = text
            (CLAUSES / path.stem / name).write_bytes(text)
