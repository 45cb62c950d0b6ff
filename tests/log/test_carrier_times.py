"""The time of a record in a container: its own, else that of its line, else that of the object around it."""

from __future__ import annotations

import pytest

import turnwire

FIRST = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in microseconds."""


@pytest.mark.parametrize("wire", [None, "nslip"])
def test_each_string_has_the_time_at_the_head_of_its_own_line(scan_core: str, wire: str | None) -> None:
    """A log of Docker whose texts begin with a time; no newline stands between the strings."""
    line = '{"log":"2026-01-01T00:00:0%dZ INFO @a3|f0|c3|S0|d1|T%d#","time":"2026-11-22T07:00:00.5Z"}\n'
    log = "".join(line % (number, number) for number in range(9)).encode()
    found = [int(time) for batch in turnwire.scan(log, wire=wire) for time in batch["time"]]
    assert found == [FIRST + number * 1_000_000 for number in range(9)]
