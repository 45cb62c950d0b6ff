"""A session as events: every record judged by its check, or nothing."""

from __future__ import annotations

import json
import re
from typing import Any

from turnwire.errors import DecodeError, Reason
from turnwire.session._values_py import minified, parsed
from turnwire.session.howto import HEADER, settings_of
from turnwire.session.interpreting import Interpreter, value_of
from turnwire.session.records import Record, Verifier, fault, record_at

ANCHOR = re.compile(r"\^(0|[1-9][0-9]{0,17})((?: @\S+)*)(?: &(\S{1,2}))?(?: [0-9]{3})?", re.ASCII).fullmatch
END = re.compile(r"\.(0|[1-9][0-9]{0,17})(?: [0-9]{3})?", re.ASCII).fullmatch


MOST_SHAPES = 1000
"""Shapes that are kept from one anchor to the next."""


def after_anchor(found: re.Match[str], values: bool, before: Interpreter | None = None) -> Interpreter:
    """What reads the records after an anchor: by the paths and the alphabet that it names. Raises ValueError.

    before: what read the records before it; shapes that it knows are taken over, up to ``MOST_SHAPES``.
    """
    made = Interpreter(tuple(key[1:] for key in found[2].split()), found[3] or "", values)
    if before is not None and len(before.shapes) <= MOST_SHAPES:
        made.shapes = before.shapes
    return made


class Session:
    """Reads records one by one. sealed: whether they have checks. before: JSON lines in front of the header. values:
    whether events are given as values, not as JSON text."""

    def __init__(self, sealed: bool, before: str = "", values: bool = False) -> None:
        self.sealed = sealed
        self.values = values
        self.verifier = Verifier(before)
        self.interpreter: Interpreter | None = None
        self.events = 0
        self.ended = False

    def read(self, record: Record) -> Any:
        """The event in a record; None where there is none. Raises DecodeError."""
        if self.ended:
            raise fault(Reason.TRAILING_JUNK, "the session has ended", record)
        if self.sealed and not self.verifier.right(record):
            raise fault(Reason.DIGEST_MISMATCH, "the check does not fit: something was lost, moved or changed", record)
        try:
            return self._event(record)
        except DecodeError as error:
            raise fault(error.reason, error.text, record) from None
        except (ValueError, RecursionError) as error:
            raise fault(Reason.BAD_ENCODING, str(error), record) from None

    def rows(self, text: str, at: list[int], found: list[Any]) -> None:
        """Reads the events from an offset and line on, which become those of the first record that is none, and adds
        them. Raises what ``read`` raises."""
        if self.interpreter is None or self.ended:
            return
        before = len(found)
        try:
            self.interpreter.rows(text, at, self.verifier.chain if self.sealed else None, found)
        except DecodeError as error:
            raise fault(error.reason, error.text, record_at(text, self.sealed, at)) from None
        except (ValueError, RecursionError) as error:
            raise fault(Reason.BAD_ENCODING, str(error), record_at(text, self.sealed, at)) from None
        self.events += len(found) - before

    def _event(self, record: Record) -> Any:
        body = record.body
        if self.interpreter is None:
            self.interpreter = Interpreter(*settings_of(body), self.values)
            return None
        if body[:1] in ("^", ".", "%"):
            self._mark(body, record)
            return None
        found = self.interpreter.event(body)
        self.events += 1
        return found

    def _mark(self, body: str, record: Record) -> None:
        """An anchor or the end, each with the number of events before it."""
        found = (END if body[:1] == "." else ANCHOR)(body)
        if found is None:
            raise fault(Reason.BAD_ENCODING, "this is not a record", record)
        if int(found[1]) != self.events:
            raise fault(Reason.MISMATCH, f"{found[1]} events should come before this, not {self.events}", record)
        if body[:1] == ".":
            self.ended = True
        else:
            self.interpreter = after_anchor(found, self.values, self.interpreter)


def lines_of(text: str, strict: bool = True, sealed: bool = True) -> list[str]:
    """The events of a session as minified JSON, each number as it was written; text that is not an object as a string.

    Takes what ``decode`` takes, and raises what it raises, but for a number beyond the range of doubles, which it
    gives as it is written.
    """
    return _events(text, strict, sealed, False)


def _events(text: str, strict: bool, sealed: bool, values: bool) -> list[Any]:
    if not isinstance(text, str):
        raise DecodeError(Reason.WRONG_TYPE, f"a session is text, not {type(text).__name__}", wire="session")
    begin = beginning(text)
    found: list[Any] = plain_events(text if begin < 0 else text[:begin])
    if values:
        found = [value_of(line) for line in found]
    if begin < 0:
        return found
    session = Session(sealed, text[:begin], values)
    session.events = len(found)
    try:
        at = [begin, 1 + text.count("\n", 0, begin)]
        while at[0] < len(text):
            event = session.read(record_at(text, sealed, at))
            if event is not None:
                found.append(event)
            session.rows(text, at, found)
    except DecodeError as error:
        raise in_bytes(error, text) from None
    if strict and not session.ended:
        raise DecodeError(Reason.CUT_OFF, "the session has no end", offset=len(text.encode()), wire="session")
    return found


def beginning(text: str) -> int:
    """Where the header of a session begins, behind the JSON lines before it; -1 where there is none."""
    if text[:1] == HEADER[:1]:
        return 0
    return text.find("\n" + HEADER[:1]) + 1 or -1


def in_bytes(error: DecodeError, text: str) -> DecodeError:
    """The error with its place in bytes."""
    if error.offset is not None:
        error.offset = len(text[: error.offset].encode("utf-8", "surrogatepass"))
    return error


def plain_events(text: str) -> list[str]:
    """JSON lines. Raises DecodeError(bad_json)."""
    found = []
    offset = 0
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip(" \t\r"):
            try:
                value = parsed(line)
                if not isinstance(value, (dict, str)):
                    raise ValueError("an event is an object or a string")
                found.append(minified(value))
            except (ValueError, RecursionError) as error:
                said = _said_of(error)
                raise DecodeError(Reason.BAD_JSON, said, offset=offset, line=number, wire="session") from None
        offset += len(line.encode("utf-8", "surrogatepass")) + 1
    return found


def _said_of(error: Exception) -> str:
    """What is wrong with a line of JSON, with its place in that line alone."""
    if isinstance(error, json.JSONDecodeError):
        return f"the line is not JSON: {error.msg[:1].lower()}{error.msg[1:]} at its character {error.pos + 1}"
    return "the line is nested too deeply" if isinstance(error, RecursionError) else str(error)


def decode(text: str, strict: bool = True, sealed: bool = True) -> list[Any]:
    """The events of a session, or of JSON lines: objects as dicts, keys in order; text that was not an object as text.

    strict: whether the end must be there. sealed: whether the records have checks. Raises DecodeError with reason,
    byte offset and line at the first record that is damaged: digest_mismatch (its check), mismatch (a count),
    bad_encoding (no writer makes it), bad_json, cut_off (no end), trailing_junk (records after the end).
    """
    return _events(text, strict, sealed, True)
