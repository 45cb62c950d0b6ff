"""``turnwire.Decoder`` on nSLIP: any chunking gives the messages and errors of a scan, and nothing is lost."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.conftest import rounds
from tests.cores import use
from tests.log.engines import GOOD, UPSTREAM, VECTORS, damaged_log
from tests.nslip.twins import core_of, plain
from tests.test_stream_wires import drained
from turnwire import LIMITS, DecodeError, Decoder, Reason, scan

LINES = UPSTREAM.read_bytes().split(b"\n")[:500] + VECTORS
LONG = b'@a3|f0|c1|S0|d1|T1|t"%b"#'


@pytest.fixture(autouse=True)
def _on(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(backend, monkeypatch)


def fed(data: bytes, sizes: Iterable[int], **options: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """All of ``data``, in pieces of these sizes (the last one goes on), then the end: messages, and errors."""
    pieces, place, size = [], 0, 1
    sizes = iter(sizes)
    while place < len(data):
        size = next(sizes, size)
        pieces.append(data[place : place + size])
        place += size
    messages, errors = drained(Decoder("nslip", **options), pieces)
    return [plain(message) for message in messages], errors


def test_any_pieces_give_the_same_and_what_a_scan_finds() -> None:
    chance = random.Random(11)
    seen = 0
    for _ in range(rounds(24)):
        data = damaged_log(chance, LINES, 5)
        keep = chance.random() < 0.3
        limits = LIMITS._replace(message=chance.choice((16 << 20, 16 << 20, 30, 50)))
        options: dict[str, Any] = {"unknown": "keep" if keep else "error", "limits": limits}
        whole = fed(data, [len(data)], **options)
        assert fed(data, [1], **options) == whole
        assert fed(data, chance.choices(range(1, 65), k=200), **options) == whole
        found = scan(data, wire="nslip", **options)
        assert whole[0] == [plain(batch.message(row)) for batch in found for row in range(len(batch))]
        rejects = found.rejects
        assert [error[:2] for error in whole[1]] == list(zip(rejects["reason"], rejects["fault"].tolist(), strict=True))
        seen += len(whole[1])
    assert seen > 20


@pytest.mark.parametrize("text", [b"x" * 1500, b"#|@a1|" * 120, b'\\"' * 400, "ü€😀".encode() * 99])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b'\\x"#', b'"x#', b"\xff\n"])
def test_long_messages_in_small_pieces(text: bytes, end: bytes, backend: str) -> None:
    """Beyond some size a message is not read again with every piece; that must not show."""
    whole = LONG % (text * 4 if b"#" not in text and backend == "native" else text)
    data = b"\n" + GOOD + (whole[:-2] + end if end else whole) + b"\n" + GOOD + whole + b"rest"
    for limit in (LIMITS.message, len(whole) - 1, 600)[:: 1 if backend == "native" else 2]:
        limits = LIMITS._replace(message=limit)
        once = fed(data, [len(data)], limits=limits)
        for sizes in ([29], [4090, 23]) if len(whole) > 4096 else ([7], [530, 3]):
            assert fed(data, sizes, limits=limits) == once


def test_a_message_comes_with_its_last_byte() -> None:
    for record in (GOOD, LONG % (b"y" * 2000), LONG % (b'#"'.replace(b'"', b'\\"') * 900)):
        decoder = Decoder("nslip")
        for place in range(len(record) - 1):
            assert decoder.feed(record[place : place + 1]) == []
        assert len(decoder.feed(b"#")) == 1


def test_an_error_is_raised_once_and_costs_nothing_else() -> None:
    decoder = Decoder("nslip")
    with pytest.raises(DecodeError) as caught:
        decoder.feed(GOOD + b"\n  @a3|f0 broken " + GOOD + b"\n")
    assert (caught.value.reason, caught.value.offset, caught.value.line) == (Reason.BAD_DIGIT, len(GOOD) + 9, 2)
    assert caught.value.wire == "nslip"
    assert f"at byte {len(GOOD) + 9}, line 2" in str(caught.value)
    assert len(decoder.feed(b"")) == 2
    assert len(decoder.feed(GOOD)) == 1
    assert decoder.close() == []


def test_an_error_while_more_comes_in() -> None:
    """Whoever ignores errors and feeds on gets everything, only later."""
    decoder = Decoder("nslip")
    data = (b"@a1| @a2| @a3| " + GOOD + b"\n") * 20
    messages, errors = [], 0
    for place in range(0, len(data), 11):
        try:
            messages += decoder.feed(data[place : place + 11])
        except DecodeError:
            errors += 1
    rest, late = drained(decoder, [])
    assert (len(messages) + len(rest), errors + len(late)) == (20, 60)


def test_buffer_full_changes_nothing() -> None:
    limits = LIMITS._replace(feed_buffer=64)
    decoder = Decoder("nslip", limits=limits)
    assert decoder.feed(b"\n" + GOOD[:20]) == []
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b"x" * 60)
    error = caught.value
    assert (error.reason, error.offset, error.line) == (Reason.BUFFER_FULL, 21, 2)
    (message,) = decoder.feed(GOOD[20:])
    assert message.get(20) == "hello"
    assert decoder.feed(b"z" * 63 + b"\n") == decoder.feed(b"z" * 64) == []


def test_the_limit_of_a_message() -> None:
    limits = LIMITS._replace(message=len(GOOD))
    decoder = Decoder("nslip", limits=limits)
    assert len(decoder.feed(GOOD)) == 1
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b'@a3|t"' + b"x" * len(GOOD) + b"\n")
    assert (caught.value.reason, caught.value.offset) == (Reason.MESSAGE_TOO_LARGE, 2 * len(GOOD))
    assert len(decoder.feed(GOOD)) == 1


def test_closing_on_a_message_that_was_cut_off() -> None:
    decoder = Decoder("nslip")
    assert len(decoder.feed(GOOD + GOOD[:-1])) == 1
    with pytest.raises(DecodeError) as caught:
        decoder.close()
    assert (caught.value.reason, caught.value.offset) == (Reason.BAD_FRAMING, 2 * len(GOOD) - 1)
    assert decoder.close() == []


def test_what_follows_the_end_starts_afresh() -> None:
    """The two halves do not make a message, and places count on."""
    decoder = Decoder("nslip")
    assert decoder.feed(b"\n" + GOOD[:10]) == []
    with pytest.raises(DecodeError):
        decoder.close()
    assert decoder.feed(b"@") == decoder.close() == []
    assert decoder.feed(GOOD[1:]) == []
    assert [len(decoder.feed(GOOD[:7])), len(decoder.feed(GOOD[7:]))] == [0, 1]
    with pytest.raises(DecodeError) as caught:
        decoder.feed(b"@a3| \n")
    assert (caught.value.offset, caught.value.line) == (1 + 10 + 1 + len(GOOD) - 1 + len(GOOD) + 4, 2)


def test_any_bytes_and_nothing_else() -> None:
    decoder = Decoder("nslip")
    for piece in (bytearray(GOOD), memoryview(GOOD), memoryview(GOOD * 2)[::1][: len(GOOD)]):
        assert len(decoder.feed(piece)) == 1
    buffer = bytearray(GOOD[:9])
    decoder.feed(buffer)
    buffer[:] = b"#" * 9
    assert len(decoder.feed(GOOD[9:])) == 1
    for wrong in (5, "text", None, [64]):
        with pytest.raises(TypeError):
            decoder.feed(wrong)  # type: ignore[arg-type]


def test_one_decoder_in_two_threads() -> None:
    """Whole messages from both: each comes out once."""
    decoder = Decoder("nslip")
    found: list[Any] = []
    lines = [b"@a3|f0|c%d|S0|d1|T1#\n" % number for number in range(3000)]

    def work(place: int) -> None:
        for line in lines[place::2]:
            found.extend(decoder.feed(line))

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(work, range(2)))
    finally:
        sys.setswitchinterval(before)
    assert sorted(message.conv_id for message in found) == sorted(plain_conv(line) for line in lines)


def plain_conv(line: bytes) -> int:
    conv: int = core_of("pure").decode(line).conv_id
    return conv


def test_an_error_counts_what_waits_in_front_of_it() -> None:
    """The piece is taken whole; what stood in front of the fault, and behind it, comes with the next call."""
    for wire in ("nslip", None):
        decoder = Decoder(wire)
        with pytest.raises(DecodeError) as caught:
            decoder.feed(GOOD + b"\n" + GOOD + b"\n@a3|f0 broken\n" + GOOD + b"\n")
        assert caught.value.pending == 2
        assert len(decoder.feed(b"")) == 3
        with pytest.raises(DecodeError) as caught:
            decoder.feed(b"@a3|f0 broken\n")
        assert caught.value.pending == 0
        assert decoder.feed(b"") == []
