"""Texts inside JSON strings: what a string, a list of strings that are lines, or an array of bytes says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from turnwire.json._objects_py import quote_before
from turnwire.json._rows_py import EscapeMap
from turnwire.json._text_py import plain
from turnwire.json._wrapper_py import Numbers, bytes_said, message_bytes
from turnwire.log.search.state import LONGEST_LINE, Match, Walk
from turnwire.log.search.texts import DEEPEST_STRING, Joiner, Text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnwire.log.search.search import Search

MOST_REJECTS = 512
"""Rejects that are kept of one outermost string; the rest of it is text."""
_INSIDE = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+', re.DOTALL)
_LIST = re.compile(rb'\[[ \t\r\n]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[ \t\r\n]*+(?:,[ \t\r\n]*+|(?=\])))++\]', re.DOTALL)
_STRING = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_WORTH = rb"[{@]|[Cc][Ss][Pp]|\\u00(?:40|7[bB]|[46]3)|\\+/"
"""Bytes, as written, without which a string holds no message."""


class Strings:
    """Finds and searches the texts in strings. marks: what further wires are written as in one."""

    def __init__(self, search: Search, marks: Sequence[bytes]) -> None:
        self._search = search
        self._worth = re.compile(b"|".join([_WORTH, *map(re.escape, marks)]))

    def text_at(self, text: Text, first: int, behind: int) -> tuple[Text | None, int]:
        """The text of the string, the list of strings or the array of bytes at a place of good JSON (None where it
        holds nothing), and where that ends."""
        data = text.data
        if text.depth >= DEEPEST_STRING:
            return None, behind
        if data[first] != 0x22:
            return self._lines(text, first, behind)
        span = data[first + 1 : behind - 1]
        if span == b"MESSAGE" and (array := message_bytes(data, behind)) is not None:
            written = data[array[1] : array[2]]
            joiner = Joiner(text, "bytes")
            joiner.add(bytes_said(written), array[1], Numbers(written))
            return joiner.text(True, in_string=True), array[2] + 1
        if self._worth.search(span) is None:
            return None, behind
        return self._said(text, first + 1, span), behind

    def _lines(self, text: Text, first: int, behind: int) -> tuple[Text | None, int]:
        """The text of a list of strings that are lines, as notebooks keep them."""
        listed = _LIST.match(text.data, first)
        if listed is None or self._worth.search(listed[0]) is None:
            return None, behind
        strings = list(_STRING.finditer(text.data, first, listed.end()))
        if len(strings) < 2 or not all(one[1].endswith(b"\\n") for one in strings[:-1]):
            return None, behind
        joiner = Joiner(text, "list of lines")
        for one in strings:
            joiner.add(plain(one[1]), one.start(1), EscapeMap(one[1]) if b"\\" in one[1] else None)
        return joiner.text(True, in_string=True), listed.end()

    @staticmethod
    def _said(text: Text, start: int, span: bytes, quoted: bool = True) -> Text:
        joiner = Joiner(text, "string")
        joiner.add(plain(span), start, EscapeMap(span) if b"\\" in span else None)
        inner = joiner.text(True, in_string=True)
        inner.quoted = quoted
        return inner

    def search(self, inner: Text, here: int, behind: int, found: list[Match]) -> None:
        """Searches a text that stands from ``here`` to ``behind``."""
        rejects = 0
        for one in self._search.run(inner)[0]:
            rejects += one.reason is not None
            if one.reason is None or rejects <= MOST_REJECTS:
                found.append(one._replace(here=here, behind=behind))

    def around(self, walk: Walk, at: int) -> int:
        """Searches the string around a place, in bytes that are not good JSON: what lies between the nearest quotes of
        its line, behind what was found last. Where to go on."""
        text, data = walk.text, walk.text.data
        if len(data) - at <= max(self._search.limit, LONGEST_LINE):
            walk.needs_line(at)
        end = min(walk.end, text.line_end(at))
        quote = quote_before(data, at, walk.floor(at))
        first = at if quote < 0 else quote + 1
        match = _INSIDE.match(data, at, end)
        close = end if match is None else match.end()
        close = close if close < end and data[close] == 0x22 else end
        if text.depth < DEEPEST_STRING:
            self.search(self._said(text, first, data[first:close], quote >= 0), first, close, walk.found)
        return max(min(close + 1, end), at + 1)
