"""What begins first wins between CSP/1 at the start of lines and what stands behind a prefix: however cut, by both
cores, in linear time."""

from __future__ import annotations

import re
import time
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import turnwire
from tests.cost.measuring import is_bounded
from turnwire.contract import LINES, Column, TextPlan, Wire, record_bytes
from turnwire.log.input import reading

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


LOST = f"{HEAD.replace('DATA', 'CONTENT')}<<<\n" + "never closed\n" * 30
EMPTY = HEAD.replace("DATA\n", "")


@pytest.mark.parametrize(
    ("text", "size", "records", "reasons"),
    [
        pytest.param(
            f"{EMPTY}text\n{indented(EMPTY, '  ')}INFO x: {OPEN}INFO x: CSP/1\n{EMPTY}\nINFO x: CSP/1\n",
            1 << 20,
            [(67, False), (245, False)],
            ["stray_line", "unclosed_heredoc", "bad_header_line"],
            id="closed by what reaches over it",
        ),
        pytest.param(
            f"INFO x: {HEAD}<<<\n>>>\n>>>\nINFO x: {OPEN}>>>\n{LOST}INFO x: {MESSAGE}```\n{EMPTY}",
            1003,
            [(8, False), (93, False), (649, False), (759, False)],
            ["unknown_key"],
            id="closed by lines that reach over nothing",
        ),
        pytest.param(
            f"INFO x: {MESSAGE}{EMPTY}\nINFO x: {OPEN}```\n{indented(EMPTY, '  ')}INFO x: CSP/1\n{EMPTY}\n",
            1 << 20,
            [(8, False), (114, False), (271, False), (359, False)],
            ["unclosed_heredoc", "missing_to"],
            id="goes on behind it",
        ),
        pytest.param(
            f"{indented(EMPTY, '  ')}INFO x: {EMPTY}\nINFO x: {OPEN}{indented(EMPTY, '  ')}{EMPTY}text\n"
            f"INFO x: {MESSAGE}{HEAD}<<<\n>>>\n{EMPTY}\n",
            832,
            [(2, False), (84, False), (237, False), (490, False), (563, False)],
            ["unclosed_heredoc", "missing_to", "stray_line"],
            id="no message is open behind it",
        ),
    ],
)
def test_a_heredoc_without_its_end_marks_what_is_behind_it(
    text: str, size: int, records: list[tuple[int, bool]], reasons: list[str]
) -> None:
    """Where messages behind prefixes reach over such ones: what these claim is claimed anew."""
    limits = turnwire.LIMITS._replace(message=300)
    scan = turnwire.scan(text.encode(), wire="csp", limits=limits, batch_bytes=size)
    met: list[tuple[int, bool]] = []
    for one in scan:
        met += zip(one["offset"].tolist(), one["inside_unclosed_heredoc"].tolist(), strict=True)
    assert (met, [str(row["reason"]) for row in scan.rejects.rows()]) == (records, reasons)


def test_what_lines_behind_a_prefix_reach_over_is_claimed_anew() -> None:
    """Two windows of claims are taken back, the last one with where it began; and lines that are read once more with
    the next block give nothing twice."""
    data = b" CSP/1\nFROM A\n  CSP/1\n  FROM A\nCSP/1\nFROM"
    assert found(data) == [
        (1, 13, 1, "csp", "missing_to"),
        (16, 15, 3, "csp", "missing_to"),
        (31, 10, 5, "csp", "bad_header_value"),
    ]
    data = f"INFO x: {MESSAGE}INFO x: {OPEN}>>>\nCSP/1\n  CSP/1\nFROM A\n```".replace("\n\n", "\n").encode()
    whole = [
        (8, 81, 1, "csp", "bad_header_line"),
        (89, 19, 12, "nslip", None),
        (109, 4, 13, "csp", "bad_header_line"),
        (121, 85, 14, "csp", "bad_header_line"),
        (214, 13, 27, "csp", "missing_to"),
    ]
    assert found(data) == found(data, batch_bytes=len(data) - 1) == whole


@pytest.mark.parametrize("width", [0, 70, 80, 89, 200])
def test_what_lines_do_not_reach_over_stays_as_it_was_read(width: int) -> None:
    """Where a window of claims begins or ends does not matter: a message is open in front of the lines behind the
    prefix, so the heredoc behind them is its, and its content is not read."""
    front = f"{indented(EMPTY, '  ')}\n"
    data = f"{front}{EMPTY}\n{'text ' * width}\n{indented(EMPTY, 'app: ')}<<<\n{EMPTY}>>>\n".encode()
    whole = found(data)
    assert [one[4] for one in whole] == [None, None, None]
    for size in (1, 100, len(front), len(front) + 1, len(data) - 50):
        assert found(data, batch_bytes=size) == whole


def test_a_block_read_by_itself_leaves_nothing_open_behind_lines_that_reach_over_claims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where nothing else in it tells what was open in front: else the heredoc behind is one of the message."""
    monkeypatch.setattr(reading, "_NEAR", 40)
    held = "CSP/1\nFROM X\n\nCSP/1\nFROM Y\n"
    lines = "text\n" * 12
    data = f"{EMPTY}\n{lines * 2}CSP/1\n{lines}x {HEAD}<<<\n{held}>>>\n{lines}<<<\n{EMPTY}>>>\n{lines}".encode()
    whole = found(data, threads=1)
    for size in (180, 193, 200, 221):
        assert found(data, batch_bytes=size, threads=3) == whole, size


class Stamp(NamedTuple):
    text: str


STAMPS = Wire(
    "stamp",
    title="Stamps",
    package=__name__,
    style=LINES,
    detect=lambda data: data.startswith(b"2026-05-04T11"),
    decode=lambda data: Stamp(record_bytes(data).decode()),
    encode=lambda message, strict=True: message.text,
    message=Stamp,
    check=lambda message: [],
    prompt=lambda: "",
    plain=Stamp._asdict,
    damaged=lambda line: True,
    plan=TextPlan(
        opening=(b"2026-05-04T11",),
        whole=re.compile(rb"2026-05-04T11[^\n]*(?=\n|\Z)"),
        columns=(Column("text", "text"),),
    ),
)


@pytest.mark.usefixtures("registering")
def test_what_was_claimed_between_parts_of_a_line_is_no_longer_claimed() -> None:
    """A further wire whose records look like lines of a container engine: parts of another stream reach over two."""
    turnwire.register(STAMPS)
    parts = [b"T10:00:00Z stdout P {", b"T11:00:00Z stderr P @a3|f0|c1|S0", b"T11:00:01Z stderr F |d1|T1#"]
    data = b"".join(b"2026-05-04%b\n" % line for line in [*parts, b"T10:00:00Z stdout F }", b"T11:00:02Z"])
    assert [(one[2], one[3]) for one in found(data)] == [(2, "nslip"), (5, "stamp")]


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
