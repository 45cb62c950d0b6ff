"""Lines that belong together, read in one go: the twin of ``_native/framing/prefixed.pyx``.

What that leaves open is read by ``framing/prefixes.py`` and ``parts.py``, which are in Python for both cores
and find the same. So a quick way in Python would save nothing.
"""

from __future__ import annotations

from typing import Any


def message(
    data: Any, line: int, stop: int, final: bool, limit: int
) -> tuple[str, int, int | None, bytes, bytes] | None:
    """None: by a quick look nothing is sure. See the native twin."""
    if not 0 <= line < stop <= len(memoryview(data).cast("B")) or limit < 0:
        raise ValueError("line and stop must lie in the data, and limit is a number of bytes")
    return None


parts = message
"""The same of a line that CRI cut."""
