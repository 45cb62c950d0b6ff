"""Ids and times of SAP (section 3): what is written, what is read with an issue, what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""The 36-character form of RFC 4122, and no other (no braces, no urn:, no bare hex)."""

DIGEST = re.compile(r"sha256:[0-9a-fA-F]{64}", re.ASCII)

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)", re.ASCII
)  # RFC 3339, section 5.6
_STRICT_LENGTH = len("2025-09-28T10:15:23Z")


def read_time(text: str) -> tuple[datetime, bool] | None:
    """The moment a timestamp names, and whether it is written as section 3 says; None when it is not an RFC 3339 time.

    A leap second (23:59:60 UTC) reads as the last second before it.
    """
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    if len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and text[11:13] != "24":
        try:  # written as section 3 says
            return datetime.fromisoformat(text), True
        except ValueError:
            pass  # a leap second, or no time
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    leap = second == 60
    try:
        moment = datetime(year, month, day, hour, minute, 59 if leap else second, tzinfo=UTC)
    except ValueError:
        return None
    shift = _offset(found[8])
    if shift is None:
        return None
    try:
        moment -= shift
    except OverflowError:
        return None
    if leap and (moment.hour, moment.minute) != (23, 59):
        return None
    if found[7]:
        moment += timedelta(microseconds=int(found[7][1:7].ljust(6, "0")))
    plain = len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and not leap
    return moment, plain


def _offset(zone: str) -> timedelta | None:
    if zone in "Zz":
        return timedelta(0)
    hours, minutes = int(zone[1:3]), int(zone[4:])
    if hours > 23 or minutes > 59:
        return None
    shift = timedelta(hours=hours, minutes=minutes)
    return -shift if zone[0] == "-" else shift


def moment_of(text: str) -> datetime:
    """The moment a timestamp names, in UTC. Raises ValueError."""
    found = read_time(text)
    if found is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    return found[0]


def write_time(moment: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SSZ`` of an aware datetime; fractions are dropped."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone names no moment; give an aware datetime")
    if moment.tzinfo is not UTC:
        moment = moment.astimezone(UTC)
    return f"{moment.replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def uuid_key(uuid: str) -> str:
    """The form under which an id is kept and looked up: UUIDs are compared without regard to case (RFC 4122)."""
    return uuid.lower()


def same_id(one: str | None, other: str | None) -> bool:
    """True if two ids are one by value."""
    if isinstance(one, str) and isinstance(other, str):
        return uuid_key(one) == uuid_key(other)
    return one == other
