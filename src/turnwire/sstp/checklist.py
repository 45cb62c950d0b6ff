"""The conformance checklist of SSTP: the message kinds, the turn discipline and the rules, over a whole transcript."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from turnwire import checklists
from turnwire.checklists import Checklist, Clause, Specification, Untested, by_reason, log_line, spoken, statement
from turnwire.contract import record_bytes
from turnwire.errors import DecodeError, Issue, Reason, expect
from turnwire.registry import reading
from turnwire.sstp.bulk import PLAN
from turnwire.sstp.codec import check, decode
from turnwire.sstp.messages import Message
from turnwire.sstp.session import Session
from turnwire.sstp.spec import ADDRESSEE, HEADER, PAYLOADS, WIRE, Kind

__all__ = ["CHECKLIST", "CLAUSES", "REASONS", "UNTESTED", "conformance"]

CLAUSES = (
    Clause("object", "Message kinds", "Every message is one valid JSON object"),
    Clause("kind", "Message kinds", "It has one of the seven kinds"),
    Clause("header", "Message kinds", "Its header has the required fields, with the right types"),
    Clause("payload", "Message kinds", "Its payload has the fields of its kind, with the right types"),
    Clause("schema", "Message kinds", "schema_id matches the kind"),
    Clause("ranges", "Message kinds", "Fractions are between 0 and 1, clocks count from 1"),
    Clause("one_speaker", "Turn discipline", "One agent speaks at a time"),
    Clause("contribution", "Turn discipline", "No message acknowledges, echoes or confirms receipt"),
    Clause("addressee", "Turn discipline", "Only the agent that a message is directed to responds"),
    Clause("response", "Turn discipline", "An agent that receives a query or a task responds"),
    Clause("actor", "Rules", "actor_id is the agent's name"),
    Clause("clock", "Rules", "logical_clock increases by 1 with each message of an agent in a session"),
    Clause("session", "Rules", "session_id is used consistently"),
    Clause("raw", "Rules", "Raw JSON only, never wrapped"),
)

_BROKEN_BY = {
    "kind": "unknown_kind",
    "schema": "schema_mismatch",
    "raw": "code_fence",
    "ranges": "out_of_range not_finite negative",
    "actor": "empty_value unknown_actor look_alike identity_mismatch",
    "addressee": "addressee_conflict unknown_addressee",
    "clock": "clock_gap clock_repeat clock_back",
    "session": "session_mismatch",
    "one_speaker": "out_of_turn",
    "contribution": "acknowledgement doubtful_acknowledgement echo",
}
REASONS = by_reason(_BROKEN_BY)
"""Reason that reading, ``check`` and the session monitor find -> the clause. Missing fields, wrong types and
placeholders go by their place; all other refusals of reading mean that there is no such object."""

_BY_PLACE = frozenset({Reason.MISSING_FIELD, Reason.WRONG_TYPE, Reason.PLACEHOLDER})


UNTESTED = (
    Untested(
        "Turn discipline",
        "Only send when you have something to contribute",
        "this needs a reader; the clause contribution covers forms that never contribute",
    ),
    Untested(
        "Message kinds",
        "Criteria are measurable, questions specific, proofs verifiable",
        "this depends on their meaning",
    ),
    Untested("Message kinds", "provenance names the tool used", "tools leave no trace in a log"),
    Untested("Message kinds", "supersedes names a decision", "the specification gives decisions no ids"),
    Untested("Message kinds", "Delegated work matches its output_schema_id", "the schemas are not part of a log"),
    Untested("Message kinds", "Learnings are kept for the days of retention:Nd", "stores are not part of a log"),
    Untested(
        "Rules", "actor_id is the agent's name in the transport", "a log shows no accounts; sstp.Session accepts them"
    ),
)
"""Demands of the specification that no log can show."""


_ASKING = (Kind.QUERY, Kind.DELEGATION)


class SstpChecklist(checklists.RecordChecklist):
    """Checks messages in the order in which they were sent, each in its session.

    A message without session_id belongs to the only session there is; of several, to the one in which its actor spoke
    last, else to one without a name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._sessions: dict[str | None, Session] = {}
        self._only: Session | None = None  # as long as there is one with a name
        self._spoke: dict[str, Session] = {}
        self._wrapped: dict[tuple[int, int | None], str] = {}
        self._gone: dict[str | None, None] = {}  # sessions that are no longer followed

    def look(self, found: Any) -> None:
        """Notes text that almost forms a message, and how each message is wrapped. One that is in prose or
        in a code fence is wrapped; in a log, where each line begins as those of logs do, no text is prose."""
        data = found.data
        if found.of(WIRE).any():
            for place, line, text in near_misses(found):
                self.fault("object", line, text, place)
            for clause, place, line, text in texts_around(found):
                self.fault(clause, line, text, place)
        in_log = all(log_line(text) or statement(text) for text in found.texts())
        if in_log and b"```" not in data and b"~~~" not in data:
            return
        for one, _, how in reading("extraction").placed(data, list(found.ones(WIRE))):
            last = how.rpartition("/")[2]
            if last not in ("bare", "json") and not (in_log and how == "prose"):
                self._wrapped[one.line, one.offset] = last

    def message(self, message: Message, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one message."""
        expect(message, Message, "expected an SSTP message or its text")
        if self._wrapped and (how := self._wrapped.get((line, offset))) is not None:
            self.fault("raw", line, f"the message is inside {how}", offset)
        if message.session_id in self._gone:
            self.fault("session", line, f"the session {message.session_id} is no longer tracked", offset)
        for issue in self._issues or (check(message) if message._source is None and self._issues is None else ()):
            if issue.severity != "info" or issue.reason is Reason.EMPTY_VALUE:
                self._issue(issue, line, offset)
        session = self._session(message)
        directed, several = session.turn.who == ADDRESSEE, bool(session._actors)
        found = session._found(message, None, doubts=not self._tries)
        for issue in found.issues:
            if issue.reason is Reason.OUT_OF_TURN and directed:
                self.fault("addressee", line, issue.text, offset)
            else:
                self._issue(issue, line, offset)
        # Every fault was told: nothing has changed for whoever only asks whether it is admitted.
        self._enter(message, session)
        if found.taken:
            session._take(message, found, (line, offset))
        asks = (found if found.taken else message).addressee is not None
        self.applied |= _ALWAYS
        if several:
            self.applied.update(("one_speaker", "contribution"))
        if directed or asks:
            self.applied.add("addressee")
        if asks:
            self.applied.add("response")

    def forget(self, room: int) -> None:
        """Forgets the sessions and speakers beyond ``room`` that came first. What was asked there stays open."""
        while len(self._sessions) > room:
            name = next(iter(self._sessions))
            session = self._sessions.pop(name)
            self._gone[name] = None
            for asked in session.waiting(*_ASKING):
                if asked.message.addressee is not None:
                    self.give_up("response", asked.place[0])
        for table in (self._gone, self._spoke):
            while len(table) > room:
                del table[next(iter(table))]  # type: ignore[arg-type]

    def _session(self, message: Message) -> Session:
        name = message.session_id
        if name is None:
            if self._only is not None:
                return self._only
            return self._spoke.get(message.actor_id) or self._sessions.get(None) or Session()
        unnamed = self._sessions.get(None) if len(self._sessions) == 1 else None  # as long as it is the only one
        return self._sessions.get(name) or unnamed or Session(session_id=name)

    def _enter(self, message: Message, session: Session) -> None:
        """The message is one of the session."""
        name = message.session_id
        if name is None and session is not self._only and message.actor_id not in self._spoke:
            self._sessions[None] = session
        elif name is not None:
            if name not in self._sessions:
                if session is self._sessions.get(None):
                    del self._sessions[None]
                self._sessions[name] = session
                self._only = session if len(self._sessions) == 1 else None
            self._spoke[message.actor_id] = session

    def _issue(self, issue: Issue, line: int, offset: int | None) -> None:
        where = str(issue.where)
        found = self.doubt if issue.reason is Reason.DOUBTFUL_ACKNOWLEDGEMENT else self.fault
        found(_clause(issue.reason, where), line, f"{where}: {issue.text}", offset)

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Keeps what is damaged as a fault of the clause that its reason and its place go with."""
        self.applied.update(("object", "raw"))
        self.fault(_clause(error.reason, error.path or ""), line, f"{error.reason}: {error.text}", offset)

    def end(self) -> None:
        """Leaves open who was asked and has not responded, but may still do so. A query without an addressee violates
        another clause."""
        for session in self._sessions.values():
            for message, (line, offset) in session.waiting(*_ASKING):
                if message.addressee is None:
                    continue
                text = f"{message.addressee} has not responded to the {message.KIND} of {message.actor_id}"
                since = f"clock {message.logical_clock}"
                self.left("response", line, text, offset, since)
        super().end()


_ALWAYS = frozenset(("object", "raw", "kind", "header", "payload", "schema", "ranges", "actor", "clock", "session"))
CHECKLIST = Specification(CLAUSES, UNTESTED, SstpChecklist, around=True)
"""The specification that SSTP is judged by."""


def conformance(*messages: Message | str | bytes) -> Checklist:
    """Checks the messages of a conversation, or their texts, in order. Faults include the number of their message, from
    1.

    A single text may be a whole transcript, as for the command ``conform``; faults then include its lines.
    """
    if len(messages) == 1 and isinstance(messages[0], (str, bytes)) and messages[0].strip():
        checklist: Checklist = reading("located").conform(WIRE, record_bytes(messages[0]) or b"")
        if checklist.records or checklist.rejects:
            return checklist
    found: Checklist = reading("located").conformance(WIRE, enumerate(messages, 1))
    return found


def _clause(reason: Reason, where: str) -> str:
    if reason is Reason.LOOK_ALIKE and where in ("/origin", "/header/protocol"):
        return "kind"  # another protocol; elsewhere it is a name like another's
    if reason is Reason.EMPTY_VALUE and where == "/header/session_id":
        return "session"
    if reason in REASONS:
        return REASONS[reason]
    if reason in _BY_PLACE:
        for place, clause in (("/header/session_id", "session"), ("/header", "header"), ("/payload", "payload")):
            if where.startswith(place):
                return clause
    return "object"


_PARTS = frozenset(("header", "payload"))
_HEADER = frozenset(field.name for field in HEADER) | {"directed_to"}
_FIELDS = {kind.value: frozenset(field.name for field in PAYLOADS[kind]) for kind in Kind}
_PAYLOAD = frozenset[str]().union(*_FIELDS.values())
_WORDS = ("header", "payload", "kind", "type")
_MARKS = tuple(map(str.encode, _WORDS))


def near_misses(found: Any) -> Iterator[tuple[int, int, str]]:
    """(byte, line, what is wrong) of each: objects with nothing but names of SSTP, of which the finder does not say
    whose they are; and what is not an object in a list of messages."""
    for one in found.objects(_MARKS):
        yield from _objects_in(one, one.value)
    for one in found.elements():
        if isinstance(one.value, str) and any(f'"{mark}"' in one.value for mark in _PARTS):
            yield from _objects_in(one, {"": one.value})
        else:
            yield one.offset, one.line, _VALUE
    for one in found.elements_in_strings():
        if not all(isinstance(value, dict) for value in one.value):
            yield one.offset, one.line, _VALUE


def _objects_in(one: Any, value: dict[str, Any]) -> Iterator[tuple[int, int, str]]:
    for fields in reading("surroundings").within(value, _WORDS):
        if near(fields) and not PLAN.is_claimed(fields):
            try:
                decode(json.dumps(fields))
            except DecodeError as error:
                yield one.offset, one.line, f"{error.reason}: {error.text}"


_VALUE = "a value in a list of messages is not a message"


def texts_around(found: Any) -> Iterator[tuple[str, int, int, str]]:
    """(clause, byte, line, what is wrong) of the lines beside messages in the same strings and after the same
    prefixes: values of JSON, and prose; in a log, prose that speaks as a person does."""
    for one in found.lines_in_strings():
        yield from _text(one, one.in_log)
    for one in found.lines_behind_prefixes(WIRE):
        if one.in_log:
            yield from _text(one, True)
    for offset, line, prefix in found.prefixes(WIRE):
        if spoken(prefix):
            yield "raw", offset, line, f"the message comes after {_shown(prefix)}"


def _text(one: Any, in_log: bool) -> Iterator[tuple[str, int, int, str]]:
    if _BARE_VALUE.fullmatch(one.text):
        yield "object", one.offset, one.line, f"{_shown(one.text)} among messages is not a message"
    elif spoken(one.text) if in_log else _WORD.match(one.text):
        yield "raw", one.offset, one.line, f"a message is inside prose: {_shown(one.text)}"


def _shown(text: bytes) -> str:
    return repr(text[:_MOST_SHOWN].decode(errors="replace").strip())


_MOST_SHOWN = 60
_BARE_VALUE = re.compile(rb'-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|true|false|null|"(?:[^"\\]|\\.)*"|\[[^{}]*\]')
_WORD = re.compile(rb"[*#>_-]*[ \t]*[^\W\d_]|[\x80-\xff]")


def near(fields: dict[str, Any]) -> bool:
    """True if an object has nothing but names of SSTP: a header, a payload, or both; or all in one, with a kind."""
    if fields and fields.keys() <= _PARTS:
        return all(
            not isinstance(part, dict) or part.keys() <= known
            for part, known in ((fields.get("header"), _HEADER), (fields.get("payload"), _PAYLOAD))
        )
    for name in ("kind", "type"):
        kind = fields.get(name)
        if isinstance(kind, str) and kind in _FIELDS:
            rest = fields.keys() - {name}
            said = rest & (_HEADER | _FIELDS[kind] | _PARTS)
            return said == rest and (name == "kind" or bool(said))
    return False
