"""Small logs that keep and break each clause, a wire's in ``<wire>.logs``, each behind ``=== clause.verdict ...``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

TEXTS: dict[tuple[str, str], bytes] = {}
"""(wire, name) -> the log."""
_FOLDER = TemporaryDirectory(prefix="turnwire-clauses-")
CLAUSES = Path(_FOLDER.name)
"""The same as files, ``<wire>/<name>``."""


def parts(path: Path) -> Iterator[tuple[str, bytes]]:
    """The texts of a file, with the line behind ``===`` that each stands below."""
    for part in re.split(rb"^=== ", path.read_bytes(), flags=re.MULTILINE)[1:]:
        head, _, text = part.partition(b"\n")
        yield head.decode(), text


for path in sorted(Path(__file__).parent.glob("*.logs")):
    (CLAUSES / path.stem).mkdir()
    for names, text in parts(path):
        for name in names.split():
            TEXTS[path.stem, name] = text
            (CLAUSES / path.stem / name).write_bytes(text)
