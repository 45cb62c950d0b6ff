"""Sessions as events, whole or in pieces: every record judged by its check; and all that is whole in damaged ones."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session.aliases import Expander
from turnwire.session.framing import (
    ENDS,
    HEADER,
    Chain,
    Record,
    Settings,
    beginning,
    mark_of,
    records,
    settings_of,
    size_of,
    unfolded,
)
from turnwire.session.notation import merged, read, structure_of
from turnwire.session.shapes import Leaf, Member, Shapes, flatten, leaf_of, minified, parsed, quoted, value_of
from turnwire.session.templates import LATER, LeafExpectation, State, Template, leaves_of, split, what_is

_ROW = re.compile(r"([A-Za-z]+)(?: (.*))?", re.DOTALL).fullmatch
_DEFINITION = re.compile(r"([A-Za-z]*)=([A-Za-z]*)(\{.*\})", re.DOTALL).fullmatch
_DISTANCE = re.compile(r"[+-](?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch
DOUBTED = 2
"""Events before a damage, or before the end of a text that has no end record, that are not vouched for: the check of
each lets one change in 128 pass. So each event that counts was passed by three checks: its own and two behind it, or by
that of the end, which has its number, too."""


class Reader:
    """Reads a session piece by piece: ``reader.feed(text)`` returns the complete events, ``close()`` the last ones.

    An event is complete when the next record begins. sealed: whether the records have checks. Raises DecodeError like
    ``decode``; nothing is read after an error. values: whether to return events like ``decode`` or like ``lines_of``.

    Attributes:
        checks: the chain with which checks are compared. events: how many were read. begun, ended: whether the header
            and the end were read.
    """

    def __init__(self, sealed: bool = True, values: bool = True) -> None:
        self.checks = Chain()
        self.events = 0
        self.begun = self.ended = False
        self._sealed = sealed
        self._values = values
        self._pieces: list[str] = []  # of a record that is not complete
        self._line, self._offset = 1, 0

    def feed(self, text: str) -> list[Any]:
        """Returns the events that are now complete."""
        if not isinstance(text, str):
            raise DecodeError(Reason.WRONG_TYPE, f"a session must be text, not {type(text).__name__}", wire="session")
        before = self._pieces[-1][-1:] if self._pieces else ""  # no more of what came before is looked at again
        if text:
            self._pieces.append(text)
        is_complete = ENDS.search(before + text) or (not self.begun and "\n" in text)
        return self._take(False) if is_complete else []

    def close(self, strict: bool = True) -> list[Any]:
        """Returns the last events. strict: whether the end is required."""
        found = self._take(True)
        if strict and self.begun and not self.ended:
            raise DecodeError(Reason.CUT_OFF, "the session has no end", offset=self._offset, wire="session")
        return found

    def _take(self, to_end: bool) -> list[Any]:
        """The events of the pieces; what is not complete is kept, unless it goes to the end."""
        text, self._pieces = "".join(self._pieces), []  # nothing is read after an error
        header = 0 if self.begun else beginning(text)
        complete, done = list(records(text, self._sealed, header, self._line, self._offset)), len(text)
        if not to_end and complete and (complete[-1].start >= header or not complete[-1].closed):
            done = complete.pop().start
        events = list(map(self.read, complete))
        self._line += text.count("\n", 0, done)
        self._offset += size_of(text[:done])
        if text[done:]:
            self._pieces = [text[done:]]
        return [event for event in events if event is not None]

    def begin(self, settings: Settings) -> None:
        """Starts a block with these settings, without remembered values. Raises ValueError."""
        self._expander = Expander(settings.aliases)
        self._state = State(settings.keys)
        self.begun = True
        self._shapes = Shapes()

    def read(self, record: Record) -> Any:
        """Returns the event in a record, or None. Raises DecodeError."""
        try:
            line = self._read(record)
            if not line:
                return None
            self.events += 1
            return value_of(line) if self._values else line
        except DecodeError as error:
            reason, why = error.reason, error.text
        except (ValueError, RecursionError) as error:
            reason, why = Reason.BAD_JSON if record.pair is None else Reason.BAD_ENCODING, str(error)
        raise DecodeError(reason, why, offset=record.offset, line=record.line, wire="session")

    def _read(self, record: Record) -> str:
        """The JSON line of the event in a record; "" if there is none."""
        if record.pair is None:
            self.checks.cover(record.raw + "\n")
            return json_line(record.raw)
        if self.ended:
            raise DecodeError(Reason.TRAILING_JUNK, "the session has ended")
        if self._sealed and not self.checks.follows(record.raw, record.pair):
            raise DecodeError(Reason.DIGEST_MISMATCH, "the check does not match: something was lost, moved or changed")
        body = unfolded(record.raw)
        if not self.begun:
            self.begin(settings_of(body))
        elif body[:1] in ("^", ".", "%"):
            self._mark(body)
        else:
            return self._event(self._expander.expand(body))
        return ""

    def _mark(self, body: str) -> None:
        """An anchor or the end, each with the number of events before it."""
        events, settings = mark_of(body)
        if events is None:
            raise ValueError("this is not a record")
        if events != self.events:
            raise DecodeError(Reason.MISMATCH, f"{events} events should come before this, not {self.events}")
        if settings is None:
            self.ended = True
        else:
            self.begin(settings)

    def _event(self, body: str) -> str:
        """The JSON line of an event."""
        row = _ROW(body)
        if row is not None:
            template, fields = self._template(row[1]), [] if row[2] is None else split(row[2])
            if row[2] == "" or len(fields) > len(template.fields):
                open_ones = len(template.fields)
                raise ValueError(f"{len(fields)} fields where template {row[1]} has {open_ones} open members")
            return template.shape.text(leaves_of(self._state, template, fields))
        if body[:1] == "{":
            value = parsed(body)
            leaves: list[Leaf] = []
            shape = self._shapes[flatten(value, leaves)]
            self._state.take(shape, leaves.__getitem__)
            return minified(value)
        if body[:1] == "!":
            value = parsed(body[1:])
            if type(value) is not str:
                raise ValueError("a string follows !")
            return quoted(value)
        found = _DEFINITION(body)
        if found is None:
            raise ValueError("this is not a record")
        draft, base = read(found[3]), None
        if found[2]:
            base = self._template(found[2])
            draft = merged(base.shape.structure, draft)
        return self._define(found[1], base, draft)

    def _template(self, name: str) -> Template:
        template = self._state.templates.get(name)
        if template is None:
            raise ValueError(f"there is no template {name}")
        return template

    def _define(self, name: str, base: Template | None, draft: list[Member]) -> str:
        """The event of a definition, which is a template from now on where it has a name."""
        told: list[tuple[Any, str]] = []
        shape = self._shapes[structure_of(draft, told, base.marks if base else ())]
        marks = [mark for _, mark in told]

        def leaf_at(place: int) -> Leaf:
            node, mark = told[place]
            if type(node) is int and base is not None:
                leaf = self._state.expect(base.leaves[node], node, base)
            else:
                leaf = self._told(node, mark, shape.paths[place])
            return what_is(leaf, "a member is left out")

        return shape.text(self._state.define(name, shape, marks, leaf_at))

    def _told(self, value: Leaf | None, mark: str, path: str) -> Leaf | None:
        """A leaf of a definition: a value, a distance, or what is expected (None)."""
        state = self._state
        if value is None:
            return state.expect(LeafExpectation(mark, path, None))
        if type(value) is not str or not value:
            return value
        if value[:2] == "&&":
            return value[1:]
        if value[:2] == "&!":
            return leaf_of(parsed(value[2:]))
        if value[0] == "&":
            raise ValueError("a value that begins with & must continue with & or !")
        if mark != LATER or value[0] not in "+-":
            return value
        if _DISTANCE(value) is None:
            raise ValueError("a distance must be a sign and a number")
        return state.moved(state.form_at(path), path, int(value))


def json_line(line: str) -> str:
    """The event of a JSON line, minified; "" for an empty line. Raises ValueError, RecursionError."""
    if not line.strip(" \t\r"):
        return ""
    try:
        value = parsed(line)
    except json.JSONDecodeError as error:
        why = f"{error.msg[:1].lower()}{error.msg[1:].removesuffix(' at')} at character {error.pos + 1}"
        raise ValueError(f"the line is not JSON: {why}") from None
    if type(value) not in (dict, str):
        raise ValueError("an event must be an object or a string")
    return minified(value)


def decode(text: str, strict: bool = True, sealed: bool = True) -> list[Any]:
    """Reads the events of a session, or of JSON lines: objects as dicts, keys in order; other text as text.

    strict: whether the end is required. sealed: whether the records have checks. Raises DecodeError with reason,
    byte offset and line at the first damaged record: digest_mismatch (its check), mismatch (a count), bad_encoding
    (invalid form), bad_json, cut_off (no end), trailing_junk (records after the end).
    """
    reader = Reader(sealed)
    return reader.feed(text) + reader.close(strict)


def lines_of(text: str, strict: bool = True, sealed: bool = True) -> list[str]:
    """Reads the events of a session as minified JSON, with numbers as written; other text as strings.

    Parameters and errors are those of ``decode``; numbers beyond the range of doubles are returned as written.
    """
    reader = Reader(sealed, False)
    return reader.feed(text) + reader.close(strict)


def seal(text: str) -> str:
    """Adds checks to a session without them, and a header and an end if they are missing.

    Raises DecodeError for a record that cannot be read.
    """
    if beginning(text) == len(text):  # JSON lines hold text as it is, records behind a mark
        text = f"{HEADER}\n" + re.sub('^"', '!"', text, flags=re.MULTILINE)
    header = beginning(text)
    reader, checks = Reader(False, False), Chain()
    checks.cover(text[:header])
    parts = [text[:header]]
    for record in records(text, False, header):
        if record.raw.strip():
            reader.read(record)
            if record.pair is not None:
                parts.append(checks.sealed(record.raw))
    if not reader.ended:
        parts.append(checks.sealed(f".{reader.events}"))
    return "".join(parts)


class Part(NamedTuple):
    """Consecutive intact events. first: the number of the first in the session, from 0."""

    first: int
    events: list[Any]


class Salvage(NamedTuple):
    """The result of ``salvage``.

    parts: intact events. doubtful: those directly before damage, which are probably intact. missing: half-open
    ranges (first, stop) of events that are lost or doubtful; stop is None if the number of events is unknown.
    complete: whether nothing is missing or damaged. faults: the damage, in order.
    """

    parts: list[Part]
    doubtful: list[Part]
    missing: list[tuple[int, int | None]]
    complete: bool
    faults: list[DecodeError]

    @property
    def events(self) -> list[Any]:
        """All intact events."""
        return [event for part in self.parts for event in part.events]


def salvage(text: str) -> Salvage:
    """Returns all intact events of a damaged session. Never raises for text.

    If a record's check fails, or the end is missing, the last two events before it are doubtful; reading continues at
    the next anchor, even if the header is lost. Text after the end is not read.
    """
    every = list(records(text, True, beginning(text)))
    found = Salvage([], [], [], False, [])
    resumed: tuple[Reader, int] | None = Reader(), 0
    while resumed is not None:
        reader, start = resumed
        first = reader.events
        events, at, fault = _read_from(every, start, reader)
        resumed, doubtful = None, 0
        is_damage = fault is not None and not reader.ended
        if is_damage and at < len(every) and every[at].pair is None:
            # the last JSON line may be cut; where more follows, the lines may be of the middle of a session
            doubtful = len(events) if any(each.raw or each.pair for each in every[at + 1 :]) else 0
            every = [each for each in every if each.pair is not None] or list(records(text, True))
            start = at = 0
        elif is_damage:  # JSON lines need as many records behind them, which vouch for all of them
            fit = sum([each.pair is not None for each in every[start:at]])
            doubtful = len(events) if fit <= DOUBTED else min(DOUBTED, len(events))
        sure = len(events) - doubtful
        if sure:
            found.parts.append(Part(first, events[:sure]))
        if doubtful:
            found.doubtful.append(Part(first + sure, events[sure:]))
        if fault is not None:
            found.faults.append(fault)
        if is_damage:
            found.missing.append((first + sure, None))
            resumed = _resumed(every, at, start, found)
    return found._replace(complete=not found.faults)


def _read_from(every: list[Record], at: int, reader: Reader) -> tuple[list[Any], int, DecodeError | None]:
    """The events of records from one on, the record at which a damage ends them, and the damage."""
    events: list[Any] = []
    for number, record in enumerate(every[at:], at):
        try:
            if not (record.pair is None or record.closed or record.raw[:1] == "."):
                place: dict[str, Any] = {"offset": record.offset, "line": record.line}
                raise DecodeError(Reason.CUT_OFF, "the last record is not complete", **place, wire="session")
            event = reader.read(record)
        except DecodeError as error:
            return events, number, error
        if event is not None:
            events.append(event)
    is_whole = reader.ended or not reader.begun
    cut = None if is_whole else DecodeError(Reason.CUT_OFF, "the session has no end", wire="session")
    return events, len(every), cut


def _resumed(every: list[Record], at: int, start: int, found: Salvage) -> tuple[Reader, int] | None:
    """A reader that goes on behind the next anchor to which the record after it is chained, where what is missing ends,
    and the number of that record; None where there is no such anchor.

    A header to which the next record is chained is that of another session, whose anchors are not taken; where nothing
    was found before it, the session begins there. start: the record that the reader before began with.
    """
    for place in range(at, len(every) - 1):
        record, follower = every[place : place + 2]
        reader, checks = Reader(), Chain()
        is_header = record.raw[:1] == HEADER[:1] and place > start
        if is_header and all(checks.follows(each.raw, each.pair) for each in (record, follower)):
            if found.parts or found.doubtful:
                return None
            found.missing.clear()
            return reader, place
        events, settings = mark_of(record.raw)
        if events is None or settings is None or events < found.missing[-1][0]:
            continue
        try:
            reader.begin(settings)
        except ValueError:
            continue
        reader.events = events
        for chain in checks, reader.checks:
            chain.resume(record.raw)
        if checks.follows(follower.raw, follower.pair):
            found.missing[-1] = (found.missing[-1][0], events)
            return reader, place + 1
    return None
