"""Lenient reading of CSP/1: the same grammar, but a fault becomes an issue and what cannot be used becomes Junk.

Records are cut as strictly as ever: a line inside a heredoc never starts a message, and a heredoc that never closes
rejects its message (readings 2 and 4).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import takewhile

from turnwire.contract import Limits
from turnwire.csp._lines_py import MAGIC, Cursor, Line, ScanFault, is_near_state
from turnwire.csp.faults import issue
from turnwire.csp.messages import CspMessage, Document, Junk, Record
from turnwire.csp.reader import MessageReader
from turnwire.csp.records import RecordReader
from turnwire.errors import Issue, Reason
from turnwire.fences import is_fence

_BOM = b"\xef\xbb\xbf"
_NUMBER = re.compile(rb"[ \t]*[0-9]+")
_TITLE = re.compile(rb"(?mi)CSP/1[*`:. \t]*\r?$")


def parse_leniently(raw: bytes, limits: Limits) -> Document:
    """All records of a text that is valid UTF-8, and what was forgiven, by line. If it has no message, but one that is
    quoted or has a prefix (bad_magic), the records of that, and all other text as Junk. Never raises."""
    records, issues = _read(raw, limits)
    plain = raw if any(isinstance(one, CspMessage) for one in records) else _without_prefix(raw)
    if plain != raw:
        inside, blamed = _read(plain, limits)
        meant = next((one for one in inside if not isinstance(one, Junk) or one.reason), None)
        if meant is not None:
            first, last = meant.line, plain.count(b"\n")
            outside = (one for one in records if not first <= one.line <= last)
            records = sorted((*outside, *inside), key=lambda one: one.line)
            issues = [one for one in issues if not first <= int(one.where) <= last]
            if isinstance(meant, CspMessage):
                found = issue(Reason.BAD_MAGIC, first)
                meant.issues = (found, *meant.issues)
                issues.append(found)
            issues += blamed
    return Document(records, sorted(issues, key=lambda found: int(found.where)))


def _read(raw: bytes, limits: Limits) -> tuple[list[Record], list[Issue]]:
    reader = LenientReader(raw, limits)
    reader.read()
    return reader.records, reader.issues


def _without_prefix(raw: bytes) -> bytes:
    """The first message that stands after the same text in each line, as a quote or a line of a log does, without it
    (numbers may differ, as in times); of a title (``# CSP/1``) that line alone. Lines before it are blank, so that
    numbers of lines stay; what follows the last line that begins so is left out. The same again if there is none.
    """
    found = _TITLE.search(raw)
    if found is None:
        return raw
    title = raw[raw.rfind(b"\n", 0, found.start()) + 1 : found.start()]
    before, lines = b"\n" * raw.count(b"\n", 0, found.start()), raw[found.end() :].split(b"\n")[1:]
    prefix, first = title, lines[0] if lines else b""
    while prefix and (prefix[-1:] in b"*`" or not _alike(prefix).match(first)):
        prefix = prefix[:-1]
    if not prefix.strip() or title[len(prefix) :].strip(b"#*` \t"):
        return b"".join((before, b"CSP/1\n", b"\n".join(lines)))
    alike = re.compile(_alike(prefix).pattern + b"|" + _alike(prefix.rstrip()).pattern)
    found_in = takewhile(lambda pair: pair[1] is not None, ((line, alike.match(line)) for line in lines))
    return b"".join((before, b"CSP/1\n", *(line[match.end() :] + b"\n" for line, match in found_in if match)))


def _alike(prefix: bytes) -> re.Pattern[bytes]:
    """A pattern of the prefix on other lines: its numbers, as those of lines or times, may be others."""
    return re.compile(rb"[ \t]*[0-9]+".join(map(re.escape, _NUMBER.split(prefix))))


class _LenientCursor(Cursor):
    """Lines of which any fence ends a message; one that closes none is an issue of it."""

    def ends(self, line: Line) -> bool:
        return is_fence(line.text) or super().ends(line)


class LenientReader(RecordReader):
    """Cuts as strictly as ever, and makes issues and Junk of the rejects."""

    def __init__(self, raw: bytes, limits: Limits) -> None:
        super().__init__(_LenientCursor(raw, len(raw)), len(_BOM) * raw.startswith(_BOM), limits)
        self.issues: list[Issue] = []
        self.inside = False  # whether an unclosed heredoc would have swallowed what comes: it is not to be trusted
        self._feeds = [found.start() for found in re.finditer(b"\n", raw)]

    def line_of(self, offset: int) -> int:
        """0-based line of an offset, in any order: what is blamed of a message goes to and fro in it."""
        return bisect_left(self._feeds, offset)

    def blame(self, reason: Reason, offset: int) -> None:
        """Keeps an issue of the line at an offset."""
        self.issues.append(issue(reason, self.line_of(offset) + 1))

    def junk(self, start: int, stop: int, reason: Reason | None = None) -> None:
        """Keeps text that nothing can use."""
        text = self.raw[start:stop].decode()
        if text.count("\n") <= 1:
            text = text.removesuffix("\n").removesuffix("\r")
        self.records.append(Junk(self.line_of(start) + 1, text, None if reason is None else str(reason)))

    def read(self) -> None:
        if self.place:
            self.blame(Reason.BOM, 0)
        super().read()

    def repeated(self, reason: Reason, offset: int, line: int) -> None:
        self.issues.append(issue(reason, line))

    def reject(self, reason: Reason, start: int, stop: int, fault: int) -> int:
        self.junk(start, stop, None if reason in (Reason.JUNK, Reason.TRAILING_TEXT) else reason)
        if reason is not Reason.JUNK or is_near_state(self.records[-1].text):  # type: ignore[union-attr]
            self.blame(reason, fault)
        return stop

    def unclosed(self, run: int) -> None:
        self.inside = True

    def skip(self, line: Line) -> int:
        """The end of a heredoc that no field owns; one that never closes is one line."""
        run = len(line.text.rstrip(b"-"))
        closing = self.cursor.closing(line.next, run, line.start + self.limits[0])
        if closing is not None:
            return closing.next
        self.unclosed(run)
        return line.next

    def near(self, first: Line) -> int:
        if first.text.removeprefix(_BOM).strip(b" \t").upper() != MAGIC:
            return super().near(first)
        self.blame(Reason.BAD_MAGIC, first.start)
        return self.message(first)

    def message(self, first: Line) -> int:
        """One message, with the marks taken back if it is rejected."""
        records, issues = len(self.records), len(self.issues)
        self.records.append(Junk(0, ""))  # its place: Junk met inside it follows it
        try:
            reader = MessageReader(self.cursor, first, self.limits, self)
            stop = reader.read()
        except ScanFault as fault:
            del self.records[records:], self.issues[issues:]
            return self.recover(first.start, fault)
        if self.inside:
            self.blame(Reason.INSIDE_UNCLOSED_HEREDOC, first.start)
        blamed = self.issues[issues - (first.text != MAGIC) :]
        message = reader.message()
        message.issues = tuple(sorted(blamed, key=lambda found: int(found.where)))
        self.records[records] = message
        self.tail = True
        return stop
