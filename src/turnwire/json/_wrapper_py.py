"""Wrappers that loggers put around messages, in plain Python: the readable twin of ``_native/json/wrapper.h``.

Docker writes ``{"log": ..., "time": "2026-..."}``, journald ``{"MESSAGE": ..., "__REALTIME_TIMESTAMP": "micros"}``
and MESSAGE as an array of numbers if it is not UTF-8, other loggers a member of ``TIME_NAMES``. Everything here
reads good JSON only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from turnwire.json.times import read_time

TIME_NAMES = (
    b"time",
    b"timestamp",
    b"ts",
    b"@timestamp",
    b"t",
    b"date",
    b"datetime",
    b"eventTime",
    b"requestReceivedTimestamp",
    b"__REALTIME_TIMESTAMP",
    b"timeUnixNano",
    b"startTimeUnixNano",
    b"_time",
)
"""Members that are a time, the first of them before the others: those of common loggers and collectors."""

_PIECES = '"stream"', '"__REALTIME_TIMESTAMP"', '"\\u'
_PIECES_IN_BYTES = b'"stream"', b'"__REALTIME_TIMESTAMP"', b'"\\u'
_RANKS = {name: rank for rank, name in enumerate(TIME_NAMES)}
_TOKEN = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"|[{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'[ \t\r\n]*:[ \t\r\n]*(?:"((?:[^"\\]|\\.)*)"|([0-9.]+)(?![0-9.eE]))', re.DOTALL)
_EPOCH = re.compile(rb"([1-9][0-9]{8,18})(?:\.([0-9]+))?")
_BYTES = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(\[)[ \t\r\n]*((?:[0-9 \t\r\n]*,)*[0-9 \t\r\n]*)\]")
_NUMBER = re.compile(rb"[0-9]+")


def may_be_piece(text: Any) -> bool:
    """True if lines (str or bytes) may be Docker's or journald's, whose values are pieces of another text: by their
    keys, or by a key that begins with an escape."""
    docker, journald, escape = _PIECES if isinstance(text, str) else _PIECES_IN_BYTES
    return docker in text or journald in text or escape in text


def epoch(text: bytes) -> int | None:
    """Microseconds of a time in seconds, milliseconds, microseconds or nanoseconds since 1970.

    The number of digits before the point says which. Fewer than nine are no time, since they would be in the
    first years. The rest after microseconds is cut.
    """
    found = _EPOCH.fullmatch(text)
    if found is None:
        return None
    digits = len(found[1])
    kept = digits + (6 if digits < 12 else 3 if digits < 15 else 0 if digits < 18 else -3)
    return int((found[1] + (found[2] or b"")).ljust(kept, b"0")[:kept])


def strings_in(raw: bytes, start: int, deepest: int) -> Iterator[tuple[int, re.Match[bytes]]]:
    """The strings of the good object at ``start``, keys and values, each with how many objects and lists it is in, up
    to ``deepest``."""
    depth = 0
    for token in _TOKEN.finditer(raw, start):
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if not depth:
                return
        elif depth <= deepest:
            yield depth, token


def wrapper_time(raw: bytes, start: int) -> int | None:
    """The time that the good object at ``start`` gives in one of its members, or in those of an object in it."""
    best, time = 2 * len(TIME_NAMES), None
    for depth, token in strings_in(raw, start, 2):
        if token[1] not in _RANKS or (value := _VALUE.match(raw, token.end())) is None:
            continue
        rank = _RANKS[token[1]] + (depth - 1) * len(TIME_NAMES)
        if rank < best and (said := _member_time(value[1], value[2])) is not None:
            best, time = rank, said
            if not best:
                break
    return time


def _member_time(text: bytes | None, number: bytes | None) -> int | None:
    """The time of a value as written: a string, or a number."""
    if text is None:
        return epoch(number or b"")
    found = read_time(text)
    return found[0] if found is not None and found[1] == len(text) else epoch(text)


def message_bytes(raw: bytes, behind: int) -> tuple[int, int, int] | None:
    """The places of the array of bytes that is the value of the key which ends at ``behind``: its bracket, its
    first number, its closing bracket. None if its value is anything else."""
    found = _BYTES.match(raw, behind)
    if found is None:
        return None
    numbers = [number.strip() for number in found[2].split(b",")]
    if not all(number.isdigit() and len(number) <= 3 and int(number) <= 255 for number in numbers):
        return None
    return found.start(1), found.start(2), found.end() - 1


def bytes_said(span: bytes) -> bytes:
    """The bytes that an array of numbers stands for."""
    return bytes(map(int, _NUMBER.findall(span)))


class Numbers:
    """Places in what an array of bytes says -> places in the array as written: as ``rows.EscapeMap``."""

    def __init__(self, span: bytes) -> None:
        self.starts = [match.start() for match in _NUMBER.finditer(span)]
        self.size = len(span)

    def place(self, at: int) -> int:
        """The offset of the number of the byte at ``at``."""
        return self.starts[at] if at < len(self.starts) else self.size
