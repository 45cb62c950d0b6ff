"""Lines that look like the first of a CSP/1 message: the readable twin of ``_native/log/line_heads.pyx``."""

from __future__ import annotations

import re
from typing import Any

_MAGIC = re.compile(rb"^(?:\xef\xbb\xbf)?[ \t]*[Cc][Ss][Pp][ \t]*/[ \t]*[0-9]", re.MULTILINE)


def first_magic(data: Any, start: int, stop: int) -> int:
    """Where the first line of ``data[start:stop]`` begins that looks like the first of a CSP/1 message, or -1; a line
    begins at ``start``."""
    view = memoryview(data).cast("B")
    if not 0 <= start <= stop <= len(view):
        raise ValueError("start and stop must lie in the data")
    found = _MAGIC.search(bytes(view[start:stop]))
    return -1 if found is None else start + found.start()
