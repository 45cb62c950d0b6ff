"""Messages about as long as the limit, behind prefixes and in parts: each is read whole, or refused as at the top."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from itertools import accumulate
from typing import Any

import pytest

import turnwire
from tests.sap.scenario import task
from turnwire import LIMITS, sap

pytestmark = pytest.mark.once

HEAD = ["CSP/1", "FROM A", "TO B", "CTX C0", "INTENT QUERY", "", "QUERY Q1"]
HELD = ["NOTE", "<<<", *(f"text {number}" for number in range(5))]
MESSAGES = {
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
    """What the records say, and the reasons of the rejects."""
    scan = turnwire.scan(text.encode(), limits=LIMITS._replace(message=limit), columns=["offset"])
    records = [turnwire.encode(batch.message(row)) for batch in scan for row in range(len(batch))]
    return [one if isinstance(one, str) else one.decode() for one in records], [
        str(reject["reason"]) for reject in scan.rejects.rows()
    ]


@pytest.mark.parametrize("name", MESSAGES)
@pytest.mark.parametrize("form", FORMS)
def test_lines_behind_a_prefix_are_read_as_those_without(name: str, form: str) -> None:
    lines = MESSAGES[name]
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
