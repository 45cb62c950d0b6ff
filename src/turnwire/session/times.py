"""Times as whole numbers, so that a later one can be told by its distance: only where that gives back the very text."""

from __future__ import annotations

import re
from datetime import date
from functools import lru_cache
from typing import NamedTuple

_TIME = re.compile(r"(\d{4}-\d\d-\d\d)([T ])(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d|)", re.ASCII).fullmatch
_DAY = 86_400


class Form(NamedTuple):
    """The form in which a time is written: the letter between day and hour, digits of a fraction, the zone."""

    between: str
    digits: int
    zone: str


@lru_cache(1024)
def read(text: str) -> tuple[Form, int] | None:
    """The form of a time, and the time in units of its last digit; None for any other text."""
    found = _TIME(text)
    if found is None:
        return None
    day, between, hour, minute, second, fraction, zone = found.groups(default="")
    if hour > "23" or minute > "59" or second > "59":
        return None
    try:
        days = date.fromisoformat(day).toordinal()
    except ValueError:
        return None
    seconds = days * _DAY + int(hour) * 3600 + int(minute) * 60 + int(second)
    return Form(between, len(fraction), zone), seconds * 10 ** len(fraction) + int(fraction or 0)


def written(form: Form, units: int) -> str | None:
    """The text of a time; None before year 1 or after 9999."""
    seconds, fraction = divmod(units, 10**form.digits)
    days, left = divmod(seconds, _DAY)
    if not 1 <= days <= date.max.toordinal():
        return None
    hour, left = divmod(left, 3600)
    tail = f".{fraction:0{form.digits}}" if form.digits else ""
    day = date.fromordinal(days).isoformat()
    return f"{day}{form.between}{hour:02}:{left // 60:02}:{left % 60:02}{tail}{form.zone}"
