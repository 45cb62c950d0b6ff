"""Objects and other values of JSON in a text, one that is read and one that is damaged; see ``json/values.h``.

Strings on a line of their own are looked through each by itself, as those in objects are: what is in one ends with it,
and its escapes are read. Objects in arrays are what they are anywhere.
"""

from __future__ import annotations

import re
import sys
from typing import Any

from turnwire.contract import Limits
from turnwire.json._text_py import _QUICK, _SURROGATE_ESCAPE, _Doubtful, _Silent

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}]', re.DOTALL)


def parse(raw: bytes, at: int, limits: Limits) -> tuple[dict[str, Any], int]:
    """The object at ``at`` and the offset after it. Raises DecodeError with reason and offset."""
    if len(raw) - at <= limits.key and raw.count(b"{", at) + raw.count(b"[", at) <= limits.nesting:
        try:
            text = raw[at:].decode()
            if not _SURROGATE_ESCAPE.search(text):
                found, size = _QUICK.raw_decode(text)
                return found, at + (size if text.isascii() else len(text[:size].encode()))
        except (ValueError, _Doubtful, RecursionError):
            pass
    most = sys.get_int_max_str_digits() or limits.integer_digits
    shown = limits._replace(integer_digits=min(limits.integer_digits, most))
    value, behind = _Silent(raw, "json", shown, {}).containers(at)
    return value, behind


def opened_at(raw: bytes, start: int, fault: int) -> set[int]:
    """The starts of the objects that are open at the fault: all of them meet it."""
    starts: list[int] = []
    place = start
    while (token := _TOKEN.search(raw, place, fault)) is not None:
        if b'"' in raw[place : token.start()]:
            break  # a string that is not closed before the fault
        place = token.end()
        if raw[token.start()] == 0x7B:
            starts.append(token.start())
        elif raw[token.start()] == 0x7D:
            starts.pop()
    return set(starts)


def quote_before(raw: bytes, at: int, floor: int) -> int:
    """The unescaped quote next to ``at`` from ``floor`` on, or -1."""
    while (at := raw.rfind(b'"', floor, at)) >= 0:
        slashes = at - len(raw[floor:at].rstrip(b"\\")) - floor
        if slashes % 2 == 0:
            return at
    return -1


_VALUE_TOKEN = re.compile(
    rb'[ \t\r]*+(?:("(?:[^"\\]|\\.)*+")|([\[{])|([\]}])|([,:])'
    rb"|((?:true|false|null|-?[0-9][0-9.eE+-]*+)(?![\w.])))"
)


WHOLE = 2
"""An array whose brackets all have partners, for :func:`are_values`."""


def are_values(line: bytes) -> int:
    """Not 0 if a line begins with a string or an array and has nothing in it but the tokens of JSON, each value
    followed by a sign or the end. It may be one line of many: brackets need no partner; ``WHOLE`` for an array whose
    brackets all match."""
    place, value, depth = 3 if line.startswith(b"\xef\xbb\xbf") else 0, False, 0
    first = line[place:].lstrip(b" \t")[:1]
    if first not in (b'"', b"["):
        return 0
    whole = first == b"["
    while (token := _VALUE_TOKEN.match(line, place)) is not None:
        string, opens, closes, sign, word = token.groups()
        if (value and (string or opens or word)) or (sign and not value):
            return 0
        depth += bool(opens) - bool(closes)
        whole &= depth >= 0
        value = bool(string or closes or word)
        place = token.end()
    return 0 if line[place:].strip(b" \t\r") else 1 + (whole and not depth)
