"""Times and UUIDs of sessions at the edge of what they are: both cores find the same."""

from __future__ import annotations

import pytest

from tests.conftest import needs_both
from tests.session.test_cores import UUID, both
from turnwire._pure.session import times

pytestmark = [pytest.mark.once, needs_both]


@pytest.mark.parametrize("digits", range(12))
@pytest.mark.parametrize("year", ["0000", "0001", "1677", "1969", "1970", "2024", "2262", "2263", "9999"])
def test_times_of_every_year_with_so_many_digits(year: str, digits: int) -> None:
    native, _ = both("state")
    for day in ("01-01T00:00:00", "12-31T23:59:59", "02-29 12:00:00"):
        for fraction in ("0" * digits, "9" * digits, "1234567890123"[:digits]):
            text = f"{year}-{day}{'.' * bool(digits)}{fraction}Z"
            assert native.time_of(text) == times.read(text), text


@pytest.mark.parametrize(
    "sign", ["_", "a", "G", "z", "0", "9", "-", " ", "/", ":", "@", "[", "`", "{", "é", "\u0661", "あ"]
)
def test_a_letter_beside_a_uuid(sign: str) -> None:
    """It makes the UUID a part of something else, in front of it and behind it."""
    for text in (
        UUID + sign,
        sign + UUID,
        sign + UUID + sign,
        f"{UUID}{sign}x",
        f"x{sign}{UUID}",
        f"{UUID}{sign}{UUID}",
    ):
        for one in (text, text.replace("-", "")):
            native, pure = ((core.unhyphened(one), core.hyphened(one)) for core in both("repeats"))
            assert native == pure, one
