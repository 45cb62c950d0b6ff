"""Ids and times of SAP (section 3): what is written, what is read with an issue, what is refused."""

from __future__ import annotations

import re
from datetime import UTC, datetime

UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)
"""The 36-character form of RFC 4122, and no other (no braces, no urn:, no bare hex)."""

DIGEST = re.compile(r"sha256:[0-9a-fA-F]{64}", re.ASCII)

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt](?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)", re.ASCII
)  # RFC 3339, section 5.6
_STRICT_LENGTH = len("2025-09-28T10:15:23Z")


def read_time(text: str) -> tuple[datetime, bool] | None:
    """The moment a timestamp names, and whether it is written as section 3 says; None when it is not an RFC 3339 time.

    A leap second (23:59:60 UTC) reads as the last second before it.
    """
    if _TIME.fullmatch(text) is None:
        return None
    leap = text[17:19] == "60"
    try:
        moment = datetime.fromisoformat(f"{text[:17]}59{text[19:]}".upper() if leap else text.upper()).astimezone(UTC)
    except (ValueError, OverflowError):  # no day of the calendar, or one outside it by its zone
        return None
    if leap and (moment.hour, moment.minute) != (23, 59):
        return None
    return moment, len(text) == _STRICT_LENGTH and text[10] == "T" and text[19] == "Z" and not leap


def moment_of(text: str) -> datetime:
    """The moment a timestamp names, in UTC. Raises ValueError."""
    found = read_time(text)
    if found is None:
        raise ValueError(f"{text!r} is not an RFC 3339 time")
    return found[0]


def write_time(moment: datetime) -> str:
    """``YYYY-MM-DDTHH:MM:SSZ`` of an aware datetime; fractions are dropped."""
    return f"{in_utc(moment).replace(tzinfo=None).isoformat(timespec='seconds')}Z"


def in_utc(moment: datetime) -> datetime:
    """An aware datetime in UTC. Raises ValueError for one without a zone."""
    if moment.tzinfo is None:
        raise ValueError("a time without a zone is ambiguous; give an aware datetime")
    return moment if moment.tzinfo is UTC else moment.astimezone(UTC)


def uuid_key(uuid: str) -> str:
    """The form under which an id is kept and looked up: UUIDs are compared without regard to case (RFC 4122)."""
    return uuid.lower()


def same_id(one: str | None, other: str | None) -> bool:
    """True if two ids are one by value."""
    if one == other:
        return True
    return isinstance(one, str) and isinstance(other, str) and uuid_key(one) == uuid_key(other)
