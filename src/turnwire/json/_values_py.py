"""Lines that are values of JSON, an array or a string: the readable twin of ``_native/json/values.h``.

Each of their strings is looked through by itself, as those in objects are: what is in one ends with it, and its
escapes are read. Objects in arrays are what they are anywhere.
"""

from __future__ import annotations

import re
from typing import Any

from turnwire.json import _others_py as among
from turnwire.json._region_py import Region, WalkState

_TOKEN = re.compile(
    rb'[ \t\r]*+(?:("(?:[^"\\]|\\.)*+")|([\[{])|([\]}])|([,:])'
    rb"|((?:true|false|null|-?[0-9][0-9.eE+-]*+)(?![\w.])))"
)
_STRING = re.compile(rb'[^"\\]*+(?:\\.[^"\\]*+)*+')


def are_values(line: bytes) -> bool:
    """True if a line begins with a string or an array and has nothing in it but the tokens of JSON, each value
    followed by a sign or the end. It may be one line of many: brackets need no partner."""
    place, value = 3 if line.startswith(b"\xef\xbb\xbf") else 0, False
    if line[place:].lstrip(b" \t")[:1] not in (b'"', b"["):
        return False
    while (token := _TOKEN.match(line, place)) is not None:
        string, opens, closes, sign, word = token.groups()
        if (value and (string or opens or word)) or (sign and not value):
            return False
        value = bool(string or closes or word)
        place = token.end()
    return not line[place:].strip(b" \t\r")


class Values:
    """Looks through the strings of such lines, for the class that scans lines."""

    plan: Any
    stopped: int
    has_mark: Any
    look_into: Any

    def worth(self, text: bytes) -> bool:
        """True if a string may hold a message, so that it has to be decoded."""
        object_inside = b"\\" in text and b"{" in text
        return object_inside or bool(self.plan.nslip and among.look(text)) or bool(self.has_mark(text))

    def strings(self, region: Region, way: WalkState, place: int) -> int | None:
        """Looks into the next string in front of the JSON candidate at ``place`` that is worth it, or that holds the
        candidate. The offset behind it, or None where there is none."""
        raw = region.raw
        start = max(way.searched, way.done)
        while 0 <= (quote := raw.find(b'"', start, region.end)) < place:
            close = _STRING.match(raw, quote + 1, region.end).end()  # type: ignore[union-attr]
            start = way.searched = min(close + 1, region.end)
            if self.worth(raw[quote + 1 : close]):
                if way.bad < 0:
                    way.mark(self)
                    self.stopped = region.start + quote
                self.look_into(region, way, quote, start, (quote + 1, close), None)
                return start
            if start > place:
                return start
        way.searched = max(place, start)
        return None
