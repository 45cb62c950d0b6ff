"""Times in text: those of logs, and any of ISO 8601.

Those of logs are the twin of ``_native/common/log_time.h``: calendar date and time of ISO 8601 in the extended format,
as RFC 3339 has it and a little wider: ``YYYY-MM-DD``, then "T", "t", "_" or one space, ``HH:MM``, then ``:SS`` and a
fraction after "." or "," (cut after microseconds), and a zone: "Z", "z", ``+HH:MM``, ``+HHMM`` or ``+HH``, before which
one space may come. Seconds may be missing, and so may the zone: then it is UTC. Second 60 reads as 59.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_TIME = re.compile(
    rb"(\d\d\d\d)-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?"
    rb"(?: ?(?:([Zz])(?![A-Za-z])|([+-])(\d\d)(?::?(\d\d))?+(?!\d)))?"
)
_PLAIN = re.compile(rb"\d{4}-\d\d-\d\dT(?:[01]\d|2[0-3]):\d\d:[0-5]\d(?:\.\d{1,9})?Z(?![A-Za-z])")
"""Most times are of this form, and are read at once."""
_NO_ZONE = re.compile(rb"(\d\d\d\d)-(\d\d)-(\d\d)[Tt _](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?")
_HEAD = re.compile(rb"[ \t]{0,64}[\[(<\"']?")
_EPOCH = date(1970, 1, 1).toordinal()
_START, _MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)


def read_time(text: bytes) -> tuple[int, int] | None:
    """(microseconds since 1970 UTC, bytes that the time takes) of the time that ``text`` starts with, or None."""
    usual = _PLAIN.match(text)
    if usual is not None:
        try:
            moment = datetime.fromisoformat(usual[0].decode())
        except ValueError:
            return None
        return (moment - _START) // _MICROSECOND, usual.end()
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


# --- any date and time of ISO 8601, the zone optional ----------------------------------------------------------------

_FORM = re.compile(
    r"(?P<year>\d{4})(?P<extended>-)?"
    r"(?:(?P<month>\d\d)(?(extended)-)(?P<day>\d\d)|W(?P<week>\d\d)(?(extended)-)(?P<weekday>[1-7])|(?P<nth>\d{3}))"
    r"T(?P<hour>\d\d)(?:(?(extended):)(?P<minute>\d\d)(?:(?(extended):)(?P<second>\d\d))?)?(?P<fraction>[.,]\d+)?"
    r"(?P<zone>Z|[+-]\d\d(?:(?(extended):)\d\d)?)?",
    re.ASCII,
)
_USUAL = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z?")
"""Most timestamps are of this form, and are read at once."""
_CYCLE = 146_097  # days of 400 years, after which the calendar repeats; it gives the year 0000 a place


def is_timestamp(text: str) -> bool:
    """True if a text is an ISO 8601 date and time: calendar, week or ordinal date, extended or basic format.

    24:00 is midnight at the end of the day, second 60 is a leap second and comes only after minute 59.
    """
    return seconds(text) is not None


def seconds(text: str) -> float | None:
    """Seconds since 1970-01-01 UTC, or None for what is not a timestamp. Without a zone, UTC is taken."""
    if _USUAL.fullmatch(text) is not None:
        try:
            return datetime.fromisoformat(f"{text[:19]}+00:00").timestamp()
        except ValueError:
            pass  # the year 0000, the hour 24, a leap second, or none
    return _of_form(text)


def _of_form(text: str) -> float | None:
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    year = int(found["year"]) + 400
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    part = float("0." + found["fraction"][1:]) if found["fraction"] else 0.0
    zone = (found["zone"] or "Z").replace(":", "")
    hours, minutes = int(zone[1:3] or 0), int(zone[3:] or 0)
    try:
        if found["month"]:
            day = date(year, int(found["month"]), int(found["day"]))
        elif found["week"]:
            day = date.fromisocalendar(year, int(found["week"]), int(found["weekday"]))
        else:
            day = date(year, 1, 1) + timedelta(days=int(found["nth"]) - 1)
    except ValueError:
        return None
    good = minute < 60 and (second < 60 or (second, minute) == (60, 59)) and hours < 24 and minutes < 60
    if not good or (hour, minute, second, part) > (24, 0, 0, 0) or (found["nth"] and day.year != year):
        return None
    unit = 1 if found["second"] else 60 if found["minute"] else 3600
    away = (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
    clock = hour * 3600 + minute * 60 + second + part * unit
    return (day.toordinal() - _CYCLE - _EPOCH) * 86400 + clock - away
