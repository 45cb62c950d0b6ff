"""Times as whole numbers, so that a later one can be told by its distance: only where that gives back the very text."""

from __future__ import annotations

import re
from datetime import date
from typing import NamedTuple

_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)([T ])(\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d|)", re.ASCII)
_DAY = 86_400


class Form(NamedTuple):
    """How a time is written: what is between day and hour, digits of a second's fraction, the zone."""

    between: str
    digits: int
    zone: str


def read(text: str) -> tuple[Form, int] | None:
    """The form of a time, and the time in units of its last digit; None for any other text."""
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    year, month, day, between, hour, minute, second, fraction, zone = found.groups()
    if int(hour) > 23 or int(minute) > 59 or int(second) > 59:
        return None
    try:
        days = date(int(year), int(month), int(day)).toordinal()
    except ValueError:
        return None
    seconds = days * _DAY + int(hour) * 3600 + int(minute) * 60 + int(second)
    digits = len(fraction or "")
    return Form(between, digits, zone), seconds * 10**digits + int(fraction or 0)


def written(form: Form, units: int) -> str:
    """The text of a time. Raises ValueError for one before year 1 or after 9999."""
    seconds, fraction = divmod(units, 10**form.digits)
    days, left = divmod(seconds, _DAY)
    try:
        day = date.fromordinal(days)
    except OverflowError as error:
        raise ValueError(str(error)) from None
    hour, left = divmod(left, 3600)
    tail = f".{fraction:0{form.digits}}" if form.digits else ""
    return f"{day.isoformat()}{form.between}{hour:02}:{left // 60:02}:{left % 60:02}{tail}{form.zone}"
