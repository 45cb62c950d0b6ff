"""Times of records: their own, else that of their line, else that of the object around them; in every form that logs
have, the same on both cores."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.conftest import needs_both
from tests.cores import use
from tests.log.engines import GOOD
from tests.log.found import everything
from turnwire import scan

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DAYS = ("2026-05-04", "2024-02-29", "2023-02-29", "1900-02-29", "2000-02-29", "0001-01-01", "0000-01-01", "9999-12-31")
DAYS += ("1970-01-01", "1969-12-31", "2026-13-01", "2026-00-10", "2026-04-31", "2026-4-03", "x026-05-04", "2026-05-4x")
BETWEEN = ("T", "t", " ", "_", "x", "")
CLOCKS = ("10:00:00", "23:59:60", "23:59:61", "24:00:00", "10:60:00", "10:00", "10:00:0", "1:00:00", "10:00:5x")
PARTS = ("", ".5", ",5", ".123456", ".1234567", ".", ",", ".x", ".000001")
NUMBERS = ("X05:30", "X0530", " 0530", " 105", "[05:30", "=05", "é05:30")
"""No zones, though digits as those of one stand in them."""
ZONES = ("", "Z", "z", " Z", "Zz", "Z1", "X", "+05:30", "-05:30", "+0530", "+05", "+05:3", "+05:", "+053", "+24:00")
ZONES += ("+00:60", "-23:59", " +05:30", "  Z", "+5:30", "+05:3x", "+05:301", "+0a", "é", ":", "-", "+", "+05Z")
ZONES += ("+05:30Z", *NUMBERS)
TAILS = ("", " INFO", ":", "0", "]")
TEXTS = st.builds(
    lambda *parts: "".join(parts).encode(),
    *(st.sampled_from(choice) for choice in (DAYS[:1] * 8 + DAYS, BETWEEN, CLOCKS, PARTS, ZONES, TAILS)),
)


def times_of(backend: str, heads: list[bytes]) -> list[Any]:
    """The times of records behind these texts, each at the start of a line."""
    with pytest.MonkeyPatch.context() as patch:
        use(backend, patch)
        return everything(scan(b"".join(b"%s %s\n" % (head, GOOD) for head in heads)))[0]["time"]


@pytest.mark.once
@needs_both
@given(st.lists(TEXTS, min_size=1, max_size=20))
def test_twins_read_the_same_time(heads: list[bytes]) -> None:
    assert times_of("native", heads) == times_of("pure", heads)


def test_a_number_behind_a_time_is_no_zone(backend: str) -> None:
    for time in ("2026-05-04T10:00", "2026-05-04 10:00:00", "2026-05-04T10:00:00.25"):
        alone, *others = times_of(backend, [time.encode(), *(f"{time}{behind} x".encode() for behind in NUMBERS)])
        assert others == [alone] * len(NUMBERS) and alone is not None


@pytest.mark.parametrize(("zone", "minutes"), [("+05:30", 330), ("-05:30", -330), ("-00:01", -1), ("Z", 0)])
def test_each_microsecond_counts_far_from_now(backend: str, zone: str, minutes: int) -> None:
    """A time is a whole number of them, beyond those that a float can tell apart."""
    far = datetime(9999, 12, 30, 12, tzinfo=timezone(timedelta(minutes=minutes)))
    each = range(123_456, 123_460)
    found = times_of(backend, [f"9999-12-30T12:00:00.{micros}{zone}".encode() for micros in each])
    assert found == [(far - EPOCH) // timedelta(microseconds=1) + micros for micros in each]


def test_the_time_at_the_head_of_the_line_of_each_place(backend: str) -> None:
    heads = [b"1970-01-01T00:00:01Z a", b"no time", b"[1970-01-01 00:01:00]", b" " * 300 + b"1970-01-01T00:00:01Z"]
    assert times_of(backend, heads) == [1_000_000, None, 60_000_000, None]


# --- of what carries records ------------------------------------------------------------------------------------------

CARRIED = [
    ("cri", "2026-01-01T00:00:00Z stdout F {}\n"),
    ("docker", '{{"log": "{}\\n", "stream": "stdout", "time": "2026-01-01T00:00:00Z"}}\n'),
    ("journald", '{{"MESSAGE": "{}", "__REALTIME_TIMESTAMP": "1767225600000000", "_SYSTEMD_UNIT": "a.service"}}\n'),
    ("string", '{{"a": "{}"}}\n'),
    ("list of lines", '{{"source": ["{}\\n", "more\\n"]}}\n'),
    ("file", "{}\n"),
]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", [None, "nslip", "csp"])
def test_what_a_record_came_through(wire: str | None) -> None:
    csp = "CSP/1\nFROM A\nTO B\nCTX C\nINTENT TASK\n\nTASK T1\nREQ x"
    log = "".join(form.format("@a3|f0|c1|S0|d1|T1|q1#") for _, form in CARRIED)
    log += "".join(f"app | {line}\n" for line in csp.split("\n"))
    wanted = [("nslip", carrier) for carrier, _ in CARRIED] + [("csp", "prefix")]
    batches = list(scan(log.encode(), wire=wire, columns=["wire", "carrier"]))
    found = [pair for batch in batches for pair in zip(batch["wire"], batch["carrier"], strict=True)]
    assert found == [one for one in wanted if wire in (None, one[0])]
    assert all("carrier" not in batch.names for batch in scan(log.encode(), wire=wire))
