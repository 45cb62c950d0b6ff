"""Templates and look-alikes of CSP/1 behind something that is in front of their lines: which lines they have.

A template is ``CSP/1;`` or ``CSP/1 MODE;`` with its flags; the Compact Symbol Protocol begins like one, or like a
message. What such lines are is judged as at the start of a line (``csp/_marks_py.py``). Prose is text: a
template needs a prefix that is not a sentence, a look-alike what betrays it.
"""

from __future__ import annotations

import re

from turnwire.csp._marks_py import (
    EXACT,
    LOOK_ALIKE,
    LOOK_BYTES,
    LOOK_LINES,
    MOST_FLAGS,
    NEAR,
    are_flags,
    classify_magic_line,
    has_title,
)
from turnwire.csp._marks_py import TEMPLATE as TEMPLATE_LINE
from turnwire.csp.spec import LOOK_ALIKE_KEYS
from turnwire.fences import is_fence
from turnwire.framing.lines import MOST_PREFIX

__all__ = ["MOST_LINE", "Alike", "is_one", "template_at"]

_HEAD = re.compile(rb"(?:(?<=[ \t>|:\]])|\A)CSP/1(?: MODE)?;")
_FLAGS = re.compile(rb"CSP/1(?: MODE)?;([^\r\n]*)")
_OWN = re.compile(rb"[A-Z][A-Z0-9_]*(?![A-Za-z0-9_])|- ")
_KEY = re.compile(rf"(?:{'|'.join(LOOK_ALIKE_KEYS)})(?![A-Za-z0-9_])".encode())
_RECORD = re.compile(rb"@[A-Za-z][0-9A-Za-z]*\||\{|CSP/1|```|~~~")
MOST_LINE = MOST_PREFIX + len(b"CSP/1 MODE;") + MOST_FLAGS + len(b"\r\n")
"""Bytes of the longest line that is looked at."""


def template_at(line: bytes) -> int:
    """Where a template begins in a line, or -1."""
    found = _HEAD.search(line, 0, MOST_LINE)
    return -1 if found is None else found.start()


def is_one(text: bytes, prefix: bytes, exact: bool) -> bool:
    """Whether the lines are a template or a look-alike. prefix: what was in front of the first one; exact: whether
    that says ``CSP/1`` and no more."""
    last = prefix.rstrip(b" \t")[-1:]
    prose = last.isalnum() or last >= b"\x80"
    kind = NEAR if prose else EXACT if exact else TEMPLATE_LINE  # in a sentence one line betrays nothing
    if classify_magic_line(text, 0, len(text), True, kind) == LOOK_ALIKE:
        return True
    flags = _FLAGS.match(text)
    return flags is not None and are_flags(flags[1]) and not prose


class Alike:
    """Which lines belong to what begins with a line. plain: whether only white space and marks of quotes are in front
    of it, so that any line may follow, as at the start of lines."""

    def __init__(self, first: bytes, exact: bool, plain: bool) -> None:
        flags = _FLAGS.match(first)
        self.may_be = exact or (flags is not None and (are_flags(flags[1]) or has_title(first)))
        self._plain = plain and not exact
        self._blank = False
        self._lines, self._size = 0, len(first)

    def own(self, line: bytes, bare: bool) -> bool:
        """Whether a line that is not blank can be one of them. bare: whether it has nothing in front, as the first one
        has: most such lines are other records of the log."""
        if bare:
            return _KEY.match(line) is not None or has_title(line)
        if self._plain and not self._blank and not line.startswith((b" ", b"\t")):
            return b"CSP/1" not in line and not is_fence(line)
        return (_OWN.match(line) is not None or has_title(line)) and _RECORD.search(line) is None

    def takes(self, line: bytes) -> bool:
        """Whether there is room for a further line."""
        self._lines += 1
        self._size += len(line) + 1
        self._blank = self._blank or not line.strip(b" \t\r")
        return self._lines <= LOOK_LINES and self._size <= LOOK_BYTES
