"""JSON over several lines: what is a record, what is damage, and that no cut of the input shows."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from tests.log.engines import GOOD
from tests.log.found import add_up, everything
from tests.log.json_engines import both, quoted
from tests.log.mixed_logs import GOOD_JSON, csp_message
from turnwire import LIMITS, scan

pytestmark = pytest.mark.usefixtures("scan_core")
SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
PRETTY = json.dumps(json.loads(SSTP), indent=2).encode()


def found(data: bytes, **options: Any) -> tuple[list[bytes], list[tuple[int, bytes, str]]]:
    """(the records, the rejects as (line, bytes, reason)) of a scan of all wires."""
    result = everything(scan(data, **options))
    add_up(data, result)
    return result[0]["raw"], [(one["line"], one["raw"], one["reason"]) for one in result[1]]


def test_damage_ends_with_the_line_of_the_fault() -> None:
    lines = PRETTY.split(b"\n")
    for place in range(3, 7):
        for damage, within in ((lines[place].replace(b'"', b"", 1), 0), (lines[place].replace(b":", b"", 1), 1)):
            broken = [*lines[:place], damage, *lines[place + 1 :]]
            records, rejects = found(b"\n".join(broken) + b"\n" + SSTP + b"\n")
            assert records == [SSTP]
            assert [raw for line, raw, _ in rejects if line == 1] == [b"\n".join(broken[: place + within])]


@pytest.mark.parametrize(
    "line", [b"INFO next", b"2026-05-04T10:00:00Z INFO next", b"@a3 bad", b"{}", SSTP, b"```", b"CSP/1"]
)
def test_a_line_that_cannot_be_part_of_it_ends_an_object(line: bytes) -> None:
    torn = b'{"header": {"actor_id": "a", "schema_id": "b"},\n "payload":   \n\n'
    records, rejects = found(b"a\n" + torn + line + b"\n" + GOOD + b"\n")
    if line == b"{}":
        assert rejects[0][1] == torn.rstrip(b"\n") + b"\n\n{}"
    elif line == SSTP:  # its value, which is closed
        assert [raw for _, raw, _ in rejects] == [torn]
        assert records == [SSTP, GOOD]
    else:
        assert (rejects[0][0], rejects[0][1]) == (2, torn.rstrip(b"\n"))
    assert records[-1] == GOOD


def test_what_is_closed_in_an_open_object_is_found() -> None:
    """At the end of the input, at the limit, and where another wire begins."""
    array = b'{"messages": [\n' + b",\n".join([PRETTY, quoted(GOOD), SSTP]) + b",\n"
    assert found(array) == ([PRETTY, GOOD, SSTP], [])
    csp = csp_message(random.Random(3))
    assert found(array + csp)[0] == [PRETTY, GOOD, SSTP, csp]
    assert found(array * 9 + b"x\n")[0] == [PRETTY, GOOD, SSTP] * 9
    limits = LIMITS._replace(message=len(PRETTY) + 1)
    records, rejects = found(array[:-2] + b"]}\n" + PRETTY, limits=limits)
    assert (records, rejects) == ([PRETTY, GOOD, SSTP, PRETTY], [])
    records, rejects = found(PRETTY + b"\n" + SSTP + b"\n", limits=LIMITS._replace(message=len(PRETTY) - 1))
    assert records == [SSTP]
    assert {reason for _, _, reason in rejects} == {"message_too_large"}
    assert rejects[0][1].startswith(b'{\n  "header"')


@pytest.mark.parametrize(
    "rest", ['"t":\n"2026-01-01T00:00","origin":{"":""},"":{}}', '\n"2026-01-01T00:00":1,"origin":{}}x']
)
@pytest.mark.parametrize("front", ['{"":', '{"a":1,"b":', '{"":{"":', '{"":[', ""])
def test_an_object_that_closes_in_a_further_line_is_judged_by_itself(front: str, rest: str) -> None:
    """Its parent ends with the first line, since the next one begins with a time."""
    rejects = both("sstp", f'{front}{{"kind":"intent","d":"",{rest}'.encode())[1]
    assert [one["offset"] for one in rejects] == [len(front)]
