"""Parts of one line of a program, as container engines cut it: CRI's ``P`` parts, Docker's parts of 16 KiB."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from turnwire import _backend
from turnwire.framing._times_py import read_time
from turnwire.framing.lines import Assembly, Block, Piece

__all__ = ["LEAST_DOCKER", "Joined", "Part", "cri_part", "docker_part", "joined"]

_core = _backend.load("json.lines")

LEAST_DOCKER = (16 << 10) - 3
"""Bytes of the shortest part that Docker cuts off: 16 KiB, less what a character may lack that was across the cut."""

CRI = re.compile(
    rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"
    rb" (stdout|stderr) ([PF])(?::[^ \r\n]*)?(?: |(?=\r?(?:\n|\Z)))"
)
"""The head of a line of CRI: time, stream, and tags, of which the first says whether it is a part."""

_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_MEMBER = re.compile(
    rb'[ \t]*"([^"\\\n]*+)"[ \t]*:[ \t]*'
    rb"(?:(" + _STRING + rb")|\{(?:[^{}\[\]\"\n]|" + _STRING + rb')*+\}|[^ \t\r\n,{}\[\]"]++)[ \t]*([,}])'
)
_END = re.compile(rb"[ \t]*\r?\n?\Z")
_LOG = re.compile(rb'"log"[ \t]*:')
_STREAMS = (b'"stdout"', b'"stderr"', None)


class Part(NamedTuple):
    """One line of a program, or a part of one. stream: whose it is; goes_on: whether the rest is in the next line."""

    stream: bytes | None
    goes_on: bool
    piece: Piece
    time: int | None


Read = Callable[[Block, int, int], "Part | None"]
"""(block, line, behind it) -> what that line is, or None for any other line."""


def cri_part(block: Block, line: int, behind: int) -> Part | None:
    """A line of CRI."""
    head = CRI.match(block.view, line, behind)
    if head is None:
        return None
    goes_on = head[2] == b"P"
    # The line end behind a part is CRI's, not the program's.
    text = block.text(head.end(), behind) if goes_on else block.view[head.end() : behind].tobytes()
    return Part(head[1], goes_on, Piece(line, behind, head.end(), text), None)


def docker_part(block: Block, line: int, behind: int) -> Part | None:
    """A line of Docker's json-file: an object with ``log``, its further members flat, one of each name."""
    if _LOG.search(block.view, line, behind) is None:
        return None
    members: dict[bytes, tuple[int, bytes | None]] = {}
    place = line
    while block.view[place] in b" \t":
        place += 1
    if block.view[place] != 0x7B:
        return None
    last = b","
    place += 1
    while last == b",":
        member = _MEMBER.match(block.view, place, behind)
        if member is None or member[1] in members:
            return None
        members[member[1]] = member.start(2), member[2]
        place, last = member.end(), member[3]
    start, literal = members.get(b"log", (0, None))
    stream = members.get(b"stream", (0, None))[1]
    if literal is None or stream not in _STREAMS or _END.match(block.view, place, behind) is None:
        return None
    span = literal[1:-1]
    text: bytes = _core.plain(span) if b"\\" in span else span
    stamp = members.get(b"time", (0, None))[1]
    time = None if stamp is None else read_time(stamp[1:-1])
    goes_on = len(text) >= LEAST_DOCKER and not text.endswith(b"\n")
    piece = Piece(line, behind, start + 1, text, span if text != span else None)
    return Part(stream, goes_on, piece, None if time is None else time[0])


class Joined(NamedTuple):
    """The pieces of one line of a program; done: whether nothing follows that could belong to them; behind: the line
    behind the last one that was looked at."""

    pieces: list[Piece]
    done: bool
    behind: int
    time: int | None


def joined(block: Block, line: int, read: Read, stream: bytes | None, claimed: set[int]) -> Joined:
    """The line of a program that begins with the first line of its stream from ``line`` on. Lines of other streams, and
    those that are ``claimed`` (their starts), are passed over; any other line ends what is cut off."""
    pieces: list[Piece] = []
    time: int | None = None
    size = foreign = 0
    place = line
    while place < block.stop:
        behind = block.line_end(place)
        if behind - place > block.reach:  # by its bytes, so that it is the same before its end is there
            return Joined(pieces, True, place, time)
        if not block.ended(behind):
            return Joined(pieces, False, place, time)
        part = read(block, place, behind)
        own = part is not None and part.stream == stream and place not in claimed
        if part is None or (not own and foreign + behind - place > block.limit):
            return Joined(pieces, True, place, time)
        if own:
            if size > block.limit:
                return Joined(pieces, True, place, time)
            size += len(part.piece.text)
            time = time if pieces else part.time
            pieces.append(part.piece)
            if not part.goes_on:
                return Joined(pieces, True, behind, time)
        else:
            foreign += behind - place
        place = behind
    return Joined(pieces, block.final, place, time)


def assembled(block: Block, kind: str, found: Joined) -> Assembly:
    """The assembly of a line that was cut into parts."""
    time = block.time(found.pieces[0].line) if kind == "cri" else found.time
    return Assembly(kind, found.pieces, time)
