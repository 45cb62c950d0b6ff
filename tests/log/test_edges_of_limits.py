"""Limits hold to the byte, whatever way a scan takes: for messages that are like those before them, for what is cut off
where the limit is, and for what begins as far as the limit reaches. And lines are counted, however many there are."""

from __future__ import annotations

import json
from itertools import product

import pytest

import turnwire
from tests.fuzz.edits import MESSAGES
from tests.log import engines, json_engines
from tests.log.json_engines import JSON_WIRES
from tests.log.plain_values import plain_values
from tests.test_utf8 import WORDS
from turnwire import LIMITS, WIRES
from turnwire.nslip import base62

on_each_core = pytest.mark.usefixtures("scan_core")


def message_of(wire: str, more: int) -> bytes:
    """A good message of a wire with so many bytes more in one of its texts."""
    text = next(text for text in MESSAGES[wire] if WORDS[wire] in text)
    return text.replace(WORDS[wire], WORDS[wire] + "x" * more, 1).encode()


@on_each_core
@pytest.mark.parametrize("wire", [wire for wire in WIRES if wire != "csp"])
def test_messages_as_long_as_may_be_behind_others_like_them(wire: str) -> None:
    """Of each length about the limit, behind short ones and between them."""
    for more in (0, 1, 40, 63, 64, 65, 400):
        limit = len(message_of(wire, more))
        lines = [message_of(wire, one) for one in (0, 0, 0, more, more + 1, 0, more + 2, more + 70, 0, more)]
        scan = turnwire.scan(b"\n".join(lines), wire=wire, limits=LIMITS._replace(message=limit))
        found = [size for batch in scan for size in batch["length"].tolist()]
        assert found == [len(line) for line in lines if len(line) <= limit]
        assert {one["reason"] for one in scan.rejects.rows()} == {"message_too_large"}


@on_each_core
@pytest.mark.parametrize("number", [LIMITS.fields - 1, LIMITS.fields, LIMITS.fields + 1, LIMITS.fields + 9])
def test_fields_of_csp_as_many_as_may_be(number: int) -> None:
    fields = "".join(f"K{n} v\n" for n in range(number))
    log = f"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN P1\n{fields}\n" * 3
    scan = turnwire.scan(log.encode(), wire="csp")
    good = number <= LIMITS.fields
    assert sum(map(len, scan)) == 3 * good
    assert [one["reason"] for one in scan.rejects.rows()] == ["too_many_fields"] * 3 * (not good)


@pytest.mark.once
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_what_is_torn_where_the_limit_is(wire: str, end: bytes) -> None:
    """And of which no more has come, by so many bytes."""
    whole = message_of(wire, 0)
    for torn in (whole[:-1], whole[: whole.rindex(b'"')], whole[: whole.index(b":") + 1], whole):
        data = torn + end + b"x\n" + whole + end
        for limit in range(len(torn) - 2, len(torn) + 3):
            found = json_engines.both(wire, data, limit=limit)
            for cut in range(len(torn) - 2, len(torn) + 6):
                assert json_engines.both(wire, data, limit=limit, cuts=(cut,)) == found, (limit, cut)


@pytest.mark.once
def test_a_candidate_of_nslip_that_begins_as_far_as_the_limit_reaches() -> None:
    """However long its first field is, and however much of it is there."""
    for digits in ("3", "03", "0000000003", "00000000003", "000000000003"):
        good = f"@a{digits}|f0|c1|S0|d1|T1#".encode()
        for front in range(34, 44):
            data = b'@a3|f0|c1|S0|d1|T1|t"'.ljust(front, b"x") + good + b"\n"
            found = [engines.read(name, data, limit=40) for name in engines.ENGINES]
            assert all(one == found[0] for one in found)
            for cut in range(38, min(60, len(data) + 1)):
                for name in engines.ENGINES:
                    assert engines.read(name, data, limit=40, cuts=(cut,)) == found[0], (name, front, cut)


@pytest.mark.once
@pytest.mark.parametrize("wire", JSON_WIRES)
@pytest.mark.parametrize("letter", ["é", "€", "😀"])
def test_a_line_over_the_limit_is_cut_in_front_of_a_character(wire: str, letter: str) -> None:
    base = message_of(wire, 0)
    front, behind = base.split(WORDS[wire].encode(), 1)
    for spare in range(5):
        for limit in (len(front) + 60, len(front) + 200):
            data = front + b"x" * (limit - len(front) - spare) + letter.encode() * 9 + behind + b"\n" + base + b"\n"
            assert json_engines.both(wire, data, limit=limit).bad
            json_engines.both(wire, data[:-40], limit=limit, cuts=(limit - 1, limit, limit + 1))


