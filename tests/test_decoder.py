"""``turnwire.Decoder``: any chunking gives the messages and errors of a scan of the whole, and nothing is lost."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import pytest

from tests import vectors
from tests.conftest import PURE_HALF, raised, rounds
from tests.cores import use
from tests.formats import samples
from tests.golden.logs import log as golden
from tests.log import mixed_logs
from tests.log.engines import GOOD, UPSTREAM, VECTORS, damaged_log as damaged_nslip
from tests.log.found import fed, in_pieces
from tests.log.json_engines import JSON_WIRES, RECORDS, damaged_log
from tests.nslip.twins import plain
from turnwire import LIMITS, WIRES, DecodeError, Decoder, encode, registry, scan
from turnwire.registry import wire_of

CSP = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T%d\nREQ x\nIN\n<<<\nhello\nCSP/1\n>>>\n\n"
WITHOUT_CTX = "CSP/1\nFROM A\nTO B\n\n"
NSLIP = b'@a3|f0|c%d|S0|d1|T1|g1|q3|t"a {b} #1"#'


@pytest.fixture(autouse=True)
def _on(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(backend, monkeypatch)


def drained(decoder: Decoder, pieces: list[bytes]) -> tuple[list[Any], list[tuple[Any, ...]]]:
    """Everything that comes out: messages, and (reason, offset, line) of the errors."""
    messages, errors = fed(decoder, pieces)
    return messages, [(str(error.reason), error.offset, error.line) for error in errors]


def scanned(data: bytes, wire: str | None, **options: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
    found = scan(data, wire=wire, **options)
    messages = [batch.message(row) for batch in found for row in range(len(batch))]
    faults = zip(found.rejects["reason"], found.rejects["fault"].tolist(), strict=True)
    return messages, [(reason, fault, data[:fault].count(b"\n") + 1) for reason, fault in faults]


def good(wire: str) -> bytes:
    """A record of a JSON wire that is good."""
    return next(record for record in RECORDS[wire] if len(scanned(record, wire)[0]) == 1)


def log_of(wire: str, seed: int) -> bytes:
    if wire != "csp":
        return damaged_log(random.Random(seed), RECORDS[wire], 6)
    chance = random.Random(seed)
    parts = [CSP % chance.randrange(9), WITHOUT_CTX, "2026-01-01 INFO x\n", "FROM\n", "<<<\n", ">>>\n"]
    return "".join(chance.choices(parts, k=12)).encode()


@pytest.mark.parametrize("wire", [*JSON_WIRES, *registry.formats()])
def test_escapes_in_keys_hide_from_a_decoder_what_they_hide_from_a_scan(wire: str) -> None:
    chance = random.Random(5)
    vectors = () if wire in JSON_WIRES else samples.vectors(wire)
    records = RECORDS.get(wire) or samples.text(one["input"] for one in vectors if "columns" in one).splitlines()
    for number in range(rounds(10)):
        lines = [_ESCAPABLE.sub(lambda key: _escaped(key[0], chance), chance.choice(records)) for _ in range(3)]
        data = b"\n".join(lines) + b"\n" * (number % 2)
        expected = scanned(data, wire)
        for size in (1 + 12 * (number > 0), len(lines[0]) + 1, len(data)):
            assert drained(Decoder(wire), in_pieces(data, size)) == expected, (number, size)


@pytest.mark.parametrize("wire", [*registry.formats(), "formats"])
def test_damage_and_records_that_the_lines_around_them_tell(wire: str) -> None:
    chance = random.Random(7)
    names = registry.formats() if wire == "formats" else [wire]
    lines = samples.text(one["input"] for name in names for one in samples.vectors(name) if "columns" in one)
    for number in range(rounds(6)):
        cut = (line[: chance.choice((3, 9, 40, 9999, 9999))] for line in chance.choices(lines.splitlines(), k=20))
        ends = (b"\n", b"\n", b"\n", b" ", b"\nINFO ")
        data = b"".join(line + chance.choice(ends) for line in [*cut, b'{"level":"in', b"\0\0\0"])
        expected = scanned(data, wire)
        for size in (1 + 12 * (number > 0), 100, len(data)):
            assert drained(Decoder(wire), in_pieces(data, size)) == expected, (number, size)


@pytest.mark.parametrize("wire", ["codex", "formats"])
def test_a_new_head_far_from_the_beginning_tells_no_damage(wire: str) -> None:
    said = b'"type":"response_item","payload":{"type":"message","role":"user","content":"%b"}'
    near, far = (b'{"timestamp":"",%b}\n' % (said % (b"x" * 4000)), b'{%b,"timestamp":""}\n' % (said % b"x"))
    data = near * 300 + far + b'{"type":"resp,,,,\n' + far
    expected = scanned(data, wire)
    for size in (1 << 16, len(data)):
        assert drained(Decoder(wire), in_pieces(data, size)) == expected


_ESCAPABLE = re.compile(rb'(?<=")[A-Za-z_]+(?="\s*:)')


def _escaped(key: bytes, chance: random.Random) -> bytes:
    """A key, one in three with some of its letters as escapes."""
    often = chance.choice((0, 0, 0.2))
    return b"".join(b"\\u%04x" % letter if chance.random() < often else bytes([letter]) for letter in key)


@vectors.cases("decoder")
def test_what_comes_with_each_piece(case: dict[str, Any]) -> None:
    """The messages of a piece as soon as they are complete, or its first error, with how many messages are pending."""
    decoder = Decoder(case.get("wire"), limits=LIMITS._replace(**case.get("limits", {})))
    assert decoder.wire == case.get("wire")
    for step in case["steps"]:
        piece = bytes.fromhex(step["hex"]) if "hex" in step else step.get("text", "").encode()
        call = decoder.close if "close" in step else partial(decoder.feed, piece)
        if "error" in step:
            error = raised(DecodeError, call)
            assert [str(error.reason), error.offset, error.line, error.pending] == step["error"]
        else:
            assert [encode(message, strict=False) for message in call()] == step["messages"]


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by one for each search."""
    from turnwire.log.engine import all_wires

    found: list[int] = []
    whole = all_wires.Engine.scan

    def counted(self: Any, *args: Any, **options: Any) -> Any:
        found.append(1)
        return whole(self, *args, **options)

    monkeypatch.setattr(all_wires.Engine, "scan", counted)
    return found


