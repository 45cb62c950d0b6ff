"""What may be an nSLIP record at all: the same rule in scans, streams and ``extract``; everything else is text."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.log.engines import ENGINES, GOOD, read
from turnwire import LIMITS, DecodeError, Decoder, Reason, extract, scan

usesbackend = pytest.mark.usefixtures("scan_core")
TEXT = [
    "@dataclass",
    "@a",
    "@a3",
    "@a3#",
    "@a3 |f0",
    "@c123456789012|",
    "@d|",
    "@T-1|",
    "@app.route('/')|",
    "@angular/core",
    "@s3|",
    "@A3|f0|c1#",
    "a@a.org|b@c.net|",
    "@f\u00e9|",
    '@a"3"|',
]
CANDIDATES = ["@a3|", "@f0|x", "@T12345678901|", "@c1|@d2|", "@Szzzzzzzzzzz|#"]


@usesbackend
@pytest.mark.parametrize("wire", [None, "nslip"])
@pytest.mark.parametrize("text", TEXT)
def test_other_text(text: str, wire: str | None) -> None:
    for data in (text.encode(), f"{text}\n {text} {text}".encode(), json.dumps({"log": text}).encode()):
        for batch_bytes in (1, 5, 1 << 20):
            found = scan(io.BytesIO(data), wire=wire, batch_bytes=batch_bytes)
            assert (sum(map(len, found)), found.rejects.rows()) == (0, [])
    decoder = Decoder("nslip")
    for byte in text.encode():
        assert decoder.feed(bytes([byte])) == []
    assert decoder.close() == []
    assert extract(f"{text} {GOOD.decode()}")[0].start == len(text) + 1


@usesbackend
@pytest.mark.parametrize("wire", [None, "nslip"])
@pytest.mark.parametrize("text", CANDIDATES)
def test_candidates_that_fail(text: str, wire: str | None) -> None:
    number = text.count("@")
    found = scan(text.encode(), wire=wire)
    assert (sum(map(len, found)), len(found.rejects)) == (0, number)
    decoder = Decoder("nslip")
    errors = 0
    for byte in text.encode():
        try:
            assert decoder.feed(bytes([byte])) == []
        except DecodeError:
            errors += 1
    for _ in range(3):
        try:
            assert decoder.close() == []
        except DecodeError:
            errors += 1
    assert errors == number


@usesbackend
@pytest.mark.parametrize("limit", [len(GOOD), len(GOOD) + 9])
def test_a_record_at_the_edge_of_a_piece_of_a_long_line(limit: int) -> None:
    """Wherever the piece ends in it, and with what may become a candidate in front of it."""
    limits = LIMITS._replace(message=limit)
    for before in range(2 * len(GOOD)):
        for filler in (b"x", b"@a3"):
            data = filler * before + GOOD + b" " + b"y" * 20 + b"\n"
            for batch_bytes in (1, 37, 1 << 20):
                found = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes)
                assert (sum(map(len, found)), len(found.rejects)) == (1, 0), (before, filler, batch_bytes)


@pytest.mark.parametrize("name", ENGINES)
def test_a_candidate_lies_within_the_limit(name: str) -> None:
    data = b"x @a12345678901|f0 @c1| @d2|\n"
    for limit in range(1, 20):
        once = read(name, data, limit=limit)
        assert once.rejects["offset"] == [at for at, size in ((2, 14), (19, 4), (24, 4)) if size <= limit]
        for cut in range(len(data)):
            assert read(name, data, limit=limit, cuts=(cut,)) == once


@pytest.mark.parametrize("name", ENGINES)
def test_a_damaged_record_ends_where_the_next_candidate_begins(name: str) -> None:
    data = b"@a3|f0 bad @a4 @c123456789012| @T9|\n"
    found = read(name, data)
    assert (found.rejects["offset"], found.rejects["length"]) == ([0, 31], [31, 4])


BIG = b"@a3|f0|c1|S0|d1|T1|gzzzzzzzzzzz|k1#"
"""Up to its last digit but one the number of slot g is small enough."""


@pytest.mark.parametrize("limit", range(19, len(BIG) + 1))
def test_a_number_is_too_large_by_the_digits_within_the_limit(core: Callable[[str], Any], limit: int) -> None:
    expected = (Reason.TOO_LARGE, 20) if limit > BIG.index(b"z|") else (Reason.MESSAGE_TOO_LARGE, limit)
    with pytest.raises(DecodeError) as caught:
        core("nslip.codec").decode_record(BIG, 0, True, limit=limit)
    assert (caught.value.reason, caught.value.offset) == expected


@pytest.mark.parametrize("name", ENGINES)
def test_a_number_is_too_large_by_the_digits_within_the_limit_of_a_scan(name: str) -> None:
    at = BIG.index(b"z|")
    whole, cut = (read(name, BIG + b"\n", limit=limit).rejects for limit in (at + 1, at))
    assert (whole["length"], cut["length"]) == ([at + 1], [at])
    assert whole["reason"] == read(name, BIG + b"\n").rejects["reason"] != cut["reason"]
