"""Marks of CSP/1: is what a scan refuses a damaged message, or ordinary text? [readings, Finding 3, CSP/1 9]

The rule itself is told in ``csp/_marks_py.py``; the scanners of both cores follow it, so that their rejects are
damaged messages and look-alikes only. What is here is for those who judge text that no scanner cut out.
"""

from __future__ import annotations

from turnwire.csp._marks_py import EXACT, NEAR, TEXT, survey
from turnwire.csp.spec import MAGIC

__all__ = ["begins_message", "csp_damage"]


def begins_message(raw: bytes, start: int = 0) -> bool:
    """Whether the line at ``start``, which says CSP/1 or nearly so, begins a message or a look-alike, damaged or not:
    the lines after it say so. Without them it is text, as in "CSP/1 only. Example:"."""
    newline = raw.find(b"\n", start)
    line = raw[start : len(raw) if newline < 0 else newline].removesuffix(b"\r")
    return survey(raw, start, len(raw), True, EXACT if line == MAGIC.encode() else NEAR) != TEXT


def csp_damage(raw: bytes) -> bool:
    """Whether the bytes of a reject are a damaged message (or the look-alike) rather than text."""
    return begins_message(raw)
