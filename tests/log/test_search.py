"""A text holds the same in every carrier, whole, damaged, or cut at any byte."""

from __future__ import annotations

import io
import json
import random
from typing import Any

import pytest

from tests.conftest import rounds
from tests.golden.logs import log as golden
from tests.log.carriers import BAD, CARRIERS, GOOD, PRETTY, TIME
from tests.log.engines import GOOD as RECORD
from tests.log.found import everything
from tests.log.mixed_logs import GOOD_JSON, NSLIP, csp_message, good_log
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


@pytest.mark.parametrize("wire", PRETTY)
def test_a_mark_makes_white_space_no_prefix(wire: str) -> None:
    cut = CARRIERS["indented"](PRETTY[wire])[:-20]
    for data in (cut, cut.replace("\n", "\r\n"), cut[: cut.rindex("\n")] + "\r"):
        assert kinds(f"\ufeff{data}") == kinds(data)


CSP = GOOD["csp"].split("\n")


def test_two_services_are_two_texts() -> None:
    """Their lines are interleaved, and so may be those of others."""
    other = ["CSP/1", "FROM C", "TO D", "CTX C2", "INTENT QUERY", "", "QUERY Q1", "ASK why"]
    mixed = ["db-1  | ready for connections"]
    for one, two in zip(CSP, [*other, *[""] * len(CSP)], strict=False):
        mixed += [f"a-1   | {one}", f"b-1   | {two}"]
    said = [text.decode() for _, text in kinds("\n".join(mixed) + "\n")]
    assert said == [GOOD["csp"], "\n".join(other)]


@pytest.mark.parametrize("first", ["stdout", "stderr"])
def test_two_streams_are_two_texts(first: str) -> None:
    """Parts of two streams of one container come in any order; what they say has the time of its first part."""
    second = "stderr" if first == "stdout" else "stdout"
    one, two = GOOD["sstp"], GOOD["sap"]
    data = f"{TIME}.1Z {first} P {one[:30]}\n{TIME}.2Z {second} P {two[:20]}\n{TIME}.3Z {first} P {one[30:50]}\n"
    data += f"{TIME}.4Z {second} F {two[20:]}\n{TIME}.5Z {first} F {one[50:]}\n"
    columns = everything(scan(data.encode()))[0]
    assert [text.decode() for text in columns["raw"]] == [one, two]
    assert columns["time"] == [1767323045100000, 1767323045200000]


def test_a_mark_at_the_start_of_a_line_hides_no_time() -> None:
    data = f"\ufeff{TIME}Z {AFTER}\n\ufeff{TIME}Z {AFTER}\n"
    assert everything(scan(data.encode()))[0]["time"] == [1767323045000000] * 2


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


@pytest.mark.parametrize("behind", ["prose", "```json", "</message>"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_stands_directly_behind_a_block_makes_it_a_reject(carrier: str, behind: str) -> None:
    """Never a short good record, in any carrier."""
    text = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x"
    assert [kind for kind, _ in kinds(CARRIERS[carrier](f"{text}\n{behind}\n\n{AFTER}"))] == ["record", "reject"]


def test_the_next_line_of_the_log_ends_a_message() -> None:
    text = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x"
    data = f"{TIME} INFO sending\n{text}\n" * 50 + f"{TIME} INFO done\n"
    assert [kind for kind, _ in kinds(data)] == ["record"] * 50
    data = f"INFO:app: {text}\n" * 50
    assert [kind for kind, _ in kinds(data)] == ["record"] * 50


@pytest.mark.parametrize("size", [1, 200, 1000, 5000])
def test_an_object_that_stays_open_on_a_long_line_ends_with_it(size: int) -> None:
    """The next line has the same prefix and is no part of it; all of the log is read."""
    data = f'{TIME} INFO app: {AFTER} {"x" * size} {{"a": [\n{TIME} INFO app: {AFTER}\n'
    assert [kind for kind, _ in kinds(data)] == ["record", "record"]


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


def test_what_contains_another_is_the_record() -> None:
    """Content is never a record of its own; a wrapper is looked into."""
    sstp = next(record for record in GOOD_JSON if record.startswith(b'{"header"'))
    inside = {
        "nSLIP in a string of a message": sstp.replace(
            b'"header"', b'"note": ' + json.dumps(RECORD.decode()).encode() + b', "header"', 1
        ),
        "JSON in a quoted string": b'@a3|f0|c1|S0|d1|T1|t"' + sstp.replace(b'"', b'\\"') + b'"#',
        "a heredoc": csp_message(random.Random(5)).rstrip(b"\n"),
    }
    for name, record in inside.items():
        columns, rejects, _ = everything(scan(record + b"\n"))
        assert ([text.rstrip() for text in columns["raw"]], rejects) == ([record], []), name
    deep = f"x {sstp.decode()} y {RECORD.decode()}"
    wrapper = json.dumps({"log": RECORD.decode(), "more": [{"deep": deep}]}).encode()
    columns, rejects, _ = everything(scan(wrapper))
    assert (columns["raw"], rejects) == ([RECORD, sstp, RECORD], [])
    assert columns["inner"] == [0, 2, 2 + len(sstp) + 3]
    assert [wrapper[offset : offset + 1] for offset in columns["offset"]] == [b'"'] * 3


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
    data = head + RECORD + b"x" * 20_000 + RECORD + b"\n" + RECORD + b"\n"
    found = scan(io.BytesIO(data), limits=limits, batch_bytes=500)
    most = 0
    for batch in found:
        most = max(most, len(batch.raw(0).obj))
    assert found.counts.wires["nslip"] == 3
    assert most < 10_000


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


def test_a_document_begins_with_it() -> None:
    [one] = scan(MARK + "⫻a/b:c/1\nsaid\n".encode()).messages()
    assert (one.wire, one.offset, one.line) == ("kick", 0, 1)
