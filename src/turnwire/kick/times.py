"""Timestamps: ISO 8601 date and time, the zone optional (section 001). Nothing here looks at a clock."""

from __future__ import annotations

import re
from datetime import date, timedelta
from functools import lru_cache


def _grammar(dash: str, colon: str) -> re.Pattern[str]:
    day = (
        f"(?P<month>[0-9]{{2}}){dash}(?P<day>[0-9]{{2}})"
        f"|W(?P<week>[0-9]{{2}}){dash}(?P<weekday>[1-7])"
        "|(?P<nth>[0-9]{3})"
    )
    clock = f"(?P<hour>[0-9]{{2}})(?:{colon}(?P<minute>[0-9]{{2}})(?:{colon}(?P<second>[0-9]{{2}}))?)?"
    zone = f"(?P<zone>Z|[+-][0-9]{{2}}(?:{colon}[0-9]{{2}})?)?"
    return re.compile(f"(?P<year>[0-9]{{4}}){dash}(?:{day})T{clock}(?P<fraction>[.,][0-9]+)?{zone}")


_EXTENDED = _grammar("-", ":")
_SECONDS = {f"{second:02}{zone}": float(second) for second in range(60) for zone in ("", "Z")}
_USUAL = re.compile("([0-9]{4}-[0-9]{2}-[0-9]{2})T([01][0-9]|2[0-3]):([0-5][0-9]):")
"""Most timestamps are of this form with seconds behind it, and are read at once."""
_BASIC = _grammar("", "")
_CYCLE = 146_097  # days of 400 years, after which the calendar repeats; it gives the year 0000 a place
_EPOCH = date(1970, 1, 1).toordinal()


def is_timestamp(text: str) -> bool:
    """True if a text is an ISO 8601 date and time: calendar, week or ordinal date, extended or basic format.

    24:00 is midnight at the end of the day, second 60 is a leap second and comes only after minute 59.
    """
    return seconds(text) is not None


def seconds(text: str) -> float | None:
    """Seconds since 1970-01-01 UTC, or None for what is not a timestamp. Without a zone, UTC is taken."""
    second = _SECONDS.get(text[17:])
    if second is not None:
        start = _minute(text[:17])
        if start is not None:
            return start + second
    return _of_grammar(text)


def _of_grammar(text: str) -> float | None:
    match = _EXTENDED.fullmatch(text) or _BASIC.fullmatch(text)
    if match is None:
        return None
    day = _day(match)
    clock = _clock(match)
    zone = _zone(match["zone"])
    if day is None or clock is None or zone is None:
        return None
    return day * 86400 + clock - zone


@lru_cache(1024)
def _minute(text: str) -> float | None:
    """The beginning of a minute of the form 2026-01-31T12:30: begins: messages that follow each other are of few."""
    usual = _USUAL.fullmatch(text)
    start = None if usual is None else _midnight(usual[1])
    return None if usual is None or start is None else start + int(usual[2]) * 3600 + int(usual[3]) * 60


@lru_cache(64)
def _midnight(day: str) -> float | None:
    """The beginning of a day of the form 2026-01-31."""
    match = _EXTENDED.fullmatch(f"{day}T00")
    found = None if match is None else _day(match)
    return None if found is None else found * 86400.0


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
