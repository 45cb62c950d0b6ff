"""The conformance checklist of KickLang: envelopes, channels, the two loops, the validation rules, documents.

A document keeps section 004, rule 1, if lenient reading has nothing to forgive: empty parts, text in a header and
deeper places are ordinary in the documents of the language's own authors, although strict reading refuses them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from turnwire.checklists import Checklist, Clause, Fault, judged
from turnwire.contract import finding
from turnwire.errors import DecodeError, Reason, expect
from turnwire.kick.codec import check, decode
from turnwire.kick.documents import is_document
from turnwire.kick.faults import space_words
from turnwire.kick.messages import Envelope
from turnwire.kick.monitor import Monitor
from turnwire.kick.policy import DEFAULT_POLICY, Policy
from turnwire.kick.space import Space, parse_space
from turnwire.kick.spec import FAULTS, WIRE, EventKind

__all__ = ["CLAUSES", "EVENTS", "REASONS", "conform", "conform_files", "conformance"]

CLAUSES = (
    Clause("envelope", "001", "Messages are JSON envelopes with the fields of the schema"),
    Clause("ids", "001", "Ids are UUIDs of version 4, each used once"),
    Clause("times", "001", "Timestamps are ISO 8601"),
    Clause("channels", "002", "Each type goes on its channels, to whom they lead"),
    Clause("loop", "003", "Dispatch, execute, report: in this order"),
    Clause("escalation", "003", "A violation pauses the tasks it concerns and is escalated"),
    Clause("space", "004.1", "Contents are Space Format"),
    Clause("documents", "004.1", "Documents are UTF-8 text without a byte order mark, cut into sections"),
    Clause("headers", "004.1", "Headers of documents have a name, one sigil and no stray white space"),
    Clause("roles", "004.2", "Agents send only on channels of their role"),
    Clause("correlation", "004.3", "Responses have the correlation_id of the request"),
)

REASONS: dict[Reason, str] = {
    Reason.ID_NOT_UUID4: "ids",
    Reason.CORRELATION_ID_NOT_UUID4: "ids",
    Reason.BAD_TIMESTAMP: "times",
    Reason.BAD_CHANNEL: "channels",
    Reason.UNKNOWN_CHANNEL_FAMILY: "channels",
    Reason.CHANNEL_NOT_ALLOWED: "channels",
    Reason.TYPE_CHANNEL_MISMATCH: "channels",
    Reason.RECEIVER_NOT_ALLOWED: "channels",
    Reason.CONTENT_NOT_SPACE: "space",
    Reason.BAD_UTF8: "documents",
    Reason.BOM: "documents",
    Reason.NO_SECTIONS: "documents",
    Reason.EMPTY_HEADER: "headers",
    Reason.LEADING_SPACE: "headers",
    Reason.TRAILING_SPACE: "headers",
    Reason.NESTED_SIGIL: "headers",
    Reason.SPACE_IN_QUALIFIER: "headers",
    Reason.ROLE_NOT_ALLOWED: "roles",
    Reason.MISSING_CORRELATION_ID: "correlation",
}
"""What ``check`` finds -> the clause that it breaks. All other refusals mean that there is no such envelope; so does
bad_utf8 in one."""

EVENTS: dict[EventKind, str] = {
    EventKind.DUPLICATE: "ids",
    EventKind.ID_REUSED: "ids",
    EventKind.UNAUTHORISED: "roles",
    EventKind.UNCORRELATED: "correlation",
    EventKind.DUPLICATE_TASK: "loop",
    EventKind.OUT_OF_ORDER: "loop",
    EventKind.UNKNOWN_STATUS: "loop",
    EventKind.LATE: "loop",
    EventKind.WHILE_PAUSED: "escalation",
    EventKind.MISDIRECTED: "escalation",
}
"""Faults of the monitor -> the clause. Its INVALID is what ``check`` finds, too; without a clock nothing is OVERDUE."""

_ANYWHERE = (Reason.BAD_UTF8, Reason.BOM)
_ALWAYS = ("envelope", "ids", "times", "channels", "space", "roles")
_FAMILIES = {"command": "loop", "report": "loop", "query": "correlation", "alert": "escalation"}


Judged = Envelope | Space | str | bytes


def conformance(*messages: Judged, policy: Policy = DEFAULT_POLICY) -> Checklist:
    """Judges envelopes and Space documents, or their texts, in the order in which they were sent. Faults are placed by
    number, from 1; those of a document by its own lines where it is the only one that is judged."""
    return _judged(enumerate(messages, 1), policy, lines=len(messages) == 1)


def conform(data: bytes, *, policy: Policy = DEFAULT_POLICY, fences: bool = False) -> Checklist:
    """Judges every envelope, every damaged one and every Space document of a log; other text is none of the checklist's
    business. fences: headers inside code fences are content (:func:`parse_space`)."""
    found = finding("located").located(data, WIRE, fences=fences)
    return _judged(((one.line, _found(one)) for one in found), policy, lines=True, fences=fences)


def _found(one: Any) -> Judged | DecodeError:
    """What is judged of a record or a reject of a scan: of a document that is refused, its bytes."""
    if one.error is None:
        message: Judged = one.message
        return message
    error: DecodeError = one.error
    return _Refused(one.raw) if is_document(one.raw) else error


class _Refused(bytes):
    """A document that is a reject."""


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _judged(
    messages: Iterable[tuple[int, Judged | DecodeError]],
    policy: Policy,
    *,
    lines: bool = False,
    fences: bool = False,
) -> Checklist:
    """lines: the faults of a document are placed by their own lines."""
    faults: list[Fault] = []
    applied: set[str] = set()
    monitor = Monitor(policy)
    count = rejects = 0
    for line, message in messages:
        if isinstance(message, Space) or (isinstance(message, (str, bytes)) and is_document(message)):
            count += not isinstance(message, _Refused)
            rejects += isinstance(message, _Refused)
            applied.update(("documents", "headers"))
            faults += _of_document(message, line, lines, fences)
            continue
        applied.add("envelope")
        try:
            if isinstance(message, DecodeError):
                rejects += 1
                raise message
            count += 1
            envelope = decode(message) if isinstance(message, (str, bytes)) else message
        except DecodeError as error:
            clause = "envelope" if error.reason in _ANYWHERE else REASONS.get(error.reason, "envelope")
            faults.append(Fault(clause, line, f"{error.reason}: {error.text}"))
            continue
        expect(envelope, Envelope, "an envelope or its text is judged")
        applied.update(_ALWAYS)
        applied.update(_applies(envelope))
        faults += _of_envelope(envelope, line, monitor, policy)
    return judged(WIRE, count, CLAUSES, faults, applied, rejects)


def _of_document(message: Space | str | bytes, line: int, lines: bool, fences: bool) -> Iterator[Fault]:
    """The faults of a document; ``lines``: placed by lines, from ``line`` on, not by its number."""
    if not isinstance(message, Space):
        try:
            message = parse_space(message, mode="lenient", fences=fences)
        except DecodeError as error:
            yield Fault("documents", line + (error.line or 1) - 1 if lines else line, f"{error.reason}: {error.text}")
            return
    if not message.sections:
        yield Fault("documents", line, f"{Reason.NO_SECTIONS}: {space_words(Reason.NO_SECTIONS)}")
    for issue in message.issues:
        place = line + int(issue.where) - 1 if lines else line
        yield Fault(REASONS[issue.reason], place, f"{issue.reason}: {issue.text}")


def _applies(envelope: Envelope) -> Iterator[str]:
    family = envelope.family
    if family in _FAMILIES:
        yield _FAMILIES[family]
    if family == "report" or envelope.correlation_id is not None:
        yield "correlation"


def _of_envelope(envelope: Envelope, line: int, monitor: Monitor, policy: Policy) -> Iterator[Fault]:
    told = set()
    for issue in check(envelope, policy):
        if issue.severity == "warning":
            clause = REASONS.get(issue.reason, "envelope")
            told.add(clause)
            yield Fault(clause, line, f"{issue.where}: {issue.text}")
    for event in monitor.feed(envelope):
        if event.kind in FAULTS and event.kind in EVENTS:
            refused = event.kind in (EventKind.UNAUTHORISED, EventKind.UNCORRELATED) and event.issues
            if not (refused and told):
                yield Fault(EVENTS[event.kind], line, f"{event.kind}: {event.text}")
