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
from tests.log import engines, json_engines
from tests.log.json_engines import JSON_WIRES
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


@pytest.mark.parametrize(("wire", "end"), [*zip(JSON_WIRES, (b"\n", b"\r\n", b"\r"), strict=True)])
def test_what_is_torn_where_the_limit_is(wire: str, end: bytes) -> None:
    """And of which no more has come, by so many bytes."""
    whole = message_of(wire, 0)
    for torn in (whole[:-1], whole[: whole.rindex(b'"')], whole[: whole.index(b":") + 1], whole):
        data = torn + end + b"x\n" + whole + end
        for limit in range(len(torn) - 1, len(torn) + 2):
            found = json_engines.both(wire, data, limit=limit)
            for cut in (len(torn) - 1, len(torn), len(torn) + 1, len(torn) + 3):
                assert json_engines.both(wire, data, limit=limit, batch_bytes=cut) == found, (limit, cut)


def test_a_candidate_of_nslip_that_begins_as_far_as_the_limit_reaches() -> None:
    """However long its first field is, and however much of it is there."""
    for digits in ("3", "00000000003"):
        good = f"@a{digits}|f0|c1|S0|d1|T1#".encode()
        for front in (34, 39, 40, 41):
            data = b'@a3|f0|c1|S0|d1|T1|t"'.ljust(front, b"x") + good + b"\n"
            found = [engines.read(name, data, limit=40) for name in engines.ENGINES]
            assert all(one == found[0] for one in found)
            for size in (38, 39, 40, 41, 42, 47, 59):
                for name in engines.ENGINES:
                    assert engines.read(name, data, limit=40, batch_bytes=size) == found[0], (name, front, size)


@on_each_core
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", [0, 1, 255, 256, 257, 600])
def test_lines_behind_many_lines(wire: str, number: int) -> None:
    """Empty ones, ones of text, and ones that end as those of Windows do."""
    for line in (b"\n", b"x\n", b"\r\n", b" \n", b"some text, more of it\n"):
        data = line * number + message_of(wire, 0) + b"\n\n"
        for options in ({"wire": wire}, {}):
            assert [one for batch in turnwire.scan(data, **options) for one in batch["line"].tolist()] == [number + 1]


@on_each_core
@pytest.mark.parametrize("limit", [100, 1000, 2999])
def test_a_damaged_object_that_is_too_long_is_told_where_the_limit_is(limit: int) -> None:
    """Of an object that is no message, though it has the marks of one."""
    text = '{"payload":{"kind":"query"},"header":{"actor_id":"' + "a" * 3000 + '"}}\n'
    for before in ("", "text\n"):
        scan = turnwire.scan((before + text).encode(), limits=LIMITS._replace(message=limit))
        assert sum(map(len, scan)) == 0
        assert [(one["reason"], one["fault"] - len(before)) for one in scan.rejects.rows()] == [
            ("message_too_large", limit)
        ]


@on_each_core
@pytest.mark.parametrize("wire", ["kick", None])
@pytest.mark.parametrize("size", [1, 16, 100, 200, 1 << 20])
def test_a_document_that_is_too_large_is_told_at_its_byte_of_the_input(wire: str | None, size: int) -> None:
    """Wherever blocks are cut: the fault is the first byte behind the limit."""
    before = b"prose that means nothing\n" * 4
    document = "⫻content/x:a/1\n".encode() + b"words of it\n" * 40
    for limit in (100, 101, len(document) - 1, len(document)):
        found = turnwire.scan(before + document, wire=wire, batch_bytes=size, limits=LIMITS._replace(message=limit))
        records = [(one.offset, one.length) for one in found.messages()]
        rejects = [(row["offset"], row["fault"], row["line"], row["reason"]) for row in found.rejects.rows()]
        if limit == len(document):
            assert (records, rejects) == ([(len(before), len(document))], [])
        else:
            assert (records, rejects) == ([], [(len(before), len(before) + limit, 5, "message_too_large")])


HEADER = {"kind": "knowledge", "actor_id": "a", "schema_id": "ioc.knowledge.v0", "session_id": "s", "logical_clock": 2}
SSTP = json.dumps({"header": HEADER, "payload": {"content": "c", "confidence": 0.5, "evidence_refs": []}})


@pytest.mark.parametrize("wire", ["sstp", None])
def test_a_record_ends_what_is_damaged_before_it(wire: str | None, scan_core: str) -> None:
    damaged = '{"header":{"actor_id":1,"schema_id":2},"messages":[' + '{"role":"user","content":"hi"},' * 6
    within = f'{{"said":[{SSTP},{SSTP}]}}'
    scan = turnwire.scan(f"{damaged}{within} {damaged}\n".encode(), wire=wire, columns=["offset", "length"])
    places = [place for batch in scan for place in zip(batch["offset"].tolist(), batch["length"].tolist(), strict=True)]
    first = len(damaged) + len('{"said":[')
    assert places == [(first, len(SSTP)), (first + len(SSTP) + 1, len(SSTP))]
    rejects = [(row["offset"], row["length"]) for row in scan.rejects.rows()]
    behind = len(damaged) + len(within)
    assert rejects[0] == (0, first)
    assert rejects[1][0] in (behind, behind + 1)
    assert sum(rejects[1]) == 2 * len(damaged) + len(within) + 1


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
