"""The conformance checklist of KickLang: envelopes, channels, the two loops and the validation rules."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from turnwire.checklists import Checklist, Clause, Fault, judged
from turnwire.contract import finding
from turnwire.errors import DecodeError, Reason, expect
from turnwire.kick.codec import check, decode
from turnwire.kick.messages import Envelope
from turnwire.kick.monitor import Monitor
from turnwire.kick.policy import DEFAULT_POLICY, Policy
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
    Reason.ROLE_NOT_ALLOWED: "roles",
    Reason.MISSING_CORRELATION_ID: "correlation",
}
"""What ``check`` finds -> the clause that it breaks. All other refusals mean that there is no such envelope."""

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

_ALWAYS = ("envelope", "ids", "times", "channels", "space", "roles")
_FAMILIES = {"command": "loop", "report": "loop", "query": "correlation", "alert": "escalation"}


def conformance(*messages: Envelope | str | bytes, policy: Policy = DEFAULT_POLICY) -> Checklist:
    """Judges envelopes, or their texts, in the order in which they were sent. Faults are placed by number, from 1."""
    return _judged(enumerate(messages, 1), policy)


def conform(data: bytes, *, policy: Policy = DEFAULT_POLICY) -> Checklist:
    """Judges every envelope and every damaged one in a log; other text is none of the checklist's business."""
    return _judged(((one.line, one.error or one.message) for one in finding("located").located(data, WIRE)), policy)


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _judged(messages: Iterable[tuple[int, Envelope | str | bytes | DecodeError]], policy: Policy) -> Checklist:
    faults: list[Fault] = []
    applied: set[str] = set()
    monitor = Monitor(policy)
    count = rejects = 0
    for line, message in messages:
        applied.add("envelope")
        try:
            if isinstance(message, DecodeError):
                rejects += 1
                raise message
            count += 1
            envelope = decode(message) if isinstance(message, (str, bytes)) else message
        except DecodeError as error:
            clause = REASONS.get(error.reason, "envelope")
            faults.append(Fault(clause, line, f"{error.reason}: {error.text}"))
            continue
        expect(envelope, Envelope, "an envelope or its text is judged")
        applied.update(_ALWAYS)
        applied.update(_applies(envelope))
        faults += _of_envelope(envelope, line, monitor, policy)
    return judged(WIRE, count, CLAUSES, faults, applied, rejects)


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
