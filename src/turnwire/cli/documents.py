"""What ``turnwire validate`` says of a record that is a document: every fault of strict reading, and what ``check``
finds, each at its line."""

from __future__ import annotations

from typing import NamedTuple

from turnwire.errors import DecodeError, Issue


class Told(NamedTuple):
    """A fault (severity "error") or an issue of a document: its line, from 1, and its byte in the document."""

    line: int
    offset: int
    severity: str
    reason: str
    text: str


def told(raw: bytes, faults: list[DecodeError], issues: list[Issue]) -> list[Told]:
    """All that is wrong with, and doubtful about, a document with these bytes, in the order of its lines. Issues, whose
    ``where`` is a line, are placed at its first byte."""
    found = [Told(one.line or 1, one.offset or 0, "error", str(one.reason), one.text) for one in faults]
    line, place = 1, 0
    for issue in sorted(issues, key=lambda issue: int(issue.where)):
        while line < int(issue.where):
            line, place = line + 1, raw.index(b"\n", place) + 1
        found.append(Told(line, place, issue.severity, str(issue.reason), issue.text))
    return sorted(found, key=lambda one: one.line)
