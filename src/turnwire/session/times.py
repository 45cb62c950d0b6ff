"""Times as whole numbers, so that a later one can be told by its distance: only where that gives back the very text."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\d)([T ])((?:[01]\d|2[0-3]):\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d|)", re.ASCII
).fullmatch
_SECOND = timedelta(seconds=1)


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
    day, between, clock, fraction, zone = found.groups(default="")
    try:
        seconds = (datetime.fromisoformat(f"{day}T{clock}") - datetime.min) // _SECOND
    except ValueError:
        return None
    return Form(between, len(fraction), zone), seconds * 10 ** len(fraction) + int(fraction or 0)


def written(form: Form, units: int) -> str | None:
    """The text of a time; None before year 1 or after 9999."""
    seconds, fraction = divmod(units, 10**form.digits)
    try:
        moment: datetime = datetime.min + seconds * _SECOND
    except OverflowError:
        return None
    tail = f".{fraction:0{form.digits}}" if form.digits else ""
    return moment.isoformat(form.between) + tail + form.zone
