"""Recognises the lines of code fences: CommonMark 0.31, section 4.5. Its native twin is common/fence.h.

A line begins as one with up to three spaces and three backticks or tildes, or more. It opens a fence if what follows
a run of backticks holds none; it closes one if its run is of the same sign, at least as long, and nothing follows.
"""

from __future__ import annotations

import re
from typing import AnyStr

BEGINNING = r" {0,3}(?:```|~~~)"
"""The beginning of such a line, as a part of a pattern."""
FENCE = re.compile(rb" {0,3}(`{3,}|~{3,})([^\n]*)\n?")
"""The whole line: its run, and what follows that."""
_BYTES = re.compile(BEGINNING.encode())
_TEXT = re.compile(BEGINNING)
_LINE = re.compile(FENCE.pattern.decode())


def is_fence(line: str | bytes) -> bool:
    """True if a line begins as those of code fences do."""
    return (_TEXT.match(line) if isinstance(line, str) else _BYTES.match(line)) is not None


def fence_after(fence: AnyStr, run: AnyStr, rest: AnyStr) -> AnyStr:
    """The run of the fence that is open after a line, empty for none. fence: the one that is open before it; run,
    rest: its own run, and what follows that, up to the end of the line."""
    if isinstance(rest, str):
        bare, tick = not rest.removesuffix("\r").strip(" \t"), "`" in rest and run[0] == "`"
    else:
        bare, tick = not rest.removesuffix(b"\r").strip(b" \t"), b"`" in rest and run[:1] == b"`"
    if not fence:
        return fence if tick else run
    return fence[:0] if bare and run.startswith(fence) else fence


def fence_behind(line: str, fence: str) -> str:
    """The run of the fence that is open after a line of text, "" for none; ``fence``: the one before it."""
    match = _LINE.fullmatch(line)
    return fence if match is None else fence_after(fence, match[1], match[2])
