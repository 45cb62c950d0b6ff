"""Timestamps: ISO 8601 date and time, the zone optional (section 001). Nothing here looks at a clock."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta

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
_EPOCH = date(1970, 1, 1).toordinal()


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
    match = _FORM.fullmatch(text)
    if match is None:
        return None
    day, clock, zone = _day(match), _clock(match), _zone(match["zone"])
    return None if day is None or clock is None or zone is None else day * 86400 + clock - zone


def _day(match: re.Match[str]) -> int | None:
    year = int(match["year"]) + 400
    try:
        if match["month"]:
            found = date(year, int(match["month"]), int(match["day"]))
        elif match["week"]:
            found = date.fromisocalendar(year, int(match["week"]), int(match["weekday"]))
        else:
            found = date(year, 1, 1) + timedelta(days=int(match["nth"]) - 1)
            if found.year != year:
                return None
    except ValueError:
        return None
    return found.toordinal() - _CYCLE - _EPOCH


def _clock(match: re.Match[str]) -> float | None:
    hour, minute, second = (int(match[name] or 0) for name in ("hour", "minute", "second"))
    part = float("0." + match["fraction"][1:]) if match["fraction"] else 0.0
    if hour == 24 and (minute or second or part):
        return None
    if hour > 24 or minute > 59 or second > 60 or (second == 60 and minute != 59):
        return None
    unit = 1 if match["second"] else 60 if match["minute"] else 3600
    return hour * 3600 + minute * 60 + second + part * unit


def _zone(zone: str | None) -> int | None:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "")
    hours, minutes = int(digits[:2]), int(digits[2:] or 0)
    if hours > 23 or minutes > 59:
        return None
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)