def test_long_messages_in_small_pieces_take_linear_time(searches: list[int]) -> None:
    """Counted in scans, not in seconds: as many as doublings, not as many as pieces."""
    body = "".join(f"line {number} of a long text\n" for number in range(4000))
    data = CSP.replace("hello\n", body) % 1 + "CSP/1\n"
    decoder = Decoder("csp")
    messages = [message for piece in in_pieces(data.encode(), 50) for message in decoder.feed(piece)]
    assert [message.block.id for message in messages] == ["T1"]
    assert len(searches) < 200


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("wire", ["nslip", "csp", *JSON_WIRES])
def test_whole_messages_need_no_search(wire: str, named: bool, searches: list[int]) -> None:
    """One a call or many, with an end of their line or without; one of CSP/1 comes with the line that ends it."""
    text = {"nslip": NSLIP % 1, "csp": (CSP % 1).encode()}
    one = text.get(wire) or good(wire)
    searches.clear()
    decoder = Decoder(wire if named else None)
    for pieces in ([one + b"\n"], [one, b"\n"], [b"\n", one + b"\n" + one + b"\n"], [one[:9], one[9:] + b"\n"]):
        found = [wire_of(message) for piece in pieces for message in decoder.feed(piece)]
        assert found == [wire] * b"".join(pieces).count(one)
    assert len(decoder.feed(bytearray(one + b"\n"))) == 1
    assert not searches


