"""Times as they stand in logs and in messages: what the compiled core reads, also by its short ways, is what the twin
reads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import needs_both

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = ("2026-05-04", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0001-01-01", "0000-01-01", "9999-12-31")
DAYS += ("1970-01-01", "1969-12-31", "2026-13-01", "2026-00-10", "2026-04-31", "2026-4-03", "x026-05-04", "2026-05-4x")
BETWEEN = ("T", "t", " ", "_", "x", "")
CLOCKS = (
    "10:00:00",
    "23:59:60",
    "23:59:61",
    "24:00:00",
    "10:60:00",
    "10:00",
    "10:00:0",
    "1:00:00",
    "10:00:5x",
    "00:00:59",
)
PARTS = ("", ".5", ",5", ".123456", ".1234567", ".", ",", ".x", ".000001")
ZONES = (
    "",
    "Z",
    "z",
    " Z",
    "Zz",
    "Z1",
    "X",
    "+05:30",
    "-05:30",
    "+0530",
    "+05",
    "+05:3",
    "+05:",
    "+053",
    "+24:00",
    "+00:60",
)
ZONES += ("-23:59", " +05:30", "  Z", "+5:30", "+05:3x", "+05:301", "+0a", "é", ":", "-", "+", "+05Z", "+05:30Z")
NUMBERS = ("X05:30", "X0530", " 0530", " 105", "[05:30", "=05", "é05:30")
"""What is no zone, though digits as those of one stand in it."""
ZONES += NUMBERS
TAILS = ("", " INFO", ":", "0", "]")
TEXTS = st.builds(
    lambda *parts: "".join(parts).encode(),
    *(st.sampled_from(choice) for choice in (DAYS[:1] * 8 + DAYS, BETWEEN, CLOCKS, PARTS, ZONES, TAILS)),
)


def twins() -> tuple[Any, Any]:
    return import_module("turnwire._native.framing.times"), import_module("turnwire.framing._times_py")


@pytest.mark.once
@needs_both
@given(TEXTS)
def test_twins_read_the_same_time(text: bytes) -> None:
    native, pure = twins()
    assert native.read_time(text) == pure.read_time(text)


@pytest.mark.once
@needs_both
@pytest.mark.parametrize("behind", NUMBERS)
def test_a_number_behind_a_time_is_no_zone(behind: str) -> None:
    for core in twins():
        for time in ("2026-05-04T10:00", "2026-05-04 10:00:00", "2026-05-04T10:00:00.25"):
            assert core.read_time(f"{time}{behind} x".encode()) == core.read_time(time.encode())


@pytest.mark.once
@pytest.mark.parametrize(("zone", "minutes"), [("+05:30", 330), ("-05:30", -330), ("-00:01", -1), ("Z", 0)])
def test_each_microsecond_counts_far_from_now(core: Any, zone: str, minutes: int) -> None:
    """A time is a whole number of them, beyond those that a float can tell apart."""
    for micros in range(123_456, 123_460):
        text = f"9999-12-30T12:00:00.{micros}{zone}".encode()
        time = datetime(9999, 12, 30, 12, 0, 0, micros, timezone(timedelta(minutes=minutes)))
        found = core("framing.times").read_time(text)
        assert found == ((time - EPOCH) // timedelta(microseconds=1), len(text))
        assert type(found[0]) is int


@pytest.mark.once
def test_the_time_at_the_head_of_the_line_of_each_place(core: Any) -> None:
    data = b"1970-01-01T00:00:01Z a b\nno time\n[1970-01-01 00:01:00] c\n" + b" " * 300 + b"1970-01-01T00:00:01Z"
    offsets = np.array([0, 21, 24, 25, 30, 33, 50, len(data) - 1], np.int64)
    times, there = np.full(8, 77, np.int64), np.full(8, 77, np.uint8)
    core("framing.times").head_times(np.frombuffer(data, np.uint8), offsets, times, there)
    assert times.tolist() == [1_000_000] * 3 + [0, 0] + [60_000_000] * 2 + [0]
    assert there.tolist() == [1, 1, 1, 0, 0, 1, 1, 0]
    line = np.frombuffer(b"1970-01-01T00:00:01.5", np.uint8)
    core("framing.times").head_times(line, offsets[:1], times, there)
    assert (times[0], there[0]) == (1_500_000, 1), "the last line has no end"
