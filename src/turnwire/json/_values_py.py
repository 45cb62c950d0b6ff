"""Lines that are values of JSON, an array or a string: the readable twin of ``_native/json/values.h``.

Each of their strings is looked through by itself, as those in objects are: what is in one ends with it, and its
escapes are read. Objects in arrays are what they are anywhere.
"""

from __future__ import annotations

import re

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
