"""The conformance checklist of nSLIP: what the specification demands of every message in a log."""

from __future__ import annotations

import re
from typing import Any

from turnwire import checklists
from turnwire.checklists import Checklist, Clause, Specification, Untested, by_reason
from turnwire.errors import DecodeError, EncodeError, Reason, expect
from turnwire.nslip.codec import SlipMessage, encode
from turnwire.nslip.rules import check
from turnwire.nslip.spec import STRING_SLOTS, WIRE
from turnwire.registry import reading

CLAUSES = (
    Clause("framing", "3", "A message starts with @ and ends with #, and | separates its fields"),
    Clause("header", "2", "Act, frame, conversation, source, destination and turn are present once"),
    Clause("acts", "2", "Acts are in the closed set"),
    Clause("frames", "2", "Frames are in the table"),
    Clause("slots", "2", "Slots are in the table, each once"),
    Clause("types", "2", "IDs and scalars are integers, STATUS and TAG are strings"),
    Clause("integers", "3", "Integers are non-negative and in base62"),
    Clause("strings", "3", 'Strings are quoted, \\ and " escaped, in UTF-8'),
    Clause("shape", "3", "Messages are in canonical form: header in order, no leading zeros"),
    Clause("short", "2", "Strings are short; large artifacts belong in stores and are referenced by id"),
)

_BROKEN_BY = {
    "framing": "bad_framing empty_message empty_field trailing_junk message_too_large",
    "header": "look_alike missing_field",
    "acts": "unknown_act",
    "frames": "unknown_frame",
    "slots": "duplicate unknown_prefix unknown_slot",
    "types": "wrong_type",
    "integers": "empty_value bad_digit too_large negative",
    "strings": "unterminated_string bad_escape junk_after_string bad_utf8 lone_surrogate newline_in_string",
    "short": "long_string",
}
REASONS = by_reason(_BROKEN_BY)
"""Reason that reading, ``encode`` and ``check`` find -> the clause that it breaks."""


UNTESTED = (
    Untested("1", "SLIP stays orthogonal to orchestration frameworks", "a design goal: a log does not show programs"),
    Untested("2", "Acts, frames and slots have the meaning in the tables", "a log does not show what agents did"),
    Untested("2", "turn is the number of the turn", "section 2 does not define how turns are counted"),
    Untested("2", "Each slot has a stable integer code", "the text contains only prefixes"),
    Untested("2", "Ids refer to artifacts in external stores", "the stores are not part of a log"),
    Untested("5", "Prompts are generated from messages, and answers are parsed", "a log does not show prompts"),
    Untested("6", "New slots, frames, encodings and versions are compatible", "they are for later versions"),
)
"""Demands of the specification that no log can show."""


_LOOSE = rb"@[ \t]*a%b[ \t]*[|,;:/][ \t]*f%b[ \t]*[|,;:/][ \t]*c%b[ \t]*[|,;:/]" % ((rb"[0-9A-Za-z]{1,11}",) * 3)
_BARE = rb"(?<![@|0-9A-Za-z])a[0-9A-Za-z]{1,2}\|f[0-9A-Za-z]{1,2}\|c[0-9A-Za-z]{1,11}\|"
_EMPTY = rb"[ \t]*@[ \t]*#[ \t]*"
_EMPTY_STRING = rb"(?<!\\)(\\*)\"(?:\\+[nrt])*%b(?:\\+[nrt])*\1\"" % _EMPTY
_NEAR = re.compile(rb"%b|%b" % (_LOOSE, _BARE))
"""Beginnings like those of messages, of which the finder does not say that it is one: other marks between the fields,
no ``@``."""
_ALONE = re.compile(rb"^%b\r?$|%b" % (_EMPTY, _EMPTY_STRING), re.MULTILINE)
"""The same with nothing at all between ``@`` and ``#``, on a line or in a string of its own."""


_NOTHING = re.compile(_EMPTY)


class NslipChecklist(checklists.RecordChecklist):
    """Checks messages one by one: nSLIP has no rules about their order."""

    alone = True

    def look(self, found: Any) -> None:
        """Notes text that almost forms a message."""
        for start, stop in found.rest:
            self._near(found, start, found.data[start:stop], there=True)
        for start, text in found.strings():
            self._near(found, start, text, there=False)
        told = {fault.line for fault in self.faults}
        for one in found.lines_behind_prefixes(WIRE) if found.of(WIRE).any() else ():
            if one.line not in told and _NOTHING.fullmatch(one.text):
                self._tell(one.text.decode(), one.line, one.offset)

    def _near(self, found: Any, start: int, text: bytes, there: bool) -> None:
        alone = _ALONE.finditer(text) if b"#" in text else ()
        for near in (*_NEAR.finditer(text), *alone):
            shown = text[near.start() : near.start() + 40].partition(b"\n")[0].decode(errors="replace")
            offset = start + near.start() if there else start
            self._tell(shown, found.line_of(offset), offset)

    def _tell(self, shown: str, line: int, offset: int) -> None:
        self.fault("framing", line, f"{Reason.BAD_FRAMING}: this is nearly a message: {shown!r}", offset)

    def message(self, message: SlipMessage, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Checks one message, and its text where that is known."""
        expect(message, SlipMessage, "expected a SlipMessage or its text")
        try:
            text = encode(message)
        except EncodeError as error:
            self.fault(REASONS[error.reason], line, f"{error.reason}: {error.text}", offset)
            return
        self.applied.update(_ALWAYS)
        if raw is not None:
            self.applied.add("shape")
            if text.encode() != raw.strip():
                self.fault("shape", line, f"the encoding is {text[:80]}", offset)
        if message.slots:
            self.applied.update(("slots", "types"))
            if not STRING_SLOTS.isdisjoint(message.slots):
                self.applied.update(("strings", "short"))
        for issue in check(message):
            if issue.reason in REASONS:
                self.fault(REASONS[issue.reason], line, f"{issue.where}: {issue.text}", offset)

    def refused(self, error: DecodeError, line: int, offset: int | None = None, raw: bytes | None = None) -> None:
        """Keeps what is damaged as a fault of the clause that its reason goes with."""
        self.fault(REASONS[error.reason], line, f"{error.reason}: {error.text}", offset)


_ALWAYS = frozenset(("framing", "header", "acts", "frames", "integers"))
CHECKLIST = Specification(CLAUSES, UNTESTED, NslipChecklist, around=True)
"""The specification that nSLIP is judged by."""


def conformance(*messages: SlipMessage | str | bytes) -> Checklist:
    """Checks messages, or their texts, as one history. Faults include the number of their message, from 1."""
    found: Checklist = reading("located").conformance(WIRE, enumerate(messages, 1))
    return found
