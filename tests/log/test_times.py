"""Times as they stand in logs and in messages: what the compiled core reads, also by its short ways, is what the twin
reads."""

from __future__ import annotations

import json
import random
import re
from datetime import UTC, datetime, timedelta, timezone
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import needs_both
from tests.log.json_engines import JSON_WIRES, RECORDS, both
from turnwire.log.output.batch import line_start

pytestmark = pytest.mark.once

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
TIME = re.compile(r"\d\d\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$")


def twins() -> tuple[Any, Any]:
    return import_module("turnwire._native.framing.times"), import_module("turnwire.framing._times_py")


@needs_both
@given(TEXTS)
def test_twins_read_the_same_time(text: bytes) -> None:
    native, pure = twins()
    assert native.read_time(text) == pure.read_time(text)


@needs_both
@pytest.mark.parametrize("zone", ZONES)
def test_twins_read_the_same_zone_however_little_stands_behind(zone: str) -> None:
    native, pure = twins()
    for clock in ("10:00", "10:00:00", "10:00:00.25"):
        for tail in TAILS:
            text = f"2026-05-04T{clock}{zone}{tail}".encode()
            for size in range(16, len(text) + 1):
                assert native.read_time(text[:size]) == pure.read_time(text[:size]), text[:size]


@needs_both
@pytest.mark.parametrize("behind", NUMBERS)
def test_a_number_behind_a_time_is_no_zone(behind: str) -> None:
    for core in twins():
        for time in ("2026-05-04T10:00", "2026-05-04 10:00:00", "2026-05-04T10:00:00.25"):
            assert core.read_time(f"{time}{behind} x".encode()) == core.read_time(time.encode())


@pytest.mark.parametrize(("zone", "minutes"), [("+05:30", 330), ("-05:30", -330), ("-00:01", -1), ("Z", 0)])
def test_each_microsecond_counts_far_from_now(core: Any, zone: str, minutes: int) -> None:
    """A time is a whole number of them, beyond those that a float can tell apart."""
    for micros in range(123_456, 123_460):
        text = f"9999-12-30T12:00:00.{micros}{zone}".encode()
        time = datetime(9999, 12, 30, 12, 0, 0, micros, timezone(timedelta(minutes=minutes)))
        found = core("framing.times").read_time(text)
        assert found == ((time - EPOCH) // timedelta(microseconds=1), len(text))
        assert type(found[0]) is int


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


def fields(value: Any) -> list[tuple[Any, Any]]:
    """(container, key) of each time within a document."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    found = []
    for key, inner in pairs:
        found += [(value, key)] if isinstance(inner, str) and TIME.match(inner) else fields(inner)
    return found


def timed(wire: str, times: list[str]) -> bytes:
    """A log of messages of a wire, each with the next of these times in the place of one of its own."""
    documents = [json.loads(text) for text in RECORDS[wire] if _is_json(text)]
    documents = [document for document in documents if isinstance(document, dict) and fields(document)]
    assert documents
    chance = random.Random(1)
    lines = []
    for time in times:
        document = json.loads(json.dumps(chance.choice(documents)))
        place, key = chance.choice(fields(document))
        place[key] = time
        lines.append(json.dumps(document, ensure_ascii=False))
    return "\n".join(lines).encode() + b"\n"


def _is_json(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


@needs_both
@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("minute", ["2026-05-04T10:00", "2016-12-31T23:59", "0001-01-01T00:00", "9999-12-31T23:59"])
def test_times_of_one_minute_after_the_other(wire: str, minute: str) -> None:
    """What a time says is remembered by its minute: what is nearly of that minute is read as if it came alone."""
    ends = [":07Z", ":08Z", ":09.5Z", ":10.123456Z", ":11.1234567Z", ":1xZ", ":x1Z", ":60Z", ":61Z", ":59Z", ":5Z", "Z"]
    ends += [
        ":12X",
        ":12z",
        ":12",
        ":12+00:00",
        ":12-05:30",
        ":12.Z",
        ":12.5xZ",
        ":12.5X",
        "x12Z",
        ":12ZZ",
        ":12 Z",
        "",
    ]
    ends += [":12,5Z", ":12.5", ":12.5z", ":12+0530", ":12+05", ":60+00:00", ":60.5Z", ":12Z "]
    times = [f"{minute}{end}" for end in ends]
    chance = random.Random(minute)
    for _ in range(8):
        chance.shuffle(times)
        both(wire, timed(wire, [f"{minute}:01Z", *times, f"{minute}:02Z"]))


@needs_both
@pytest.mark.parametrize("wire", JSON_WIRES)
@given(st.lists(TEXTS.map(lambda text: text.decode()), max_size=6))
def test_any_times_in_messages(wire: str, times: list[str]) -> None:
    both(wire, timed(wire, ["2026-05-04T10:00:00Z", *times]))


def test_the_head_of_a_line_is_kept_over_blocks() -> None:
    for before, used, head in (
        (b"2026-", b"11-27 x", b"2026-11-27 x"),
        (b"a" * 200, b"b" * 200, b"a" * 200 + b"b" * 56),
        (b"", b"c" * 400, b"c" * 256),
        (b"a", b"b\nc", b"c"),
        (b"a", b"b\n", b""),
        (b"a", b"b\n" + b"c" * 400, b"c" * 256),
    ):
        assert line_start(before, memoryview(used)) == head
