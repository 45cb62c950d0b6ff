"""The conformance checklist of KickLang: envelopes, channels, the two loops, the validation rules, documents.

A document keeps section 004, rule 1, if lenient reading has nothing to forgive: empty parts, text in a header and
deeper places are ordinary in the documents of the language's own authors, although strict reading refuses them.
"""

from __future__ import annotations

from collections.abc import Set
from functools import lru_cache
from pathlib import Path
from typing import Any

from turnwire import checklists
from turnwire.checklists import Checklist, Clause, Specification, Untested, by_reason
from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.json.times import seconds
from turnwire.kick.codec import Envelope, check
from turnwire.kick.faults import SPACE_WORDS
from turnwire.kick.messages import channel_parts
from turnwire.kick.monitor import Event, Monitor
from turnwire.kick.rules import DEFAULT_POLICY, Policy
from turnwire.kick.space import Space, is_document, parse_space
from turnwire.kick.spec import WIRE, EventKind
from turnwire.registry import reading

__all__ = ["CHECKLIST", "CLAUSES", "EVENTS", "REASONS", "UNTESTED", "conformance"]

CLAUSES = (
    Clause("envelope", "001", "Messages are JSON envelopes with the fields of the schema"),
    Clause("ids", "001", "Ids are UUIDs of version 4, each used once"),
    Clause("times", "001", "Timestamps are ISO 8601"),
    Clause("channels", "002", "Each type is sent on its channels, to their receivers"),
    Clause("answers", "002", "Questions are answered"),
    Clause("loop", "003", "Dispatch, execution and report are in this order"),
    Clause("escalation", "003", "A violation pauses the affected tasks and is escalated"),
    Clause("space", "004.1", "Contents are Space Format"),
    Clause("documents", "004.1", "Documents are UTF-8 text without a byte order mark, divided into sections"),
    Clause("headers", "004.1", "Headers of documents have a name, one sigil and no stray white space"),
    Clause("roles", "004.2", "Agents send only on channels of their role"),
    Clause("correlation", "004.3", "Responses have the correlation_id of the request"),
)

_BROKEN_BY = {
    "ids": "id_not_uuid4 correlation_id_not_uuid4",
    "times": "bad_timestamp",
    "channels": "bad_channel unknown_channel_family channel_not_allowed type_channel_mismatch receiver_not_allowed",
    "space": "content_not_space",
    "documents": "bad_utf8 bom no_sections",
    "headers": "empty_header leading_space trailing_space nested_sigil space_in_qualifier",
    "roles": "role_not_allowed",
    "correlation": "missing_correlation_id",
}
REASONS = by_reason(_BROKEN_BY)
"""Reason that ``check`` finds -> the clause that it breaks. All other refusals mean that there is no such envelope; so
does bad_utf8 in one."""

_TOLD_BY = {
    "ids": "duplicate id_reused",
    "roles": "unauthorised",
    "correlation": "uncorrelated",
    "loop": "duplicate_task out_of_order unknown_status late",
    "escalation": "while_paused unescalated misdirected",
}
EVENTS = {EventKind(name): clause for clause, names in _TOLD_BY.items() for name in names.split()}
"""Faults of the monitor -> the clause. Its INVALID is what ``check`` finds, too; OVERDUE goes by what began it."""
ENDS = {"task": "loop", "question": "answers", "violation": "escalation"}
"""A thing that begins -> the clause by which it has to end."""
_ANYWHERE = (Reason.BAD_UTF8, Reason.BOM)
_ALWAYS = ("envelope", "ids", "times", "channels", "space", "roles")
_FAMILIES = {"command": "loop", "report": "loop", "query": "answers", "alert": "escalation"}


UNTESTED = (
    Untested("001", "Agents communicate only through envelopes", "a log shows only envelopes"),
    Untested("002", "Patterns: asynchronous, fire and forget, publish and subscribe", "a log does not show transports"),
    Untested("002", "The path of an artifact is valid", "the files are not part of a log"),
    Untested("003", "The agent executes the task", "a log shows only its reports"),
    Untested("003", "SystemMonitor detects anomalies", "a log shows only reported anomalies; anyone may send an alert"),
    Untested("003", "The human or supervisor decides", "the specification defines no message for it"),
)
"""Demands of the specification that no log can show."""

Judged = Envelope | Space | str | bytes


