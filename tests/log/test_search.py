"""A text holds the same in every carrier, whole, damaged, or cut at any byte."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from tests.conftest import rounds
from tests.golden.logs import log as golden
from tests.log.carriers import BAD, CARRIERS, GOOD, PRETTY
from tests.log.engines import GOOD as RECORD
from tests.log.found import everything
from tests.log.mixed_logs import GOOD_JSON, NSLIP, csp_message, good_log, long_lines
from turnwire import LIMITS, WIRES, Scan, scan

pytestmark = pytest.mark.usefixtures("scan_core")

AFTER = '@a2|f0|c9|S5|dA|T2|t"after"#'
"""A record that stands behind each message, so that damage is seen to cost no neighbour."""


def kinds(data: str) -> list[tuple[str, bytes]]:
    """The records of a log, and then its rejects, and what each says; all of its bytes are counted."""
    raw = data.encode()
    columns, rejects, counts = everything(scan(raw))
    assert counts.bytes == len(raw) == counts.record_bytes + counts.reject_bytes + counts.text_bytes, data
    ones = [("record", text) for text in columns["raw"]] + [("reject", one["raw"]) for one in rejects]
    return [(kind, text.replace(b"\r\n", b"\n").rstrip(b"\n")) for kind, text in ones]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", GOOD)
def test_a_good_message_is_a_record(wire: str, carrier: str) -> None:
    text = GOOD[wire]
    assert kinds(CARRIERS[carrier](f"{text}\n\n{AFTER}")) == [("record", text.encode()), ("record", AFTER.encode())]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", PRETTY)
def test_an_object_over_lines_is_a_record(wire: str, carrier: str) -> None:
    text = PRETTY[wire]
    (kind, said), after = kinds(CARRIERS[carrier](f"{text}\n{AFTER}"))
    if carrier == "indented":  # white space between its tokens is an object's own
        said = said.replace(b"\n    ", b"\n")
    assert [(kind, said), after] == [("record", text.encode()), ("record", AFTER.encode())]


@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("wire", BAD)
def test_a_damaged_message_is_a_reject(wire: str, carrier: str) -> None:
    ones = kinds(CARRIERS[carrier](f"{BAD[wire]}\n\n{AFTER}"))
    assert [kind for kind, _ in ones] == ["record", "reject"], ones


def counted(data: str) -> tuple[int, int]:
    """How many records and rejects a log holds."""
    found = scan(data.encode(), columns=["offset"])
    found.read()
    return found.counts.records, found.counts.rejects


@pytest.mark.parametrize("wire", [*GOOD, *(f"pretty {wire}" for wire in PRETTY)])
@pytest.mark.parametrize("tail", [False, True], ids=["cut off", "head cut off"])
def test_a_cut_message_is_what_it_is_in_a_file(tail: bool, wire: str) -> None:
    """A message that is cut at any byte is a reject wherever one is that stands in a file by itself. Each carrier has
    cuts of its own; of all of them there is one in four bytes."""
    text = (PRETTY[wire.removeprefix("pretty ")] if wire.startswith("pretty") else GOOD[wire]).encode()
    for at in range(1, len(text), 4):
        cut = (text[at:] if tail else text[:at]).decode("utf-8", "ignore")
        bare = counted(f"{cut}\n\n{AFTER}\n")
        for name in [*CARRIERS][at % 9 :: 9]:
            assert counted(CARRIERS[name](f"{cut}\n\n{AFTER}")) == bare, (name, at, cut)


@pytest.mark.parametrize("wire", GOOD)
def test_a_wrapper_that_is_cut_off_costs_no_word(wire: str) -> None:
    """A cut through the object around a message cuts the message: a reject, wherever one is that is cut in a file."""
    text = GOOD[wire]
    wrapped = json.dumps({"log": text + "\n", "stream": "stdout"})
    before = len(wrapped) - len(json.dumps(text + "\n").removeprefix('"')) - len(', "stream": "stdout"}')
    for at in range(before + 12, len(wrapped) - 30, 5):
        data = wrapped[:at]
        said = data[before:]
        while said.endswith("\\") or "\\u" in said[-6:]:
            said = said[:-1]
        plain = json.loads(f'"{said}"')
        bare = [kind for kind, _ in kinds(f"{plain}\n")]
        there = [kind for kind, _ in kinds(f"{data}\n")]
        assert not bare or there, (at, data)


# ----------------------------------------------------------------------------------------------------------------------
# A scan without a wire: the records of all wires in one pass, nothing lost, the same however it is read and cut.


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


def test_lines_over_the_limit_have_the_same_parts_wherever_blocks_end() -> None:
    """They are longer than any line that is waited for."""
    rejects = 0
    for number in range(rounds(20)):
        chance = random.Random(number)
        data = long_lines(chance)
        limits = LIMITS._replace(message=chance.choice((40, 100, 300, 1000, 4000, 5000)))
        once = everything(scan(data, limits=limits))
        rejects += len(once[1])
        for batch_bytes in (chance.randrange(64, 500), chance.randrange(1000, 9000)):
            cut = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes, threads=chance.choice((1, 3)))
            assert everything(cut) == once, (number, batch_bytes)
    assert rejects > 0


def test_a_long_line_behind_a_message_needs_no_memory() -> None:
    """It is read in pieces: what is held of it is bounded by the limit, also where a message was met before."""
    limits = LIMITS._replace(message=1000)
    head = csp_message(random.Random(1)) + b"\n"
    data = head + RECORD + b"x" * 60_000 + RECORD + b"\n" + RECORD + b"\n"
    found = scan(io.BytesIO(data), limits=limits, batch_bytes=500)
    most = 0
    for batch in found:
        most = max(most, len(batch.raw(0).obj))
    assert found.counts.wires["nslip"] == 3
    assert most < 20_000


SSTP = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))


@pytest.mark.parametrize("records", [(RECORD, RECORD, RECORD), (SSTP, RECORD, RECORD), (RECORD, SSTP, RECORD)])
def test_records_of_a_line_over_the_limit_are_found_once_wherever_it_is_cut(records: tuple[bytes, ...]) -> None:
    line = b" and ".join([*records, b"x" * 60])
    offsets = [0, len(records[0]) + 5, len(records[0] + records[1]) + 10]
    longest = max(map(len, records))
    for limit in range(longest, longest + 2 * len(RECORD) + 12, 3):
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