def log_of_all(chance: random.Random) -> bytes:
    """Records of all wires on lines of their own and beside each other, whole and damaged, in any order."""
    parts = [
        CSP.encode() % chance.randrange(9),
        WITHOUT_CTX.encode(),
        b"2026-01-01 INFO x\n",
        b"FROM\n",
        b"```\n",
        b"{ # }\n",
        b'{"level": "info"} ',
        b'@a3|f0|c1|S0|d1|T1|t"never closed ',
        *(NSLIP % number + end for number, end in enumerate((b"", b" ", b"\n", b"\n"))),
        (NSLIP % 7)[:-1] + b"\n",
        b'{"log": "%s"}\n' % (NSLIP % 8).replace(b'"', b'\\"'),
        *(damaged_log(chance, RECORDS[wire], 2) for wire in JSON_WIRES),
        *(chance.choice(RECORDS[wire]) + b"\n" for wire in JSON_WIRES),
    ]
    return b"".join(chance.choices(parts, k=10))


def logs_of(wire: str | None, chance: random.Random) -> Iterator[bytes]:
    """Logs of one wire or of all, and mixed ones: messages in strings, wrappers, sentences, among damage."""
    for number in range(rounds(4)):
        yield golden(number).data + mixed_logs.good_log(chance, 5)[0]
        yield log_of_all(random.Random(2 * number))
        if wire is None:
            yield log_of_all(random.Random(2 * number + 1))
        elif wire != "nslip":
            yield log_of(wire, number)


@pytest.mark.parametrize("wire", [None, *WIRES])
def test_any_pieces_give_what_a_scan_finds(wire: str | None) -> None:
    chance = random.Random(21)
    met, errors = Counter[str](), 0
    for data in logs_of(wire, chance):
        expected = scanned(data, wire)
        met.update(map(wire_of, expected[0]))
        errors += len(expected[1])
        for size in (1, chance.randrange(2, 14), chance.randrange(14, 300), len(data)):
            assert drained(Decoder(wire), in_pieces(data, size)) == expected, (size, data)
        assert drained(Decoder(wire), re.split(rb"(?<=\n)(?=CSP/1\n)", data)) == expected, data  # a message a piece
    assert set(met) == (set(WIRES) if wire is None else {wire})
    assert errors > (0 if PURE_HALF else 3) and met.total() + errors > (3 if PURE_HALF else 10)


# --- nSLIP ---

LINES = UPSTREAM.read_bytes().split(b"\n")[:500] + VECTORS
LONG = b'@a3|f0|c1|S0|d1|T1|t"%b"#'


def fed_nslip(data: bytes, sizes: Iterable[int], **options: Any) -> tuple[list[Any], list[tuple[Any, ...]]]:
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
        data = damaged_nslip(chance, LINES, 5)
        keep = chance.random() < 0.3
        limits = LIMITS._replace(message=chance.choice((16 << 20, 16 << 20, 30, 50)))
        options: dict[str, Any] = {"unknown": "keep" if keep else "error", "limits": limits}
        messages, errors = scanned(data, "nslip", **options)
        for sizes in ([len(data)], [1], chance.choices(range(1, 65), k=200)):
            assert fed_nslip(data, sizes, **options) == ([plain(one) for one in messages], errors)
        seen += len(errors)
    assert seen > 20


@pytest.mark.parametrize("text", [b"x" * 1500, b"#|@a1|" * 120, b'\\"' * 400, "ü€😀".encode() * 99])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b'\\x"#', b'"x#', b"\xff\n"])
def test_long_messages_in_small_pieces(text: bytes, end: bytes, backend: str) -> None:
    """Beyond some size a message is not read again with every piece; that must not show."""
    whole = LONG % (text * 4 if b"#" not in text and backend == "native" else text)
    data = b"\n" + GOOD + (whole[:-2] + end if end else whole) + b"\n" + GOOD + whole + b"rest"
    for limit in (LIMITS.message, len(whole) - 1, 600)[:: 1 if backend == "native" else 2]:
        limits = LIMITS._replace(message=limit)
        once = fed_nslip(data, [len(data)], limits=limits)
        for sizes in ([29], [4090, 23]) if len(whole) > 4096 else ([7], [530, 3]):
            assert fed_nslip(data, sizes, limits=limits) == once


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
