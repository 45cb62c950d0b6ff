"""The conformance checklist of SSTP: the message kinds, the turn discipline and the rules, over a whole transcript."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from turnwire.checklists import Checklist, Clause, Fault, around, judged, log_line
from turnwire.contract import finding, record_bytes
from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.sstp.codec import check, decode
from turnwire.sstp.messages import Message
from turnwire.sstp.salvaging import salvage
from turnwire.sstp.session import Session
from turnwire.sstp.spec import ADDRESSEE, WIRE

__all__ = ["CLAUSES", "REASONS", "conform", "conform_files", "conformance"]

CLAUSES = (
    Clause("object", "Message kinds", "Every message is one valid JSON object"),
    Clause("kind", "Message kinds", "It is of one of the seven kinds"),
    Clause("header", "Message kinds", "Its header has its fields, of the right types"),
    Clause("payload", "Message kinds", "Its payload has the fields of its kind, of the right types"),
    Clause("schema", "Message kinds", "schema_id is the one of the kind"),
    Clause("ranges", "Message kinds", "Fractions lie between 0 and 1, clocks count from 1"),
    Clause("one_speaker", "Turn discipline", "One agent speaks at a time"),
    Clause("contribution", "Turn discipline", "Nobody acknowledges, echoes or confirms receipt"),
    Clause("addressee", "Turn discipline", "Only the agent that a message is directed to responds"),
    Clause("actor", "Rules", "actor_id is the agent's name"),
    Clause("clock", "Rules", "logical_clock goes up by 1 on each message of an agent within a session"),
    Clause("session", "Rules", "session_id is used consistently"),
    Clause("raw", "Rules", "Raw JSON only, never wrapped"),
)

REASONS: dict[Reason, str] = {
    Reason.UNKNOWN_KIND: "kind",
    Reason.SCHEMA_MISMATCH: "schema",
    Reason.OUT_OF_RANGE: "ranges",
    Reason.NOT_FINITE: "ranges",
    Reason.NEGATIVE: "ranges",
    Reason.EMPTY_VALUE: "actor",
    Reason.ADDRESSEE_CONFLICT: "addressee",
    Reason.UNKNOWN_ADDRESSEE: "addressee",
    Reason.UNKNOWN_ACTOR: "actor",
    Reason.LOOK_ALIKE: "actor",
    Reason.IDENTITY_MISMATCH: "actor",
    Reason.CLOCK_GAP: "clock",
    Reason.CLOCK_REPEAT: "clock",
    Reason.CLOCK_BACK: "clock",
    Reason.SESSION_MISMATCH: "session",
    Reason.OUT_OF_TURN: "one_speaker",
    Reason.ACKNOWLEDGEMENT: "contribution",
    Reason.ECHO: "contribution",
}
"""What reading, ``check`` and the session monitor find -> the clause. Missing fields, wrong types and placeholders go
by their place; all other refusals of reading mean that there is no such object."""

_BY_PLACE = frozenset({Reason.MISSING_FIELD, Reason.WRONG_TYPE, Reason.PLACEHOLDER})


class _Found(NamedTuple):
    line: int
    message: Message
    how: str


def conformance(*messages: Message | str | bytes) -> Checklist:
    """Judges the messages of a conversation, or their texts, in order. Faults are placed by number, from 1.

    One text alone may be a whole transcript, as :func:`conform` reads it: then faults are placed by its lines.
    """
    if len(messages) == 1 and isinstance(messages[0], (str, bytes)) and messages[0].strip():
        checklist = conform(record_bytes(messages[0]) or b"")
        if checklist.records or checklist.rejects:
            return checklist
    found: list[_Found] = []
    faults: list[Fault] = []
    for number, message in enumerate(messages, 1):
        if isinstance(message, Message):
            found.append(_Found(number, message, "bare"))
        else:
            expect(message, (str, bytes), "an SSTP message or its text is judged")
            text = message if isinstance(message, str) else message.decode(errors="replace")
            _read(message, text, number, found, faults)
    return _judged(found, faults)


def conform(data: bytes) -> Checklist:
    """Judges every message and every damaged one in a log or a transcript, wherever they stand.

    One that stands in prose or in a code fence is wrapped; in a log, where each line begins as those of logs do, no
    text is prose.
    """
    everything = list(finding("located").located(data))
    records = [one for one in everything if one.wire == WIRE and one.error is None]
    faults: list[Fault] = []
    for one in everything:
        if one.wire == WIRE and one.error is not None:
            where = _clause(one.error.reason, one.error.path or "")
            faults.append(Fault(where, one.line, f"{one.error.reason}: {one.error.text}"))
    in_log = all(map(log_line, around(data, ((one.offset, one.length) for one in everything if one.inner is None))))
    found = [
        _Found(one.line, one.message, "bare" if how == "prose" and in_log else how)
        for one, _, how in finding("extraction").placed(data, records)
    ]
    return _judged(found, faults, len(faults))


def conform_files(paths: Iterable[str | os.PathLike[str]]) -> Iterator[tuple[str, Checklist]]:
    """(path, checklist) for each file."""
    for path in paths:
        yield os.fspath(path), conform(Path(path).read_bytes())


def _read(data: str | bytes, text: str, line: int, found: list[_Found], faults: list[Fault]) -> None:
    try:
        found.append(_Found(line, decode(data), "bare"))
        return
    except DecodeError as error:
        refusal = error
    salvaged = salvage(text)
    found += [_Found(line, one.message, one.how) for one in salvaged]
    if not salvaged:
        faults.append(Fault(_clause(refusal.reason, refusal.path or ""), line, f"{refusal.reason}: {refusal.text}"))


def _clause(reason: Reason, where: str) -> str:
    if reason is Reason.LOOK_ALIKE and where in ("/origin", "/header/protocol"):
        return "kind"  # another protocol; elsewhere it is a name like another's
    if reason in REASONS:
        return REASONS[reason]
    if reason in _BY_PLACE:
        for place, clause in (("/header/session_id", "session"), ("/header", "header"), ("/payload", "payload")):
            if where.startswith(place):
                return clause
    return "object"


def _judged(found: list[_Found], faults: list[Fault], rejects: int = 0) -> Checklist:
    applied: set[str] = {"object", "raw"} if found or faults else set()
    sessions: dict[str | None, Session] = {}
    named = any(one.message.session_id is not None for one in found)
    for line, message, how in found:
        applied.update(("kind", "header", "payload", "schema", "ranges", "actor", "clock", "session"))
        if how.rpartition("/")[2] not in ("bare", "json"):
            faults.append(Fault("raw", line, f"the message stands in {how.rpartition('/')[2]}"))
        doubts = [issue for issue in check(message) if issue.severity != "info"]
        faults += [_fault(issue, line) for issue in doubts]
        missing = any(issue.where == "/header/session_id" for issue in doubts)
        if named and message.session_id is None and not missing:
            faults.append(Fault("session", line, "others here have a session_id"))
        session = sessions.setdefault(message.session_id, Session(session_id=message.session_id))
        faults += _of_turn(session, message, line, applied)
    return judged(WIRE, len(found), CLAUSES, faults, applied, rejects)


def _of_turn(session: Session, message: Message, line: int, applied: set[str]) -> Iterator[Fault]:
    directed = session.floor.who == ADDRESSEE
    if session.actors:
        applied.update(("one_speaker", "contribution"))
    if directed or message.addressee is not None:
        applied.add("addressee")
    for issue in session.feed(message):
        if issue.reason is Reason.OUT_OF_TURN and directed:
            yield Fault("addressee", line, issue.text)
        else:
            yield _fault(issue, line)


def _fault(issue: Issue, line: int) -> Fault:
    where = str(issue.where)
    return Fault(_clause(issue.reason, where), line, f"{where}: {issue.text}")
