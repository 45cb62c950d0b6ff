"""A scan without a wire: the records of all wires in one pass, nothing lost, the same however it is read and cut."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.conftest import rounds
from tests.log.engines import GOOD
from tests.log.found import add_up, everything, fed, in_pieces
from tests.log.mixed_logs import GOOD_JSON, NSLIP, assembled, csp_message, damaged_log, good_log
from turnwire import LIMITS, WIRES, DecodeError, Decoder, Scan, scan
from turnwire.log import plan, read_block
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


@pytest.mark.parametrize("record", [GOOD, GOOD_JSON[0]], ids=["nslip", "json"])
def test_two_writers_at_once(record: bytes) -> None:
    """A whole line of another wire inside a damaged CSP/1 message is found, and is not part of the reject."""
    lines = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS MAYBE\nDATA x\n"
    whole = lines.splitlines(keepends=True)
    for place in range(1, len(whole)):
        for end in (b"\n", b"\r\n"):
            data = b"".join(whole[:place]) + record + end + b"".join(whole[place:]) + GOOD + b"\n"
            found = everything(scan(data))
            add_up(data, found)
            columns, rejects, _ = found
            assert columns["raw"] == [record, GOOD], (place, data)
            assert {one["wire"] for one in rejects} == {"csp"}
            assert all(record not in one["raw"] for one in rejects)


def test_a_damaged_one_ends_where_another_begins() -> None:
    sstp = GOOD_JSON[0]
    for data, raw, wires in (
        (b"@a3|f0 " + sstp + GOOD, [sstp, GOOD], ["nslip"]),
        (GOOD[:-3] + sstp + b"\n", [sstp], ["nslip"]),
        (sstp[:-9] + GOOD + b"\n", [GOOD], [None]),
        (b"CSP/1\nFROM A\n" + sstp + b"\n", [sstp], ["csp"]),
        (GOOD + b"\0" * 100 + sstp + b"\0", [GOOD, sstp], []),
    ):
        columns, rejects, _ = found = everything(scan(data))
        add_up(data, found)
        assert columns["raw"] == raw, data
        if wires != [None]:
            assert [one["wire"] for one in rejects] == wires


def test_messages_errors_and_conditions() -> None:
    chance = random.Random(9)
    data = b"\n".join([GOOD, *GOOD_JSON[:40], csp_message(chance).rstrip(b"\n"), b"", b"@a3|f0 bad", GOOD])
    found = scan(data)
    for batch in found:
        for row, wire in enumerate(batch["wire"]):
            assert type(batch.message(row)) is type(bulk_scanner(wire).decode(bytes(batch.raw(row))))
    assert [one["wire"] for one in found.rejects.rows()] == ["nslip"]
    raised = scan(data, errors="raise")
    with pytest.raises(DecodeError, match="bad_digit") as caught:
        list(raised)
    assert (caught.value.wire, caught.value.offset) == ("nslip", data.index(b" bad"))
    columns = everything(found := scan(data))[0]
    for where in (
        {"wire": "nslip"},
        {"wire": {"csp", "kick"}},
        {"kind": "REQUEST"},
        {"text": b"hello"},
        {"sender": "0"},
    ):
        chosen = everything(scan(data, where=where, threads=2))[0]
        rows = [row for row in range(len(columns["raw"])) if row_passes(columns, row, where)]
        assert chosen["record"] == rows, where
        assert chosen["raw"] == [columns["raw"][row] for row in rows]
    assert everything(scan(data, columns=["sender"]))[0]["sender"] == columns["sender"]


def row_passes(columns: dict[str, list[Any]], row: int, where: dict[str, Any]) -> bool:
    ((name, wanted),) = where.items()
    if name == "text":
        return wanted in columns["raw"][row]
    value = columns[name][row]
    if name in ("wire", "kind"):
        value = next(column.names for column in scan(b"").columns if column.name == name)[value]
    return value in (wanted if isinstance(wanted, set) else {wanted})


@pytest.mark.parametrize(
    "data",
    [
        b"prose\n%b\n%b\nmore\n",
        b"prose\n```\n%b\n%b\n```\n@a3|f0|c1|S0|d1|T1#\n",
        b"@a3|f0|c1|S0|d1|T1#\n````\nx\n%b\n%b\n```\n````\nx\n",
        b"```\n@a3|f0|c1|S0|d1|T1#\n%b\n```\n@a3|f0|c2|S0|d1|T1#\n%b\n",
    ],
)
def test_a_position_knows_whether_a_document_may_begin(data: bytes, tmp_path: Path) -> None:
    """Behind prose, in a fence and behind one, as one scan has it; what is in a document that waits stays in it."""
    data %= ("⫻note/x:y/1".encode(), GOOD)
    path = tmp_path / "a.log"

    def found(scanned: Scan) -> list[tuple[int, bytes]]:
        return [(int(at), bytes(batch.raw(row))) for batch in scanned for row, at in enumerate(batch["offset"])]

    path.write_bytes(data)
    whole = found(scan(path, resume={}))
    for cut in [at for at in range(len(data) + 1) if data[at - 1 : at] in (b"", b"\n", b"`", b"n")]:
        path.write_bytes(data[:cut])
        first = scan(path, resume={})
        before = found(first)
        path.write_bytes(data)
        assert before + found(scan(path, resume=json.dumps(first.position))) == whole, cut


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_string_that_its_line_cuts_off(end: bytes) -> None:
    """Its newline is where reading failed, with or without a carriage return."""
    damaged = b'@a3|f0|c1|S0|d1|T1|t"x'
    (reject,) = everything(scan(damaged + end))[1]
    reason = "newline_in_string" if end else "unterminated_string"
    fault = len(damaged + end) - 1 if end else damaged.index(b'"')
    assert (reject["raw"], reject["reason"], reject["fault"]) == (damaged, reason, fault)


HEADS = (
    b"CSP/1",
    b"csp/ 1",
    b"   CSP/1",
    b"\xef\xbb\xbfCSP/1",
    b"\t" * 70 + b"CSP/1",
    b"CSP/1;a=b",
    b"CSP",
    b"CSP/",
    b"x CSP/1",
    b" " * 80,
    b"\xef\xbb",
    b"Csp / 9 x",
    b"```",
    b"<<<<<",
    b">>>>>",
)


def log(chance: random.Random) -> bytes:
    """A damaged log of all wires among lines that look like the first of a CSP/1 message, or nearly."""
    lines = damaged_log(chance, 5).split(b"\n")
    for _ in range(chance.randrange(4)):
        lines.insert(chance.randrange(len(lines) + 1), chance.choice(HEADS))
    return b"\n".join(lines)


def test_small_limits_do_not_make_cuts_visible() -> None:
    chance = random.Random(17)
    too_large = rows = 0
    for _ in range(rounds(1)):
        data = log(chance)
        for message in (1, 4, chance.randrange(8, 40), chance.randrange(40, 400), 16 << 20):
            limits = LIMITS._replace(message=message)
            once = everything(scan(data, limits=limits))
            add_up(data, once)
            too_large += once[2].reasons.get("message_too_large", 0)
            rows += len(once[0]["offset"])
            for batch_bytes in (chance.randrange(1, 9), chance.randrange(9, 200)):
                threads = chance.choice((1, 1, 2, 3))
                cut = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes, threads=threads)
                assert everything(cut) == once, (message, batch_bytes, threads, data)
    assert too_large > 20
    assert rows > 20


def test_records_inside_damaged_messages_and_their_pieces() -> None:
    """A damaged message ends with the line that broke it, and the search goes on there, whatever stands in that."""
    head = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\n"
    sstp = GOOD_JSON[0]
    whole = {GOOD: [GOOD], sstp + b"\r": [sstp], GOOD + b"\r": [GOOD], sstp: [sstp], GOOD + b" x": [GOOD]}
    whole |= {b" " + sstp: [sstp], GOOD + GOOD: [GOOD, GOOD], json.dumps({"log": GOOD.decode()}).encode(): [GOOD]}
    for line, records in whole.items():
        data = GOOD + b"\n" + head + line + b"\nSTATUS OK\n\n" + GOOD + b"\n"
        found = everything(scan(data))
        add_up(data, found)
        columns, bad, _ = found
        assert columns["raw"] == [GOOD, *records, GOOD]
        assert [one["raw"] for one in bad] == [head]
        assert all((one["wire"], one["reason"], one["inner"]) == ("csp", "stray_line", None) for one in bad)
        for threads, batch_bytes in ((1, 7), (2, 40)):
            assert everything(scan(data, threads=threads, batch_bytes=batch_bytes)) == found


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


HEAD = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n"
MESSAGE = f"{HEAD}<<<\nCSP/1\nFROM X\n@a3|f0|c1|S0|d1|T1#\n>>>\n"
Found = list[tuple[Any, ...]]


def found(data: bytes, **options: Any) -> Found:
    """(offset, length, line, wire, reason) of the records and rejects."""
    scan = turnwire.scan(data, **options)
    met: Found = [(one.offset, one.length, one.line, one.wire, None) for one in scan.messages()]
    names = ("offset", "length", "line", "wire", "reason")
    return sorted(met + [tuple(row[name] for name in names) for row in scan.rejects.rows()], key=lambda one: one[:2])


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


MARK = b"\xef\xbb\xbf"
PLACES = ("offset", "fault")


def found_with_mark(scan: turnwire.Scan, moved: int = 0) -> tuple[list[Any], list[Any]]:
    """The records and rejects of a scan, as if they stood so many bytes further."""
    records = [(one.wire, one.offset + moved, one.length, one.line, one.inner) for one in scan.messages()]
    rejects = scan.rejects.rows()
    for row in rejects:
        row |= {name: row[name] + moved for name in PLACES}
        del row["file"]
    return records, rejects


def first_of_all(chance: random.Random) -> bytes:
    """An input that begins with a record that needs the start of a line, or with anything."""
    kind = chance.randrange(4)
    if kind == 0:
        return csp_message(chance)
    if kind == 1:
        return assembled(chance)
    return good_log(chance)[0] if kind == 2 else damaged_log(chance)


@pytest.mark.usefixtures("toys")
def test_it_changes_nothing(tmp_path: Path) -> None:
    chance = random.Random(23)
    file = tmp_path / "a.log"
    met = 0
    for _ in range(rounds(6)):
        data = chance.choice((b"", b"MEMO ada\nhello\nEND\n")) + first_of_all(chance)
        expected = found_with_mark(turnwire.scan(data), 3)
        met += len(expected[0])
        for wire in (None, "csp"):
            mine = tuple([one for one in kind if wire in (None, name(one))] for kind in expected)
            for batch_bytes in (1 << 20, chance.choice((1, 2, 5, 9, 100))):
                scan = turnwire.scan(MARK + data, wire=wire, batch_bytes=batch_bytes, threads=chance.choice((1, 2)))
                assert found_with_mark(scan) == mine, (wire, batch_bytes, data)
        size = chance.choice((1, 2, 4, 50))
        if len(data) < 5000:
            (good, bad), (wanted, told) = (fed(Decoder(), in_pieces(one, size)) for one in (MARK + data, data))
            assert (good, sorted(error.reason for error in bad)) == (wanted, sorted(error.reason for error in told))
        file.write_bytes(MARK + data)
        records, rejects = [], []
        for block in plan(str(file), block_bytes=chance.choice((1, 300))):
            more = found_with_mark(read_block(block))
            records += more[0]
            rejects += more[1]
        assert (records, rejects) == expected, data
    assert met > 5


def name(one: Any) -> str:
    """The wire of a record or of a reject."""
    return str(one["wire"] if isinstance(one, dict) else one[0])


@pytest.mark.parametrize("batch_bytes", [1, 2, 3, 4, 1000])
def test_nothing_but_a_mark(batch_bytes: int) -> None:
    for data in (b"\xef", b"\xef\xbb", MARK, MARK + b"\n", MARK + b"CS", MARK * 2):
        scan = turnwire.scan(data, batch_bytes=batch_bytes)
        assert found_with_mark(scan) == ([], []) and scan.counts.bytes == len(data), data
    assert found_with_mark(turnwire.scan(MARK + NSLIP[0], batch_bytes=batch_bytes))[0] == [
        ("nslip", 3, len(NSLIP[0]), 1, None)
    ]


def test_a_document_begins_with_it() -> None:
    [one] = turnwire.scan(MARK + "⫻a/b:c/1\nsaid\n".encode()).messages()
    assert (one.wire, one.offset, one.line) == ("kick", 0, 1)
