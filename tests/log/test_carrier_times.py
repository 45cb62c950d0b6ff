"""The time of a record in a container: its own, else that of its line, else that of the object around it."""

from __future__ import annotations

import pytest

import turnwire
from turnwire.json._wrapper_py import TIME_NAMES

FIRST = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z in microseconds."""


@pytest.mark.parametrize("wire", [None, "nslip"])
def test_each_string_has_the_time_at_the_head_of_its_own_line(scan_core: str, wire: str | None) -> None:
    """A log of Docker whose texts begin with a time; no newline stands between the strings."""
    line = '{"log":"2026-01-01T00:00:0%dZ INFO @a3|f0|c3|S0|d1|T%d#","time":"2026-11-22T07:00:00.5Z"}\n'
    log = "".join(line % (number, number) for number in range(9)).encode()
    found = [int(time) for batch in turnwire.scan(log, wire=wire) for time in batch["time"]]
    assert found == [FIRST + number * 1_000_000 for number in range(9)]


def times(record: str) -> list[int | None]:
    """The times of the records in a log of one line."""
    return [
        int(batch["time"][row]) if batch.valid("time")[row] else None
        for batch in turnwire.scan(record.encode())
        for row in range(len(batch))
    ]


@pytest.mark.parametrize("name", [name.decode() for name in TIME_NAMES])
@pytest.mark.parametrize(
    ("value", "micros"),
    [
        ('"2026-01-01T00:00:00Z"', FIRST),
        ('"2026-01-01T02:00:00.25+02:00"', FIRST + 250_000),
        ("1767225600", FIRST),
        ("1767225600.25", FIRST + 250_000),
        ("1767225600250", FIRST + 250_000),
        ('"1767225600250000"', FIRST + 250_000),
        ("1767225600250000999", FIRST + 250_000),
        ("12", None),
        ("-1767225600", None),
        ("1.7e9", None),
        ('"soon"', None),
        ("null", None),
    ],
)
def test_members_of_the_object_around_a_string_are_its_time(
    scan_core: str, name: str, value: str, micros: int | None
) -> None:
    assert times(f'{{"message":"@a3|f0|c3|S0|d1|T1#","{name}":{value}}}') == [micros]


def test_the_first_name_of_the_table_counts_and_the_object_before_those_in_it(scan_core: str) -> None:
    say = '{"message":"@a3|f0|c3|S0|d1|T1#",%s}'
    assert times(say % '"ts":1767225609,"timestamp":1767225600') == [FIRST]
    assert times(say % '"in":{"time":1767225609},"_time":1767225600') == [FIRST]
    assert times(say % '"resource":{"timeUnixNano":"1767225600000000000"}') == [FIRST]
    assert times(say % '"a":{"b":{"time":1767225600}}') == [None]


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
    log = "".join(form.format("@a3|f0|c1|S0|d1|T1|q1#") for _, form in CARRIED)
    log += "".join(
        f"app | {line}\n" for line in ("CSP/1", "FROM A", "TO B", "CTX C", "INTENT TASK", "", "TASK T1", "REQ x")
    )
    wanted = [("nslip", carrier) for carrier, _ in CARRIED] + [("csp", "prefix")]
    batches = list(turnwire.scan(log.encode(), wire=wire, columns=["wire", "carrier"]))
    found = [pair for batch in batches for pair in zip(batch["wire"], batch["carrier"], strict=True)]
    assert found == [one for one in wanted if wire in (None, one[0])]
    assert all("carrier" not in batch.names for batch in turnwire.scan(log.encode(), wire=wire))
