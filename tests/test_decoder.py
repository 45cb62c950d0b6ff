"""``turnwire.Decoder``: any chunking gives the messages and errors of a scan of the whole, and nothing is lost."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from tests.conftest import PURE_HALF, raised, rounds
from tests.cores import use
from tests.formats import samples
from tests.golden.logs import log as golden
from tests.log import mixed_logs
from tests.log.engines import GOOD, UPSTREAM, VECTORS, damaged_log as damaged_nslip
from tests.log.found import fed, in_pieces
from tests.log.json_engines import JSON_WIRES, RECORDS, damaged_log
from tests.nslip.twins import plain
from turnwire import LIMITS, WIRES, DecodeError, Decoder, Reason, registry, scan
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


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("wire", JSON_WIRES)
def test_an_object_is_complete_when_it_closes(wire: str, named: bool) -> None:
    record = good(wire)
    decoder = Decoder(wire if named else None)
    assert decoder.wire == (wire if named else None)
    assert decoder.feed(b"2026-01-01 INFO " + record[:-1]) == []
    assert len(decoder.feed(record[-1:])) == 1
    assert decoder.feed(b" and so on\n") == []
    assert len(decoder.feed(record + record)) == 2
    assert decoder.close() == []


def test_a_csp_message_is_complete_when_no_field_can_follow() -> None:
    decoder = Decoder("csp")
    assert decoder.feed((CSP % 1)[:-1].encode()) == []
    assert [message.block.id for message in decoder.feed(b"\n")] == ["T1"]
    assert decoder.feed((CSP % 2)[:-1].encode()) == []
    assert [message.block.id for message in decoder.feed(b"CSP/1\n")] == ["T2"]
    assert decoder.close() == [], "such a line alone is text"
    assert [message.block.id for message in drained(decoder, [(CSP % 3).encode()])[0]] == ["T3"]


def test_what_is_held_has_a_bound() -> None:
    decoder = Decoder("sstp", limits=LIMITS._replace(feed_buffer=100))
    decoder.feed(b'{"header": ' + b" " * 80)
    caught = raised(DecodeError, decoder.feed, b" " * 20)
    assert caught.reason is Reason.BUFFER_FULL
    assert caught.offset == 91
    assert decoder.feed(b"x\n") == []  # nothing of the piece before was taken, and the line is let go
    assert decoder.feed(b" " * 100) == []


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


def test_a_message_of_any_wire_is_complete_as_soon_as_it_is_there() -> None:
    decoder = Decoder()
    for wire in JSON_WIRES:
        record = good(wire)
        assert len(decoder.feed(record + b" and")) == 1
        assert len(decoder.feed(b" so on " + NSLIP % 1 + b" # then " + record)) == 2
        assert decoder.feed(b"\n" + NSLIP[:-1] % 2) == []
        assert [message.conv_id for message in decoder.feed(b"# and ")] == [2]
        assert [message.conv_id for message in decoder.feed(NSLIP % 3 + b" text # ")] == [3]
    assert decoder.feed(b"\n" + CSP[:-1].encode() % 1) == []
    (message,) = decoder.feed(b"\n")
    assert wire_of(message) == "csp"
    assert [message.conv_id for message in decoder.feed(b"2026 " + NSLIP % 4)] == [4]
    assert [message.conv_id for message in decoder.feed(b" and " + NSLIP % 5)] == [5]
    assert decoder.close() == []


def test_behind_a_csp_message_messages_come_as_soon_as_before() -> None:
    """Also where the next one begins at once; what may still be a line of CSP/1 waits."""
    decoder = Decoder()
    for _ in range(2):
        assert len(decoder.feed(CSP.encode() % 1 + b"\n")) == 1
        for wire in JSON_WIRES:
            record = good(wire)
            assert decoder.feed(record[:-1]) == []
            assert len(decoder.feed(record[-1:])) == 1
            assert len(decoder.feed(NSLIP % 2)) == 1
            assert decoder.feed(b"\n") == []
        for piece in (b" ", b"C", b"S", b"P", b"/"):
            assert decoder.feed(piece) == []
        assert len(decoder.feed(b"x " + NSLIP % 3)) == 1
        assert decoder.feed(b"\n") == []
    assert decoder.feed(CSP[:-1].encode() % 1 + b"NOTE " + NSLIP % 4) == [], "it may be a field of the message"
    raised(DecodeError, decoder.close)


def test_what_may_belong_to_something_larger_waits() -> None:
    wrapped = b'{"log": "%s"}' % (NSLIP % 8).replace(b'"', b'\\"')
    opened = CSP[:-1].encode() % 1 + b"NOTE " + NSLIP % 4
    decoder = Decoder()
    assert decoder.feed(opened) == []
    assert drained(decoder, []) == scanned(opened, None)
    decoder = Decoder()
    assert decoder.feed(wrapped[:-2]) == []
    assert decoder.feed(wrapped[-2:]) == []
    assert [message.conv_id for message in decoder.feed(b"\n")] == [8]
    open_text = b'@a3|f0|c1|S0|d1|T1|t"never '
    assert decoder.feed(open_text + NSLIP % 1) == []
    expected = scanned(open_text + NSLIP % 1 + b"\n", None)
    assert drained(decoder, [b"\n"])[0] == expected[0]


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


@pytest.mark.parametrize("wire", ["nslip", None])
def test_an_error_is_raised_once_and_costs_nothing_else(wire: str | None) -> None:
    """The piece is taken whole; what stood in front of the fault, and behind it, comes with the next call."""
    decoder = Decoder(wire)
    caught = raised(DecodeError, decoder.feed, GOOD + b"\n  @a3|f0 broken\n" + GOOD + b"\n")
    assert (caught.reason, caught.offset, caught.line) == (Reason.BAD_DIGIT, len(GOOD) + 9, 2)
    assert (caught.wire, caught.pending) == ("nslip", 1)
    assert f"at byte {len(GOOD) + 9}, line 2" in str(caught)
    assert len(decoder.feed(b"")) == 2
    caught = raised(DecodeError, decoder.feed, b"@a3|f0 broken\n")
    assert caught.pending == 0
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
    error = raised(DecodeError, decoder.feed, b"x" * 60)
    assert (error.reason, error.offset, error.line) == (Reason.BUFFER_FULL, 21, 2)
    (message,) = decoder.feed(GOOD[20:])
    assert message.get(20) == "hello"
    assert decoder.feed(b"z" * 63 + b"\n") == decoder.feed(b"z" * 64) == []


def test_the_limit_of_a_message() -> None:
    limits = LIMITS._replace(message=len(GOOD))
    decoder = Decoder("nslip", limits=limits)
    assert len(decoder.feed(GOOD)) == 1
    caught = raised(DecodeError, decoder.feed, b'@a3|t"' + b"x" * len(GOOD) + b"\n")
    assert (caught.reason, caught.offset) == (Reason.MESSAGE_TOO_LARGE, 2 * len(GOOD))
    assert len(decoder.feed(GOOD)) == 1


def test_what_follows_the_end_starts_afresh() -> None:
    """The two halves do not make a message, and places count on."""
    decoder = Decoder("nslip")
    assert decoder.feed(b"\n" + GOOD[:10]) == []
    caught = raised(DecodeError, decoder.close)
    assert (caught.reason, caught.offset) == (Reason.BAD_FRAMING, 11)
    assert decoder.close() == decoder.feed(b"@") == decoder.close() == []
    assert decoder.feed(GOOD[1:]) == []
    assert [len(decoder.feed(GOOD[:7])), len(decoder.feed(GOOD[7:]))] == [0, 1]
    caught = raised(DecodeError, decoder.feed, b"@a3| \n")
    assert (caught.offset, caught.line) == (1 + 10 + 1 + len(GOOD) - 1 + len(GOOD) + 4, 2)


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
