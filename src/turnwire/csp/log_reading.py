"""What is in a log of CSP/1: the good records as a document, and what is wrong with the damaged ones."""

from __future__ import annotations

from collections.abc import Iterator
from glob import glob
from os import PathLike
from typing import Any, NamedTuple

from turnwire.contract import LIMITS, Limits, checked_limits, record_bytes
from turnwire.csp.codec import preambles
from turnwire.csp.faults import issue, type_fault
from turnwire.csp.messages import CspMessage, Document, Record
from turnwire.csp.spec import WIRE
from turnwire.csp.surroundings import Surroundings
from turnwire.errors import DecodeError, Reason
from turnwire.registry import reading


class Log(NamedTuple):
    """What is in a log: its good records as a document, and what is wrong with each that is damaged."""

    document: Document
    damaged: list[DecodeError]


def read_log(source: Any, *, limits: Limits = LIMITS) -> Log:
    """What is in a log: the good records, and what is wrong with each that is damaged.

    source: the text or the bytes of a log, or what :func:`turnwire.scan` takes: a path, a glob, a file, a list of them,
    one after the other. A str is a name where it is one line and there is such a file. Messages and templates are those
    that a scan finds, wherever they are, preambles are lines of their own, or are in
    front of a message in its string or behind its prefix; other text is passed over. A message that
    an unclosed heredoc would have swallowed carries the issue ``inside_unclosed_heredoc``, so that neither ``encode``
    nor a store takes it.
    Raises ValueError for 2 GiB or more, DecodeError(wrong_type) for what cannot be read.
    """
    checked_limits(limits)
    records: list[Record] = []
    damaged: list[DecodeError] = []
    for raw in _parts(source, limits):
        good, bad = _read_part(raw, limits)
        records += good
        damaged += bad
    return Log(Document(records), damaged)


def names_files(source: Any) -> bool:
    """Whether what is given says where a log is, and is none itself; a str where it is one line and such a file is
    there."""
    if isinstance(source, str):
        return "\n" not in source and "\0" not in source and bool(glob(source, recursive=True))
    return isinstance(source, (PathLike, list, tuple)) or hasattr(source, "read")


def _parts(source: Any, limits: Limits) -> Iterator[bytes]:
    """The bytes of each input."""
    if names_files(source):
        for _, raw in reading("contents").contents(source, limits=limits):
            yield raw
        return
    raw = record_bytes(source)
    if raw is None:
        raise type_fault(source)
    yield raw


def _read_part(raw: bytes, limits: Limits) -> tuple[list[Record], list[DecodeError]]:
    located = reading("located")
    several = list(located.pieces(raw, WIRE, limits=limits))
    beside, damaged = preambles(raw, limits)
    for there, wrong in Surroundings(located.Found(raw, several)).preambles_elsewhere():
        beside += there
        damaged += wrong
    records: list[Record] = [record for _, _, record in beside]
    for one in (one for piece in several for one in (*(piece.rejects if piece.batch is None else ()), *piece)):
        if one.error is not None:
            damaged.append(one.error)
            continue
        record = one.message
        record.line = one.line
        if one.doubtful and isinstance(record, CspMessage):
            record.issues = (issue(Reason.INSIDE_UNCLOSED_HEREDOC, one.line),)
        records.append(record)
    records.sort(key=lambda record: record.line or 0)
    return records, sorted(damaged, key=lambda error: error.offset or 0)
