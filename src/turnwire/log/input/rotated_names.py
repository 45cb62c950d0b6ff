"""What rotated logs are called."""

from __future__ import annotations

import os
import re

ADDED = re.compile(r"[._-](?:\d[\d._:TZ-]*|old|prev|bak|save)")
"""What is added to a name."""
_COUNT = re.compile(r"[._-]\d{1,4}")
COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""How the names of compressed files end."""


def plain_name(name: str) -> str:
    """A name without the endings of compressed files."""
    for ending in COMPRESSED:
        name = name.removesuffix(ending)
    return name


def is_like(name: str, base: str) -> bool:
    """Whether a file is called as a rotated ``app.log`` is: ``app.log.1``, ``app.log-20260101.gz``, ``app-1.log``."""
    stem, ending = os.path.splitext(base)
    plain = plain_name(name)
    if plain.startswith(base):
        return ADDED.fullmatch(plain, len(base)) is not None
    if not (ending and plain.endswith(ending) and plain.startswith(stem)):
        return False
    return ADDED.fullmatch(plain, len(stem), len(plain) - len(ending)) is not None


def is_counted(path: str, name: str) -> bool:
    """Whether a file is called ``app.log.1`` or ``app-1.log``, compressed or not, as tools count what they rotate."""
    plain, base = plain_name(os.path.basename(path)), os.path.basename(name)
    stem, ending = os.path.splitext(base)
    return any(
        plain.startswith(first) and plain.endswith(last) and _COUNT.fullmatch(plain, len(first), len(plain) - len(last))
        for first, last in ((base, ""), (stem, ending))
    )
