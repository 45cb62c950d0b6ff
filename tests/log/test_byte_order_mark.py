"""A byte order mark at the start of an input is text: what stands behind it is found as if it were not there."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.log.mixed_logs import NSLIP, csp_message, damaged_log, good_log
from tests.log.test_filter import assembled
from tests.nslip.twins import rounds
from turnwire import DecodeError, Decoder
from turnwire.log import plan, read_block

MARK = b"\xef\xbb\xbf"
PLACES = ("offset", "fault")


def found(scan: turnwire.Scan, moved: int = 0) -> tuple[list[Any], list[Any]]:
    """The records and rejects of a scan, as if they stood so many bytes further."""
    records = [(one.wire, one.offset + moved, one.length, one.line, one.inner) for one in scan.messages()]
    rejects = scan.rejects.rows()
    for row in rejects:
        row |= {name: row[name] + moved for name in PLACES}
        del row["file"]
    return records, rejects


def fed(data: bytes, size: int) -> tuple[list[Any], list[str]]:
    """What a Decoder gives for pieces of this size."""
    decoder, messages, bad = Decoder(), [], []
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    for take in (*(lambda piece=piece: decoder.feed(piece) for piece in pieces), *[decoder.close] * 40):
        try:
            messages += take()
        except DecodeError as error:
            bad.append(str(error.reason))
    return messages, sorted(bad)


def first_of_all(chance: random.Random) -> bytes:
    """An input that begins with a record that needs the start of a line, or with anything."""
    kind = chance.randrange(4)
    if kind == 0:
        return csp_message(chance)
    if kind == 1:
        return assembled(chance)
    return good_log(chance)[0] if kind == 2 else damaged_log(chance)


@pytest.mark.usefixtures("scan_core", "toys")
def test_it_changes_nothing(tmp_path: Path) -> None:
    chance = random.Random(23)
    file = tmp_path / "a.log"
    met = 0
    for _ in range(rounds(10)):
        data = chance.choice((b"", b"MEMO ada\nhello\nEND\n")) + first_of_all(chance)
        expected = found(turnwire.scan(data), 3)
        met += len(expected[0])
        for wire in (None, "csp"):
            mine = tuple([one for one in kind if wire in (None, name(one))] for kind in expected)
            for batch_bytes in (1 << 20, chance.choice((1, 2, 5, 9, 100))):
                scan = turnwire.scan(MARK + data, wire=wire, batch_bytes=batch_bytes, threads=chance.choice((1, 2)))
                assert found(scan) == mine, (wire, batch_bytes, data)
        size = chance.choice((1, 2, 4, 50))
        if len(data) < 5000:
            assert fed(MARK + data, size) == fed(data, size), (size, data)
        file.write_bytes(MARK + data)
        records, rejects = [], []
        for block in plan(str(file), block_bytes=chance.choice((1, 300))):
            more = found(read_block(block))
            records += more[0]
            rejects += more[1]
        assert (records, rejects) == expected, data
    assert met > 30


def name(one: Any) -> str:
    """The wire of a record or of a reject."""
    return str(one["wire"] if isinstance(one, dict) else one[0])


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("batch_bytes", [1, 2, 3, 4, 1000])
def test_nothing_but_a_mark(batch_bytes: int) -> None:
    for data in (b"\xef", b"\xef\xbb", MARK, MARK + b"\n", MARK + b"CS", MARK * 2):
        scan = turnwire.scan(data, batch_bytes=batch_bytes)
        assert found(scan) == ([], []) and scan.counts.bytes == len(data), data
    assert found(turnwire.scan(MARK + NSLIP[0], batch_bytes=batch_bytes))[0] == [("nslip", 3, len(NSLIP[0]), 1, None)]


@pytest.mark.usefixtures("scan_core")
def test_a_document_begins_with_it() -> None:
    [one] = turnwire.scan(MARK + "⫻a/b:c/1\nsaid\n".encode()).messages()
    assert (one.wire, one.offset, one.line) == ("kick", 0, 1)
