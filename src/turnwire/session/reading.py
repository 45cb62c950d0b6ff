"""A session as events, whole or in pieces: every record judged by its check, or nothing."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import chain, count
from typing import Any, NamedTuple

from turnwire.errors import DecodeError, Reason
from turnwire.session.aliases import Expander
from turnwire.session.checks import Chain
from turnwire.session.fields import read_field, split, unfolded
from turnwire.session.header import BARE, HEADER, Settings, settings_of
from turnwire.session.notation import Member, read, structure_of
from turnwire.session.shapes import Shapes, flatten
from turnwire.session.template_diff import merged
from turnwire.session.templates import LATER, Expected, State, Template, expected, leaves_of
from turnwire.session.values import Leaf, minified, parsed, quoted, value_of

_ANCHOR = re.compile(r"\^(0|[1-9][0-9]{0,17})((?: @\S+)*)(?: &(\S{1,2}))?(?: [0-9]{3})?", re.ASCII).fullmatch
_END = re.compile(r"\.(0|[1-9][0-9]{0,17})(?: [0-9]{3})?", re.ASCII).fullmatch
_ROW = re.compile(r"([A-Za-z]+)(?: (.*))?", re.DOTALL).fullmatch
_DEFINITION = re.compile(r"([A-Za-z]*)=([A-Za-z]*)(\{.*\})", re.DOTALL).fullmatch
_FAR = re.compile(r"-?(?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch
_DISTANCE = re.compile(r"[+-](?:0|[1-9][0-9]{0,17})", re.ASCII).fullmatch
_FEEDS = re.compile("\n").finditer
_ENDS = re.compile(r"(?<!\n)\n++(?! |\Z)").finditer
"""The line feeds behind a record: the next line that is not empty begins another one."""
MOST_SHAPES = 1000
"""Shapes that are kept from one anchor to the next."""


class Record(NamedTuple):
    """A record, or a JSON line in front of the header: its lines without the check, the two marks at their end (""
    in a session without checks; None: it is a JSON line), its first line (from 1 on) and place (in characters), and
    whether a line feed follows."""

    raw: str
    pair: str | None
    line: int
    offset: int
    closed: bool


def beginning(text: str) -> int:
    """The place of a session's header, behind the JSON lines before it; the text's length where there is none."""
    return 0 if text[:1] == HEADER[:1] else text.find("\n" + HEADER[:1]) + 1 or len(text)


def records(text: str, sealed: bool, header: int = 0, start: int = 0, line: int = 1) -> Iterator[Record]:
    """JSON lines up to the header and the records from there on, in order. Their checks are not compared yet; a last
    line without its feed is one, too. header: where it begins. start, line: where to begin, and in which line."""
    lines = (feed.start() for feed in _FEEDS(text, start, header))
    ends = (end for run in _ENDS(text, header) for end in range(run.start(), run.end()))
    for end in chain(
        lines, ends, [len(text)]
    ):  # of several feeds behind a record, each but the first ends an empty one
        whole, is_closed = text[start:end], end < len(text)
        if not is_closed:
            if not whole:
                break
            is_closed, whole = whole[-1] == "\n", whole.removesuffix("\n")
        raw, pair = (whole[:-2], whole[-2:]) if sealed and start >= header else (whole, "")
        yield Record(raw, pair if start >= header else None, line, start, is_closed)
        line += 1 + whole.count("\n")
        start = end + 1


def anchor_of(line: str) -> tuple[int, Settings] | None:
    """The number of events before an anchor, and the settings behind it; None for what is no anchor."""
    found = _ANCHOR(line)
    return found and (int(found[1]), Settings(tuple([key[1:] for key in found[2].split()]), found[3] or ""))


class RecordReader:
    """Reads JSON lines and records one by one. sealed: whether records have checks. values: whether events are given as
    values, read strictly, not as JSON text. events: how many came before.

    Attributes:
        checks: what checks are compared with. begun, ended: whether the header and the end were read. used: what the
        records need explained; letter: the first that stands for an alias.
    """

    def __init__(self, sealed: bool, values: bool = True, events: int = 0) -> None:
        self.checks = Chain()
        self.events = events
        self.begun = self.ended = False
        self.used: set[str] = set()
        self.letter = ""
        self._sealed = sealed
        self._values = values
        self._shapes = Shapes()
        self._numbers = count(1)

    def begin(self, settings: Settings) -> None:
        """The settings of the records from now on; nothing was seen. Raises ValueError."""
        self._expander = Expander(settings.aliases)
        self._keys, self.begun = settings.keys, True
        self._state = State()
        self._templates: dict[str, Template] = {}
        if len(self._shapes) > MOST_SHAPES:
            self._shapes = Shapes()
        letter = settings.aliases.removesuffix(BARE)
        self.letter = self.letter or letter
        self.used |= {"&"[: len(letter)], settings.aliases[len(letter) :]} - {""}

    def read(self, record: Record) -> Any:
        """The event in a record; None where there is none. Raises DecodeError."""
        try:
            return self._read(record)
        except DecodeError as error:
            reason, why = error.reason, error.text
        except (ValueError, RecursionError) as error:
            reason, why = Reason.BAD_ENCODING, str(error)
        raise DecodeError(reason, why, offset=record.offset, line=record.line, wire="session")

    def _read(self, record: Record) -> Any:
        if record.pair is None:
            line = json_line(record.raw)
            self.checks.cover(record.raw + "\n")
            return self._given(line) if line else None
        if self.ended:
            raise DecodeError(Reason.TRAILING_JUNK, "the session has ended")
        if self._sealed and not self.checks.follows(record.raw, record.pair):
            raise DecodeError(Reason.DIGEST_MISMATCH, "the check does not fit: something was lost, moved or changed")
        body = unfolded(record.raw)
        if not self.begun:
            self.begin(settings_of(body))
        elif body[:1] in ("^", ".", "%"):
            self._mark(body)
        else:
            return self._given(self._event(self._expander.expand(body)))
        return None

    def _given(self, line: str) -> Any:
        event = value_of(line) if self._values else line
        self.events += 1
        return event

    def _mark(self, body: str) -> None:
        """An anchor or the end, each with the number of events before it."""
        end, anchor = _END(body), anchor_of(body)
        if end is None and anchor is None:
            raise ValueError("this is not a record")
        events = int(end[1]) if anchor is None else anchor[0]  # type: ignore[index]
        if events != self.events:
            raise DecodeError(Reason.MISMATCH, f"{events} events should come before this, not {self.events}")
        if anchor is None:
            self.ended = True
        else:
            self.begin(anchor[1])

    def _event(self, body: str) -> str:
        """The JSON line of an event."""
        row = _ROW(body)
        if row is not None:
            return self._row(row[1], row[2])
        if body[:1] == "{":
            value = parsed(body)
            leaves: list[Leaf] = []
            shape = self._shapes[flatten(value, leaves)]
            self._state.take(shape, [""] * len(leaves), self._keys, leaves.__getitem__)
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
            draft = merged(base.draft, draft)
        return self._define(found[1], base, draft)

    def _template(self, name: str) -> Template:
        template = self._templates.get(name)
        if template is None:
            raise ValueError(f"there is no template {name}")
        return template

    def _row(self, name: str, rest: str | None) -> str:
        template = self._template(name)
        fields = [] if rest is None else split(rest)
        if rest == "" or len(fields) > len(template.fields):
            raise ValueError(f"{len(fields)} fields where template {name} has {len(template.fields)} open members")
        return template.shape.text(leaves_of(self._state, template, fields, self._rare))

    def _rare(self, given: str, own: Expected) -> Leaf:
        """The leaf of a field that may be more than a text or a number."""
        if given[0] == "&":
            raise ValueError("a field does not begin with &")
        if own.mark == LATER and _FAR(given):
            if given[0] == "-" and own.form is None:
                raise ValueError("the distance of a number is not negative")
            moved = self._state.moved(own, int(given))
            if moved is None:
                raise ValueError("there is no time to count from")
            return moved
        return read_field(given, own.text or (own.mark == LATER and given[0] == "="))

    def _define(self, name: str, base: Template | None, draft: list[Member]) -> str:
        """The event of a definition, which is a template from now on where it has a name."""
        told: list[tuple[Any, str]] = []
        shape = self._shapes[structure_of(draft, told)]
        marks = [mark for _, mark in told]

        def leaf_at(place: int) -> Leaf:
            node, mark = told[place]
            if type(node) is int and base is not None:
                leaf = self._state.expect(base.leaves[node], node, base.number)
            else:
                leaf = self._told(node, mark, shape.paths[place])
            if leaf is None:
                raise ValueError("a member is left out, and no earlier value can fill it")
            return leaf

        leaves = self._state.take(shape, marks, self._keys, leaf_at)
        template = Template(next(self._numbers), shape, marks, leaves, self._keys)
        self._state.close(template.number, leaves)
        self.used |= template.parts
        if base is not None:
            self.used.add("b=a")
        if name:
            self._templates[name] = template
        return shape.text(leaves)

    def _told(self, value: Leaf | None, mark: str, path: str) -> Leaf | None:
        """A leaf of a definition: a value, a distance, or what is expected (None)."""
        state = self._state
        if value is None:
            return state.expect(expected(mark, path, None), 0, 0)
        if type(value) is not str or not value:
            return value
        if value[0] == "&":
            if value[1:2] == "&":
                return value[1:]
            if value[1:2] == "!":
                return read_field(value[2:], False)
            raise ValueError("a value that begins with & goes on with & or !")
        if mark == LATER and value[0] in "+-":
            later = state.later(path)
            if _DISTANCE(value) is None or later is None:
                raise ValueError("a distance is a sign and a number, after a time")
            return state.moved(later, int(value))
        return value


def json_line(line: str) -> str:
    """The event of a JSON line, minified; "" for an empty line. Raises DecodeError(bad_json)."""
    if not line.strip(" \t\r"):
        return ""
    try:
        value = parsed(line)
        if type(value) in (dict, str):
            return minified(value)
        why = "an event is an object or a string"
    except json.JSONDecodeError as error:
        why = f"the line is not JSON: {error.msg[:1].lower()}{error.msg[1:]} at its character {error.pos + 1}"
    except (ValueError, RecursionError) as error:
        why = str(error)
    raise DecodeError(Reason.BAD_JSON, why, wire="session")


class Reader:
    """Reads a session piece by piece: ``reader.feed(text)`` gives the events that are complete, ``close()`` the rest.

    An event is complete when the next record begins. sealed: whether the records have checks. Raises DecodeError as
    ``decode`` does; nothing is read after an error. values: whether events are given as ``decode`` gives them, not as
    ``lines_of`` does.
    """

    def __init__(self, sealed: bool = True, values: bool = True) -> None:
        self._sealed = sealed
        self._records = RecordReader(sealed, values)
        self._held: list[str] = []
        self._line, self._offset = 1, 0

    def feed(self, text: str) -> list[Any]:
        """The events that are complete now."""
        if not isinstance(text, str):
            raise DecodeError(Reason.WRONG_TYPE, f"a session is text, not {type(text).__name__}", wire="session")
        behind_feed = bool(self._held) and self._held[-1][-1] == "\n"
        if text:
            self._held.append(text)
        if not self._records.begun and self._held and self._held[0][0] != HEADER[0]:
            is_complete = "\n" in text
        else:
            is_complete = any(_ENDS("\n" * behind_feed + text))  # what came before is not looked at again
        return self._take(False) if is_complete else []

    def close(self, strict: bool = True) -> list[Any]:
        """The last events. strict: whether the end must be there."""
        found = self._take(True)
        if strict and self._records.begun and not self._records.ended:
            raise DecodeError(Reason.CUT_OFF, "the session has no end", offset=self._offset, wire="session")
        return found

    def _take(self, to_end: bool) -> list[Any]:
        """The events of the text that is held; what is not complete is held back, unless it goes to the end."""
        text, self._held = "".join(self._held), []  # nothing is read after an error
        header = 0 if self._records.begun else beginning(text)
        complete, done = list(records(text, self._sealed, header, line=self._line)), len(text)
        if not to_end and complete and (complete[-1].offset >= header or not complete[-1].closed):
            done = complete.pop().offset
        try:
            events = [self._records.read(record) for record in complete]
        except DecodeError as error:
            error.offset = self._offset + size_of(text[: error.offset])
            raise
        self._line += text.count("\n", 0, done)
        self._offset += size_of(text[:done])
        if text[done:]:
            self._held = [text[done:]]
        return [event for event in events if event is not None]


def size_of(text: str) -> int:
    """The bytes of a text."""
    return len(text.encode("utf-8", "surrogatepass"))


def _read(text: str, strict: bool, sealed: bool, values: bool) -> tuple[list[Any], Reader]:
    reader = Reader(sealed, values)
    return reader.feed(text) + reader.close(strict), reader


def decode(text: str, strict: bool = True, sealed: bool = True) -> list[Any]:
    """The events of a session, or of JSON lines: objects as dicts, keys in order; text that was not an object as text.

    strict: whether the end must be there. sealed: whether the records have checks. Raises DecodeError with reason,
    byte offset and line at the first record that is damaged: digest_mismatch (its check), mismatch (a count),
    bad_encoding (no writer makes it), bad_json, cut_off (no end), trailing_junk (records after the end).
    """
    return _read(text, strict, sealed, True)[0]


def lines_of(text: str, strict: bool = True, sealed: bool = True) -> list[str]:
    """The events of a session as minified JSON, each number as it was written; text that is not an object as a string.

    Takes what ``decode`` takes, and raises what it raises, but for a number beyond the range of doubles, which it
    gives as it is written.
    """
    return _read(text, strict, sealed, False)[0]


def used_in(text: str, sealed: bool) -> tuple[set[str], bool, str] | None:
    """The parts that a session uses, which may go on, as ``explanation`` takes them; None for JSON lines. Raises what
    ``decode`` raises."""
    found = _read(text, False, sealed, False)[1]._records
    return (found.used, sealed, found.letter) if found.begun else None
