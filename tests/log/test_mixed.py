"""A scan without a wire: the records of all wires in one pass, nothing lost, the same however it is read and cut."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from tests.conftest import rounds
from tests.golden.logs import log as golden
from tests.log.engines import GOOD
from tests.log.found import everything
from tests.log.mixed_logs import GOOD_JSON, NSLIP, csp_message, good_log
from turnwire import LIMITS, WIRES, DecodeError, Scan, scan
from turnwire.log.engine.columns import bulk_scanner

pytestmark = pytest.mark.usefixtures("scan_core")


def test_every_good_record_of_every_wire_is_found() -> None:
    chance = random.Random(1)
    met = set()
    for _ in range(rounds(25)):
        data, records = good_log(chance)
        found = scan(data)
        columns, rejects, _ = everything(found)
        assert rejects == []
        assert [WIRES[code] for code in columns["wire"]] == [wire for wire, _ in records], data
        raw = [text.rstrip(b"\n") for text in columns["raw"]]
        assert raw == [record for _, record in records]
        met |= {wire for wire, _ in records}
    assert met == set(WIRES)


def test_what_contains_another_is_the_record() -> None:
    """Content is never a record of its own; a wrapper is looked into."""
    sstp = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
    inside = {
        "nSLIP in a string of a message": sstp.replace(
            b'"header"', b'"note": ' + json.dumps(GOOD.decode()).encode() + b', "header"', 1
        ),
        "JSON in a quoted string": b'@a3|f0|c1|S0|d1|T1|t"' + sstp.replace(b'"', b'\\"') + b'"#',
        "a heredoc": csp_message(random.Random(5)).rstrip(b"\n"),
    }
    for name, record in inside.items():
        columns, rejects, _ = everything(scan(record + b"\n"))
        assert ([text.rstrip() for text in columns["raw"]], rejects) == ([record], []), name
    wrapper = json.dumps({"log": GOOD.decode(), "more": [{"deep": f"x {sstp.decode()} y {GOOD.decode()}"}]}).encode()
    columns, rejects, _ = everything(scan(wrapper))
    assert (columns["raw"], rejects) == ([GOOD, sstp, GOOD], [])
    assert columns["inner"] == [0, 2, 2 + len(sstp) + 3]
    assert [wrapper[offset : offset + 1] for offset in columns["offset"]] == [b'"'] * 3


def test_messages_and_errors() -> None:
    chance = random.Random(9)
    data = b"\n".join([GOOD, *GOOD_JSON[:40], csp_message(chance).rstrip(b"\n"), b"", b"@a3|f0 bad", GOOD])
    found = scan(data)
    for batch in found:
        for row, wire in enumerate(batch["wire"]):
            assert type(batch.message(row)) is type(bulk_scanner(wire).decode(bytes(batch.raw(row))))
    assert [one["wire"] for one in found.rejects.rows()] == ["nslip"]
    with pytest.raises(DecodeError, match="bad_digit") as caught:
        list(scan(data, errors="raise"))
    assert (caught.value.wire, caught.value.offset) == ("nslip", data.index(b" bad"))
    whole = everything(scan(data))[0]
    for where, passes in (
        ({"wire": {"csp", "kick"}}, lambda row: WIRES[whole["wire"][row]] in ("csp", "kick")),
        ({"text": b"hello"}, lambda row: b"hello" in whole["raw"][row]),
        ({"sender": "0"}, lambda row: whole["sender"][row] == "0"),
    ):
        chosen = everything(scan(data, where=where, threads=2))[0]
        assert chosen["record"] == [row for row in whole["record"] if passes(row)], where
        assert chosen["raw"] == [whole["raw"][row] for row in chosen["record"]]


HEADS = (b"CSP/1", b"csp/ 1", b"   CSP/1", b"\xef\xbb\xbfCSP/1", b"\t" * 70 + b"CSP/1", b"CSP/1;a=b", b"CSP", b"CSP/")
HEADS += (b"x CSP/1", b" " * 80, b"\xef\xbb", b"Csp / 9 x", b"```", b"<<<<<", b">>>>>")
"""Lines that look like the first of a CSP/1 message, or nearly."""


def test_small_limits_do_not_make_cuts_visible() -> None:
    chance = random.Random(17)
    too_large = rows = 0
    for number in range(rounds(8)):
        lines = golden(number).data.split(b"\n")
        for _ in range(chance.randrange(4)):
            lines.insert(chance.randrange(len(lines) + 1), chance.choice(HEADS))
        data = b"\n".join(lines)
        for message in (1, 4, chance.randrange(8, 40), chance.randrange(40, 400), 16 << 20):
            limits = LIMITS._replace(message=message)
            once = everything(scan(data, limits=limits))
            assert once[2].record_bytes + once[2].reject_bytes + once[2].text_bytes == once[2].bytes == len(data)
            too_large += once[2].reasons.get("message_too_large", 0)
            rows += len(once[0]["offset"])
            for batch_bytes in (chance.randrange(1, 9), chance.randrange(9, 200)):
                threads = chance.choice((1, 1, 2, 3))
                cut = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes, threads=threads)
                assert everything(cut) == once, (message, batch_bytes, threads, data)
    assert too_large > 0
    assert rows > 0


def test_a_long_line_behind_a_message_needs_no_memory() -> None:
    """It is read in pieces: what is held of it is bounded by the limit, also where a message was met before."""
    limits = LIMITS._replace(message=1000)
    head = csp_message(random.Random(1)) + b"\n"
    data = head + GOOD + b"x" * 20_000 + GOOD + b"\n" + GOOD + b"\n"
    found = scan(io.BytesIO(data), limits=limits, batch_bytes=500)
    most = 0
    for batch in found:
        most = max(most, len(batch.raw(0).obj))
    assert found.counts.wires["nslip"] == 3
    assert most < 10_000


SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))


@pytest.mark.parametrize("records", [(GOOD, GOOD, GOOD), (SSTP, GOOD, GOOD), (GOOD, SSTP, GOOD)])
def test_records_of_a_line_over_the_limit_are_found_once_wherever_it_is_cut(records: tuple[bytes, ...]) -> None:
    line = b" and ".join([*records, b"x" * 60])
    offsets = [0, len(records[0]) + 5, len(records[0] + records[1]) + 10]
    longest = max(map(len, records))
    for limit in range(longest, longest + 2 * len(GOOD) + 12, 3):
        for block in (1 << 20, 7):
            found = scan(io.BytesIO(line), limits=LIMITS._replace(message=limit), batch_bytes=block)
            columns, rejects, _ = everything(found)
            assert (columns["offset"], rejects) == (offsets, []), (limit, block)


MARK = b"\xef\xbb\xbf"


def found_with_mark(found: Scan, moved: int = 0) -> tuple[list[Any], list[Any]]:
    """The records and rejects of a scan, as if they stood so many bytes further."""
    records = [(one.wire, one.offset + moved, one.length, one.line, one.inner) for one in found.messages()]
    rejects = found.rejects.rows()
    for row in rejects:
        row |= {name: row[name] + moved for name in ("offset", "fault")}
        del row["file"]
    return records, rejects


@pytest.mark.usefixtures("toys")
def test_a_mark_changes_nothing() -> None:
    chance = random.Random(23)
    met = 0
    for number in range(rounds(20)):
        data = chance.choice((b"", b"MEMO ada\nhello\nEND\n")) + golden(number).data
        expected = found_with_mark(scan(data), 3)
        met += len(expected[0])
        for batch_bytes in (1 << 20, chance.choice((1, 2, 5, 9, 100))):
            marked = scan(MARK + data, batch_bytes=batch_bytes, threads=chance.choice((1, 2)))
            assert found_with_mark(marked) == expected, (batch_bytes, data)
    assert met > 5


@pytest.mark.parametrize("batch_bytes", [1, 2, 3, 4, 1000])
def test_nothing_but_a_mark(batch_bytes: int) -> None:
    for data in (b"\xef", b"\xef\xbb", MARK, MARK + b"\n", MARK + b"CS", MARK * 2):
        found = scan(data, batch_bytes=batch_bytes)
        assert found_with_mark(found) == ([], []) and found.counts.bytes == len(data), data
    assert found_with_mark(scan(MARK + NSLIP[0], batch_bytes=batch_bytes))[0] == [("nslip", 3, len(NSLIP[0]), 1, None)]


def test_a_document_begins_with_it() -> None:
    [one] = scan(MARK + "⫻a/b:c/1\nsaid\n".encode()).messages()
    assert (one.wire, one.offset, one.line) == ("kick", 0, 1)
