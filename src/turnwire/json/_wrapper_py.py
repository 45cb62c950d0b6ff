"""What logs wrap messages in, in plain Python: the readable twin of ``_native/json/wrapper.h``.

Docker writes ``{"log": ..., "time": "2026-..."}``, journald ``{"MESSAGE": ..., "__REALTIME_TIMESTAMP": "micros"}``
and MESSAGE as an array of numbers where it is not UTF-8. Everything here reads good JSON only.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.framing._times_py import head_time, read_time

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*)"|[{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'[ \t\r\n]*:[ \t\r\n]*"((?:[^"\\]|\\.)*)"', re.DOTALL)
_DIGITS = re.compile(rb"[0-9]{1,18}")
_BYTES = re.compile(rb"[ \t\r\n]*:[ \t\r\n]*(\[)[ \t\r\n]*((?:[0-9 \t\r\n]*,)*[0-9 \t\r\n]*)\]")
_NUMBER = re.compile(rb"[0-9]+")


def member_time(key: bytes, value: bytes) -> int | None:
    """The time that a member of a wrapper says, in microseconds since 1970."""
    if key == b"time":
        found = read_time(value)
        return found[0] if found is not None and found[1] == len(value) else None
    if key == b"__REALTIME_TIMESTAMP" and _DIGITS.fullmatch(value):
        return int(value)
    return None


def wrapper_time(raw: bytes, start: int) -> int | None:
    """The time that the good object at ``start`` gives in one of its own members."""
    depth, place = 0, start
    while True:
        token = _TOKEN.search(raw, place)
        assert token is not None, "the object is good JSON"
        place = token.end()
        if token[0] in (b"{", b"["):
            depth += 1
        elif token[0] in (b"}", b"]"):
            depth -= 1
            if not depth:
                return None
        elif depth == 1:
            value = _VALUE.match(raw, place)
            if value is not None:
                place = value.end()
                time = member_time(token[1], value[1])
                if time is not None:
                    return time


def message_bytes(raw: bytes, behind: int) -> tuple[int, int, int] | None:
    """The places of the array of bytes that is the value of the key which ends at ``behind``: its bracket, its
    first number, its closing bracket. None where its value is anything else."""
    found = _BYTES.match(raw, behind)
    if found is None:
        return None
    numbers = [number.strip() for number in found[2].split(b",")]
    if not all(number.isdigit() and len(number) <= 3 and int(number) <= 255 for number in numbers):
        return None
    return found.start(1), found.start(2), found.end() - 1


def bytes_said(span: bytes) -> bytes:
    """What the numbers of an array of bytes say."""
    return bytes(map(int, _NUMBER.findall(span)))


class Numbers:
    """Places in what an array of bytes says -> places in the array as written: as ``rows.Written``."""

    def __init__(self, span: bytes) -> None:
        self.starts = [match.start() for match in _NUMBER.finditer(span)]
        self.size = len(span)

    def place(self, at: int) -> int:
        """Where the number of the byte at ``at`` is."""
        return self.starts[at] if at < len(self.starts) else self.size


class Times:
    """Where the time of a record without one of its own is: a part of the class that scans lines."""

    data: bytes
    head: int
    head_known: int
    head_time: int

    def line_head(self) -> None:
        """Looks for the time at the head of the line."""
        end = self.data.find(b"\n", self.head)
        time = head_time(self.data[self.head : len(self.data) if end < 0 else end][:256])
        self.head_known, self.head_time = (2, 0) if time is None else (1, time)

    def time_at_head(self, region: Any, at: int) -> int | None:
        """What is closest around the record at ``at`` of a region."""
        if region.level:
            first = region.raw.rfind(b"\n", 0, at) + 1
            time = head_time(region.raw[first : region.end][:256])
            if time is not None:
                return time
        around = region
        while around is not None:
            if around.around >= 0:
                if around.moment is False:
                    around.moment = wrapper_time(around.raw, around.around)
                if around.moment is not None:
                    return int(around.moment)
            around = around.outer
        if not self.head_known:
            self.line_head()
        return self.head_time if self.head_known == 1 else None
