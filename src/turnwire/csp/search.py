"""CSP/1 messages in plain text, and all records of a file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from turnwire.csp.codec import decode, parse
from turnwire.csp.messages import CspMessage, Junk
from turnwire.errors import DecodeError, Reason
from turnwire.fences import is_fence

_MAGIC_LINE = re.compile(r"^CSP/1\r?$", re.MULTILINE)


def search(text: str) -> Iterator[tuple[CspMessage, int, int]]:
    """Each message in ``text`` with its start and end, in order."""
    if _MAGIC_LINE.search(text) is None:
        return
    try:
        records = parse(text, mode="lenient").records
    except DecodeError:
        return
    starts = [0, *(match.end() for match in re.finditer("\n", text))]
    lines = [record.line for record in records]
    for record, line, following in zip(records, lines, [*lines[1:], len(starts) + 1], strict=True):
        if not isinstance(record, CspMessage):
            continue
        start = starts[line - 1]
        end = starts[following - 1] if following <= len(starts) else len(text)
        try:
            message = decode(text[start:end])
        except DecodeError:
            continue
        yield message, start, start + len(text[start:end].rstrip())


def listed(data: bytes) -> Iterator[tuple[int, CspMessage | DecodeError]]:
    """Every record of a file with its line: a message, or why it is none."""
    try:
        records = parse(data, mode="lenient").records
    except DecodeError as error:
        yield error.line or 1, error
        return
    for record in records:
        if isinstance(record, CspMessage):
            doubts = record.issues
            bad = any(one.severity == "warning" for one in doubts)
            yield record.line, DecodeError(doubts[0].reason, doubts[0].text, line=record.line) if bad else record
        elif not (isinstance(record, Junk) and is_fence(record.text)):
            kind = type(record).__name__.lower()
            reason = getattr(record, "reason", None) or Reason.NO_MESSAGE
            yield record.line, DecodeError(reason, f"this is a {kind}, no message", line=record.line)
