"""What begins first wins between CSP/1 at the start of lines and what stands behind a prefix: however cut, by both
cores, in linear time."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnwire
from tests.cost.measuring import is_bounded

pytestmark = pytest.mark.usefixtures("scan_core")

HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n"
MESSAGE = f"{HEAD}<<<\nCSP/1\nFROM X\n@a3|f0|c1|S0|d1|T1#\n>>>\n"
OPEN = f"{HEAD}<<<\nCSP/1\nFROM X\n"
Found = list[tuple[Any, ...]]


def found(data: bytes, **options: Any) -> Found:
    """(offset, length, line, wire, reason) of the records and rejects."""
    scan = turnwire.scan(data, **options)
    met: Found = [(one.offset, one.length, one.line, one.wire, None) for one in scan.messages()]
    names = ("offset", "length", "line", "wire", "reason")
    return sorted(met + [tuple(row[name] for name in names) for row in scan.rejects.rows()], key=lambda one: one[:2])


def indented(text: str, front: str) -> str:
    return "".join(front + line for line in text.splitlines(True))


@pytest.mark.parametrize("prefix", ["INFO x: ", "2026-05-04T10:00:00Z [a] ", "- "])
def test_csp_in_a_heredoc_behind_a_prefix_is_content(prefix: str) -> None:
    data = f"{prefix}{MESSAGE}".encode()
    place = len(prefix)
    assert found(data) == [(place, len(data) - place, 1, "csp", None)]
    after = HEAD.replace("DATA", "DATA x").encode()
    twice = found(data + b"\n" + data + b"\n" + after)
    assert [(one[0], one[4]) for one in twice] == [
        (place, None),
        (len(data) + 1 + place, None),
        (2 * len(data) + 2, None),
    ]


def test_a_heredoc_without_its_end_holds_no_message_of_the_log() -> None:
    good = HEAD.replace("DATA", "DATA x")
    data = f"INFO x: {HEAD}<<<\nabc\n{good}\n{good}".encode()
    assert [(one[3], one[4]) for one in found(data)] == [("csp", "unclosed_heredoc"), ("csp", None), ("csp", None)]


PIECES = [
    *(f"INFO x: {MESSAGE}", MESSAGE, indented(MESSAGE, "  "), indented(MESSAGE, "> "), f"INFO x: {OPEN}", OPEN, HEAD),
    *("  CSP/1\n", "  CSP/1\nFROM A\n", "x CSP/1\n", "<<<\n", ">>>\n", "\n", "text\n", "```\n", "CSP/1\n", "FROM A\n"),
    *("INFO x: CSP/1;A\n", "> CSP/1 MODE;A\n> STATUS ok\n", "STATUS ok\n", "@a3|f0|c1|S0|d1|T1#\n", '["CSP/1;A"]\n'),
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(PIECES), max_size=10), st.integers(1, 300))
def test_cuts_and_threads_change_nothing(pieces: list[str], size: int) -> None:
    data = "".join(pieces).encode()
    whole = found(data)
    assert found(data, batch_bytes=size) == whole
    assert found(data, batch_bytes=size, threads=3) == whole
    for wire in ("csp", "nslip"):
        assert found(data, wire=wire) == [one for one in whole if one[3] == wire]


@pytest.mark.parametrize(
    "piece",
    [
        f"INFO x: {MESSAGE}\n",
        "x CSP/1\nFROM A\nD\n<<<\nCSP/1\nFROM B\n>>>\n",
        indented(MESSAGE, "  ") + "\n",
        f"a: {OPEN}",
        "  CSP/1\n  FROM A\n",
        "x CSP/1;A\nSTATUS ok\n",
    ],
)
def test_linear_time(piece: str) -> None:
    def measured(count: int) -> float:
        data = (piece * count).encode()
        begin = time.thread_time()
        found(data, threads=1)
        return time.thread_time() - begin

    assert is_bounded(lambda: measured(35), lambda: measured(140), 4 * 2, 0.01), (
        "four times, and twice that at the most"
    )
