"""Timestamps: ISO 8601 date and time, the zone optional."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests import vectors
from turnwire.json.times import _of_form, is_timestamp, seconds

pytestmark = pytest.mark.once

TEXTS = [case["text"] for case in vectors.load("kick_forms") if case["kind"] == "time"]


@vectors.cases("kick_forms", kind="time")
def test_what_is_a_time(case: dict[str, Any]) -> None:
    assert is_timestamp(case["text"]) is case["good"]


def test_seconds_of_odd_forms() -> None:
    assert seconds("1970-01-01T00:00") == 0
    assert seconds("1970-01-01T24:00") == 86400
    assert seconds("1970-001T00:00:01.25Z") == 1.25
    assert seconds("1970-01-01T00:01.5Z") == 90


USUAL = st.from_regex(
    r"(000[04]|1970|20[0-9]{2})-[01][0-9]-[0-3][0-9][Tt][0-2][0-9]:[0-6][0-9]:[0-6][0-9]?Z?", fullmatch=True
)


@given(USUAL | st.sampled_from(TEXTS), st.sampled_from(["", "", "Z", " ", "\n", "Z\n", "+00:00"]))
def test_usual_timestamps_are_read_as_all_others(text: str, end: str) -> None:
    assert seconds(text + end) == _of_form(text + end)


DAYS = """
2026-01-15 20260115 2024-02-29 2023-02-29 2026-W01-1 2020W537 2026-W53-7 2026-366 2024366 2026-001 2026000 0000-01-01
9999-12-31 1969-12-31 2026-1-1 2026-13-01 2026-00-10
"""
HOURS = """
00 24 25 12:30 1230 12:30:45 123045 24:00:00 24:00:01 23:59:60 22:59:60 12:58:60 12:60 12:30:61 00:00:00 23:59:59
19:05:09
"""
ZONES = ("", "Z", "+01", "-01:30", "+0545", "+23:59", "-24:00", "+23:60", "z", "-23")


def test_times_are_those_that_python_reads() -> None:
    """Of what both read: neither the hour 24, nor leap seconds, nor days by their number."""
    count = 0
    for day, hour, fraction, zone in itertools.product(DAYS.split(), HOURS.split(), ("", ".5", ",25"), ZONES):
        text = f"{day}T{hour}{fraction}{zone}"
        found = seconds(text)
        odd = (fraction and len(hour.replace(":", "")) < 6) or hour.startswith("24") or hour.endswith("60")
        if found is None or odd or day[:4] == "0000" or day in ("2026-001", "2024366", "2026-366"):
            continue
        moment = datetime.fromisoformat(text)
        expected = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        whole = expected.replace(tzinfo=None) - expected.utcoffset() if expected.year < 9999 else None  # type: ignore[operator]
        assert whole is None or found == whole.replace(tzinfo=UTC).timestamp(), text
        count += 1
    assert count > 100
