"""Times of SAP are read as RFC 3339 has them, and written in UTC."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest

from turnwire.sap.times import read_time, write_time

pytestmark = pytest.mark.once

DAYS = ("2025-09-28", "2024-02-29", "2023-02-29", "0001-01-01", "9999-12-31", "2025-00-10", "2025-13-01", "2025-06-31")
HOURS = ("00:00:00", "10:15:23", "23:59:59", "23:59:60", "22:59:60", "24:00:00", "12:60:00", "12:59:61", "12:30:60")


@pytest.mark.parametrize("day", DAYS)
@pytest.mark.parametrize("zone", ["Z", "+01:00", "-01:30", "+23:59"])
def test_times_are_those_that_python_reads(day: str, zone: str) -> None:
    """Python reads what RFC 3339 and ISO 8601 share; neither leap seconds nor the hour 24."""
    for hour, fraction in itertools.product(HOURS, ("", ".5", ".05", ".000001", ".999999")):
        text = f"{day}T{hour}{fraction}{zone}"
        found = read_time(text)
        if ":60" in hour or hour.startswith("24"):
            continue
        try:
            expected = datetime.fromisoformat(text).astimezone(UTC)
        except (ValueError, OverflowError):
            assert found is None, text
            continue
        assert found is not None and found[0] == expected and found[0].tzinfo is UTC, text
        assert found[1] == (zone == "Z" and not fraction), text


@pytest.fixture(params=["UTC0", "IST-5:30"])
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Where the machine is, by its local time."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", request.param)
        time.tzset()
        yield
    time.tzset()


@pytest.mark.usefixtures("where")
@pytest.mark.skipif(not hasattr(time, "tzset"), reason="the local time is the system's alone here")
@pytest.mark.parametrize("hours", [-23, -1, 0, 1, 14])
def test_times_are_written_in_utc(hours: int) -> None:
    moment = datetime(2026, 1, 15, 12, 30, 45, 999_999, tzinfo=timezone(timedelta(hours=hours)))
    written = write_time(moment)
    assert written == (datetime(2026, 1, 15, 12, 30, 45) - timedelta(hours=hours)).isoformat() + "Z"
    assert read_time(written) == (moment.replace(microsecond=0), True)
