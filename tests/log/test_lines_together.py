"""Records, and damage, in lines that belong together: what container engines cut, and messages behind prefixes. Each
has the time and the line of the line in which it begins."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest

import turnwire

pytestmark = pytest.mark.usefixtures("scan_core")

FIRST = datetime(2026, 1, 5, 9, 0, 0, 500_000, tzinfo=UTC)
HEADS = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n"
LONG = "x" * (16384 - 30)


def moment(second: int) -> str:
    """So many seconds behind the first one, as logs write it."""
    return f"2026-01-05T09:00:{second:02}.500000"


def cri(text: str) -> str:
    """In two parts of CRI."""
    half = len(text) // 2
    return f"{moment(0)}000Z stdout P {text[:half]}\n{moment(1)}000Z stdout F {text[half:]}\n"


def docker(text: str) -> str:
    """In two lines of Docker, which cuts behind 16 KiB."""
    whole = f"{LONG} {text}\n"
    parts = whole[:16384], whole[16384:]
    lines = ({"log": part, "stream": "stdout", "time": f"{moment(at)}000Z"} for at, part in enumerate(parts))
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)


def prefixed(text: str) -> str:
    """Each line behind its time and a level."""
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"{moment(at)}Z INFO agent: {line}".rstrip() + "\n" for at, line in enumerate(lines))


WAYS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "cri": (cri, '@a3|f0|c1|S0|d1|T1|t"a text"#', '@a3|f0|c$|S0|d1|T1|t"a text"#'),
    "docker": (docker, '@a3|f0|c1|S0|d1|T1|t"a text"#', '@a3|f0|c$|S0|d1|T1|t"a text"#'),
    "prefixed": (prefixed, HEADS, HEADS.replace("CTX C1\n", "")),
}


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("size", [1 << 20, 40])
@pytest.mark.parametrize("way", WAYS)
def test_a_record_over_lines_has_the_time_and_the_line_of_its_first(way: str, size: int, before: int) -> None:
    make, good, _ = WAYS[way]
    data = ("prose\n" * before + make(good) + "prose\n").encode()
    for wire in ("csp" if way == "prefixed" else "nslip", None):
        found = [
            (batch["line"].tolist(), batch["time"].tolist(), batch.valid("time").tolist())
            for batch in turnwire.scan(data, wire=wire, batch_bytes=size)
        ]
        assert found == [([before + 1], [int(FIRST.timestamp() * 1_000_000)], [True])]


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("size", [1 << 20, 40])
@pytest.mark.parametrize("way", WAYS)
def test_damage_over_lines_is_told_at_its_line(way: str, size: int, before: int) -> None:
    make, _, bad = WAYS[way]
    data = ("prose\n" * before + make(bad) + "prose\n").encode()
    for wire in ("csp" if way == "prefixed" else "nslip", None):
        scan = turnwire.scan(data, wire=wire, batch_bytes=size)
        assert sum(map(len, scan)) == 0
        (row,) = scan.rejects.rows()
        assert row["line"] == before + 1
        assert data.count(b"\n", 0, row["offset"]) == before