@pytest.mark.once
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_room_that_ends_in_a_string(wire: str) -> None:
    """Of records or of rejects, in front of each of them: what was found in the string is told once."""
    good = message_of(wire, 0).decode()
    bad = good.replace(*{"sstp": ('"pass"', "5"), "sap": ('"FAILED"', "5"), "kick": ('"Command"', '"Commend"')}[wire])
    for inner in ((good,), (bad, good), (good, bad, good), (bad, bad, good, bad), (bad, good, bad)):
        members = {"a": good, "b": " ".join(inner), "c": "x", "d": "\n".join(reversed(inner))}
        data = (json.dumps(members) + "\n" + good).encode()
        whole = json_engines.both(wire, data)
        assert (whole.rows > 1, whole.bad > 0) == (True, bad in inner)
        for rooms in product((2, 3, 4, 5), (3, 4, 5)):  # as many as there are in one string, at least
            assert json_engines.both(wire, data, rooms=rooms) == whole, rooms


@on_each_core
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("number", [0, 1, 254, 255, 256, 257, 300, 511, 512, 600, 1025])
def test_lines_behind_many_lines(wire: str, number: int) -> None:
    """Empty ones, ones of text, and ones that end as those of Windows do."""
    for line in (b"\n", b"x\n", b"\r\n", b" \n", b"some text, more of it\n"):
        data = line * number + message_of(wire, 0) + b"\n\n"
        for options in ({"wire": wire}, {}):
            assert [one for batch in turnwire.scan(data, **options) for one in batch["line"].tolist()] == [number + 1]


@on_each_core
@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("other", WIRES)
def test_a_message_in_a_string_behind_a_record_of_the_same_line(wire: str, other: str) -> None:
    first, second = message_of(wire, 0), message_of(other, 0).decode()
    if wire == "csp":
        first = json.dumps(first.decode()).encode()
    for between in (b" msg=", b" ", b" and, ", b'\t"x" '):
        line = b"INFO " + first + between + json.dumps(second).encode() + b" end\n"
        scan = turnwire.scan(line * 2)
        names = [turnwire.registry.names()[code] for batch in scan for code in batch["wire"].tolist()]
        assert sorted(names) == sorted([wire, other] * 2), (between, scan.rejects.rows())


@on_each_core
@pytest.mark.parametrize("turn", [2**63 - 2, 2**63 - 1, 2**63, 2**64 - 1, 0])
def test_turns_as_numbers_of_a_sequence(turn: int) -> None:
    """Those of 63 bits, in a log of nSLIP alone and beside others, and in strings."""
    record = f"@a1|f0|c1|S1|d2|T{base62.encode(turn)}#"
    for text in (
        record,
        f"x {record}",
        f'{{"a":1}}\n{record}',
        json.dumps({"text": record}),
        f'[{{"text": "{record}"}}]',
    ):
        (batch,) = turnwire.scan(f"{text}\n".encode())
        assert plain_values(batch, "sequence") == [turn if turn < 2**63 else None]


@on_each_core
@pytest.mark.parametrize("limit", [100, 1000, 2999])
def test_a_damaged_object_that_is_too_long_is_told_where_the_limit_is(limit: int) -> None:
    """Of an object that is no message, though it has the marks of one."""
    text = '{"payload":{"kind":"query"},"header":{"actor_id":"' + "a" * 3000 + '"}}\n'
    for before in ("", "text\n"):
        scan = turnwire.scan((before + text).encode(), limits=LIMITS._replace(message=limit))
        assert list(scan) == [] or sum(map(len, scan)) == 0
        found = [(one["reason"], one["fault"] - len(before)) for one in scan.rejects.rows()]
        assert found in ([("message_too_large", limit)], [])
        assert found or limit < 60


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


@on_each_core
@pytest.mark.parametrize("size", [50, 260, 1 << 20])
@pytest.mark.parametrize("wire", ["nslip", "csp", "sstp"])  # whose records say no time
def test_a_line_behind_one_over_the_limit_has_a_time_of_its_own(wire: str, size: int) -> None:
    said = json.dumps({"log": message_of(wire, 0).decode()}).encode()
    limits = LIMITS._replace(message=len(said) + 30)
    long, good = b"2026-05-04T10:00:00Z @" + b"x" * 3 * limits.message, b"2026-05-04T11:00:00Z " + said
    scan = turnwire.scan(b"\n".join((long, good, good)), batch_bytes=size, limits=limits)
    assert [one for batch in scan for one in plain_values(batch, "time")] == [1777892400_000000] * 2