class KickChecklist(checklists.RecordChecklist):
    """Checks envelopes and documents in the order in which they were sent.

    What is unfinished at the end is open; it is a fault where its deadline (``kick.Deadlines``) passed on the clock of
    the messages, or before ``now``. What was finished, though late, is doubtful: section 003 has no deadlines.

    Args:
        policy: who may send what. now: the moment as of which the rest is judged, seconds since 1970-01-01 UTC.
        own_lines: whether the faults of a document are placed by its own lines, counted from the line that is given.
    """

    def __init__(self, policy: Policy = DEFAULT_POLICY, now: float | None = None, own_lines: bool = True) -> None:
        super().__init__()
        self._policy = policy
        self._now = now
        self._own_lines = own_lines
        self._monitor = Monitor(policy)

    def message(self, message: Any, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one envelope or document."""
        if isinstance(message, Space):
            self._document(message, line, offset)
            return
        if type(message) is not Envelope:
            expect(message, Envelope, "expected an envelope or its text")
        self.applied |= _applies(channel_parts(message.channel)[0], message.correlation_id is not None)
        issues = check(message, self._policy)
        broken = self._tell(issues, line, offset) if issues else set()
        events: list[Event] = []

        def tell(event: Event) -> None:
            if self._tries:  # before the monitor changes anything
                self._event(event, line, offset, broken)
            events.append(event)

        self._monitor.feed_checked(message, seconds(message.timestamp), issues, tell, (line, offset))
        for event in events:
            self._event(event, line, offset, broken)

    def _tell(self, issues: list[Issue], line: int, offset: int | None) -> set[str]:
        """Keeps what ``check`` found; the clauses that it breaks."""
        told = set()
        for issue in issues:
            clause = REASONS.get(issue.reason, "envelope")
            if issue.severity == "warning":
                told.add(clause)
                self.fault(clause, line, f"{issue.where}: {issue.text}", offset)
            elif clause == "space" or str(issue.where).startswith("/content"):
                self.doubt("space", line, f"{issue.reason}: {issue.text}", offset)
        return told

    def _event(self, event: Event, line: int, offset: int | None, broken: Set[str]) -> None:
        if event.kind in EVENTS:
            refused = event.kind in (EventKind.UNAUTHORISED, EventKind.UNCORRELATED) and event.issues
            if not (refused and broken):
                self.fault(EVENTS[event.kind], line, f"{event.kind}: {event.text}", offset)

    def _document(self, document: Space, line: int, offset: int | None) -> None:
        self.applied.update(("documents", "headers"))
        if not document.sections:
            self.fault("documents", line, f"{Reason.NO_SECTIONS}: {SPACE_WORDS[Reason.NO_SECTIONS]}", offset)
        for issue in document.issues:
            place = line + int(issue.where) - 1 if self._own_lines else line
            self.fault(REASONS[issue.reason], place, f"{issue.reason}: {issue.text}", offset)

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Keeps what is damaged, which is no envelope or no document, as a fault."""
        words = f"{error.reason}: {error.text}"
        if raw is not None and is_document(raw):
            self.applied.update(("documents", "headers"))
            within = offset is None and self._own_lines
            self.fault("documents", line + (error.line or 1) - 1 if within else line, words, offset)
            return
        self.applied.add("envelope")
        clause = "envelope" if error.reason in _ANYWHERE else REASONS.get(error.reason, "envelope")
        self.fault(clause, line, words, offset)

    def forget(self, room: int) -> None:
        """Stops tracking the oldest unfinished items if there are more than ``room`` of a kind. It stays
        open."""
        for one in self._monitor.forget(room):
            self.give_up(ENDS[one.kind], one.place[0])

    def end(self) -> None:
        """Checks what is unfinished."""
        if self._now is not None:
            self._monitor.overdue(self._now)
        late = dict(self._monitor.late)
        for one, text in self._monitor.waiting():
            line, offset = one.place
            if one.late:
                late.pop(one.id, None)
                self.fault(ENDS[one.kind], line, f"overdue: {one.late}: {text}", offset)
            else:
                self.left(ENDS[one.kind], line, text, offset, one.since)
        super().end()
        for one in late.values():
            line, offset = one.place
            self.doubt(ENDS[one.kind], line, f"late: {one.late}", offset)


@lru_cache(64)
def _applies(family: str | None, correlated: bool) -> frozenset[str]:
    """The clauses that have something to say of an envelope of a family."""
    found = {*_ALWAYS}
    if family in _FAMILIES:
        found.add(_FAMILIES[family])
    if family == "report" or correlated:
        found.add("correlation")
    return frozenset(found)


CHECKLIST = Specification(
    CLAUSES,
    UNTESTED,
    KickChecklist,
    options=("policy", "now", "own_lines"),
    loads={"policy": lambda path: Policy.from_toml(Path(path))},
)
"""The specification that KickLang is judged by."""


def conformance(*messages: Judged, policy: Policy = DEFAULT_POLICY, now: float | None = None) -> Checklist:
    """Checks envelopes and Space documents, or their texts, in the order in which they were sent. Faults include the
    number of their message, from 1; those of a single document include its lines."""
    numbered = ((number, _lenient(message)) for number, message in enumerate(messages, 1))
    options = {"policy": policy, "now": now, "own_lines": len(messages) == 1}
    found: Checklist = reading("located").conformance(WIRE, numbered, **options)
    return found


def _lenient(message: Judged) -> Judged:
    """A document's text as it is read in a log; what cannot be read stays as it is."""
    if isinstance(message, (str, bytes)) and is_document(message):
        try:
            return parse_space(message, mode="lenient")
        except DecodeError:
            return message  # strict reading says why
    return message
