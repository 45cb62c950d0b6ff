"""Limits hold to the byte, however the input is cut and whatever carries it."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any

import pytest

import turnwire
from tests.fuzz.messages import MESSAGES
from tests.sap.scenario import task
from tests.test_utf8 import WORDS
from turnwire import LIMITS, WIRES, sap
from turnwire.log.search.texts import LONGEST_LINE

pytestmark = pytest.mark.once
on_each_core = pytest.mark.usefixtures("scan_core")


def message_of(wire: str, more: int) -> bytes:
    """A good message of a wire with so many bytes more in one of its texts."""
    text = next(text for text in MESSAGES[wire] if WORDS[wire] in text)
    return text.replace(WORDS[wire], WORDS[wire] + "x" * more, 1).encode()


@on_each_core
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "csp"])
def test_messages_as_long_as_may_be_behind_others_like_them(wire: str) -> None:
    """Of each length about the limit, behind short ones and between them."""
    for more in (0, 1, 63, 64, 65):
        limit = len(message_of(wire, more))
        lines = [message_of(wire, one) for one in (0, 0, 0, more, more + 1, 0, more + 2, more + 70, 0, more)]
        scan = turnwire.scan(b"\n".join(lines), wire=wire, limits=LIMITS._replace(message=limit))
        found = [size for batch in scan for size in batch["length"].tolist()]
        assert found == [len(line) for line in lines if len(line) <= limit]
        assert {one["reason"] for one in scan.rejects.rows()} == {"message_too_large"}


@on_each_core
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "csp"])
@pytest.mark.parametrize("ahead", range(5))
def test_messages_of_a_line_longer_than_is_waited_for(wire: str, ahead: int) -> None:
    """Blocks end within it, some bytes behind the first one of a message."""
    message = message_of(wire, 0)
    limit, number = len(message), LONGEST_LINE // len(message) + 1
    data = message * 4 * number
    scan = turnwire.scan(data, limits=LIMITS._replace(message=limit), batch_bytes=number * limit + ahead)
    offsets = [place for batch in scan for place in batch["offset"].tolist()]
    assert offsets == list(range(0, len(data), limit)) and not scan.counts.rejects


@on_each_core
@pytest.mark.parametrize("number", [LIMITS.fields - 1, LIMITS.fields, LIMITS.fields + 1, LIMITS.fields + 9])
def test_fields_of_csp_as_many_as_may_be(number: int) -> None:
    fields = "".join(f"K{n} v\n" for n in range(number))
    log = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN P1\n{fields}\n" * 3
    scan = turnwire.scan(log.encode(), wire="csp")
    good = number <= LIMITS.fields
    assert sum(map(len, scan)) == 3 * good
    assert [one["reason"] for one in scan.rejects.rows()] == ["too_many_fields"] * 3 * (not good)


@on_each_core
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", [0, 1, 255, 256, 257, 600])
def test_lines_behind_many_lines(wire: str, number: int) -> None:
    """Empty ones, ones of text, and ones that end as those of Windows do."""
    for line in (b"\n", b"x\n", b"\r\n", b" \n", b"some text, more of it\n"):
        data = line * number + message_of(wire, 0) + b"\n\n"
        for options in ({"wire": wire}, {}):
            assert [one for batch in turnwire.scan(data, **options) for one in batch["line"].tolist()] == [number + 1]


HEAD = ["CSP/1", "FROM A", "TO B", "CTX C0", "INTENT QUERY", "", "QUERY Q1"]
HELD = ["NOTE", "<<<", *(f"text {number}" for number in range(5))]

LONG_MESSAGES = {
    "fields": [*HEAD, *(f"GOAL{'X' * number} y" for number in range(5))],
    "a heredoc": [*HEAD, *HELD, ">>>"],
    "a heredoc and a field": [*HEAD, *HELD, ">>>", "OTHER z"],
    "a heredoc that is not closed": [*HEAD, *HELD],
    "another message in a heredoc that is not closed": [*HEAD, *HELD, *HEAD, "GOAL z"],
    "two messages": [*HEAD, "GOAL x", "", *HEAD, "GOAL y"],
}

CRI = "2026-01-01T00:00:00.000000000Z stdout "

FORMS: dict[str, Callable[[list[str]], str]] = {
    "repeated": lambda lines: "".join(f"app> {line}\n" for line in lines),
    "with white space at ends": lambda lines: "".join(f"app> {line}".rstrip() + "\n" for line in lines),
    "hanging": lambda lines: "- " + "\n  ".join(lines) + "\n",
    "bare": lambda lines: "app: " + "\n".join(lines) + "\n",
    "quoted": lambda lines: "".join(f"> {line}\n" for line in lines),
    "of CRI": lambda lines: "".join(f"{CRI}F {line}\n" for line in lines),
    "of CRI in parts": lambda lines: "".join(f"{CRI}P {line[:2]}\n{CRI}F {line[2:]}\n" for line in lines),
}


@cache
def found(text: str, limit: int) -> tuple[list[str], list[str]]:
    """The texts of the records, and the reasons of the rejects."""
    scan = turnwire.scan(text.encode(), limits=LIMITS._replace(message=limit), columns=["offset"])
    records = [turnwire.encode(batch.message(row)) for batch in scan for row in range(len(batch))]
    return [one if isinstance(one, str) else one.decode() for one in records], [
        str(reject["reason"]) for reject in scan.rejects.rows()
    ]


@pytest.mark.parametrize("name", LONG_MESSAGES)
@pytest.mark.parametrize("form", FORMS)
def test_lines_behind_a_prefix_are_read_as_those_without(name: str, form: str) -> None:
    lines = LONG_MESSAGES[name]
    if form == "bare" and name == "two messages":
        lines = lines[:8]  # the second one would have no prefix
    plain, behind = "".join(f"{line}\n" for line in lines), FORMS[form](lines)
    ends = list(accumulate(len(line) + 1 for line in lines))[3:]
    for limit in sorted({end + more for end in ends for more in (-1, 0)}):
        (whole, reasons), (records, others) = found(plain, limit), found(behind, limit)
        assert records == whole, limit
        told = ["unclosed_heredoc" if "heredoc" in name and one == "message_too_large" else one for one in reasons]
        assert others in (reasons, told), limit


def cri(text: str, size: int) -> str:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    return "".join(f"{CRI}{'F' if part is parts[-1] else 'P'} {part}\n" for part in parts)


def docker(text: str, size: int) -> str:
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    parts[-1] += "\n"
    return "".join(f"{json.dumps({'log': part, 'stream': 'stdout'}, ensure_ascii=False)}\n" for part in parts)


@pytest.mark.parametrize(("cut", "sizes", "least"), [(cri, (100, 33_000), 0), (docker, (16384, 20_000), 40_000)])
@pytest.mark.parametrize("letter", ["x", "\u00e9"])
def test_an_object_in_parts_is_read_whole_or_told_to_be_too_large(
    cut: Any, sizes: tuple[int, ...], least: int, letter: str
) -> None:
    """least: a line of Docker that is longer than the limit is none of a part."""
    made = task("work.who", {"said": letter * 30_000})
    text = json.dumps(json.loads(sap.encode(made)), ensure_ascii=False)
    exact = len(text.encode())
    for size in sizes:
        data = cut(text, size)
        for limit in {max(exact // 2, least), exact - 100, exact - 1, exact, exact + 1, exact + 2, 2 * exact}:
            records, reasons = found(data, limit)
            if limit >= exact:
                assert (len(records), reasons) == (1, []), (size, limit)
            else:
                assert records == [] and reasons[:1] == ["message_too_large"], (size, limit)
