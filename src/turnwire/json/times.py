"""Times as they are in logs: the readable twin of ``_native/common/log_time.h``.

ISO 8601 calendar date and time in the extended format, as RFC 3339 has it and a little wider: ``YYYY-MM-DD``, then
"T", "t", "_" or one space, ``HH:MM``, then ``:SS`` and a fraction after "." or "," (cut after microseconds), and
a zone: "Z", "z", ``+HH:MM``, ``+HHMM`` or ``+HH``, before which one space may come. Seconds may be missing, and so may
the zone: then it is UTC. Second 60 reads as 59.
"""

from __future__ import annotations

import re
from datetime import date

_TIME = re.compile(
    rb"(\d\d\d\d)-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    rb"(?: ?(?:([Zz])(?![A-Za-z])|([+-])(\d\d)(?::?(\d\d))?+(?!\d)))?"
)
_NO_ZONE = re.compile(rb"(\d\d\d\d)-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?")
_HEAD = re.compile(rb"[ \t]{0,64}[\[(<\"']?")
_EPOCH = date(1970, 1, 1).toordinal()


def read_time(text: bytes) -> tuple[int, int] | None:
    """(microseconds since 1970 UTC, bytes that the time takes) of the time that ``text`` starts with, or None."""
    match = _TIME.match(text)
    if match is None:
        return None
    year, month, day, hour, minute = (int(part) for part in match.groups()[:5])
    second = int(match[6] or 0)
    try:
        days = date(year, month, day).toordinal() - _EPOCH
    except ValueError:
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    end = match.end()
    shift = 0
    if match[9]:
        hours, minutes = int(match[10]), int(match[11] or 0)
        if hours > 23 or minutes > 59:
            end = _NO_ZONE.match(text).end()  # type: ignore[union-attr]
        else:
            shift = (hours * 60 + minutes) * (-1 if match[9] == b"-" else 1)
    part = int((match[7] or b"0")[:6].ljust(6, b"0"))
    seconds = ((days * 24 + hour) * 60 + minute - shift) * 60 + min(second, 59)
    return seconds * 1_000_000 + part, end


def head_time(line: bytes) -> int | None:
    """The time at the head of a line: after white space and one of ( [ < " ' at most."""
    match = _HEAD.match(line)
    found = read_time(line[match.end() : match.end() + 128]) if match else None
    return None if found is None else found[0]
