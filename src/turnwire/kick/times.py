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
