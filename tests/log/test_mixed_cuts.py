"""A mixed scan gives the same however its input is cut, with limits of any size, however little room the core has."""

from __future__ import annotations

import io
import json
import random

import pytest

from tests.conftest import PURE_ONLY
from tests.log.engines import GOOD
from tests.log.mixed_logs import GOOD_JSON, csp_message, damaged_log
from tests.log.test_mixed import add_up, everything
from tests.nslip.twins import rounds
from turnwire import LIMITS, scan
from turnwire._backend import core_module
from turnwire.log.engine import block_pass
from turnwire.log.engine.block_pass import is_text
from turnwire.log.output import rejects

usesbackend = pytest.mark.usefixtures("scan_core")
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


@usesbackend
def test_small_limits_do_not_make_cuts_visible() -> None:
    chance = random.Random(17)
    too_large = rows = 0
    for _ in range(rounds(1)):
        data = log(chance)
        for message in (*range(1, 8, 2), chance.randrange(8, 40), chance.randrange(40, 400), 16 << 20):
            limits = LIMITS._replace(message=message)
            once = everything(scan(data, limits=limits))
            add_up(data, once)
            too_large += once[2].reasons.get("message_too_large", 0)
            rows += len(once[0]["offset"])
            for batch_bytes in (1, chance.randrange(2, 9), chance.randrange(9, 200), len(data) // 2 + 1):
                threads = chance.choice((1, 1, 2, 3))
                cut = scan(io.BytesIO(data), limits=limits, batch_bytes=batch_bytes, threads=threads)
                assert everything(cut) == once, (message, batch_bytes, threads, data)
    assert too_large > 20
    assert rows > 20


@usesbackend
@pytest.mark.parametrize("room", [1, 2, 5])
def test_little_room_for_rejects_does_not_show(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The core is called again, in the middle of what lies between messages and in the middle of damaged ones."""
    chance = random.Random(room)
    for _ in range(rounds(12)):
        data = log(chance)
        once = everything(scan(data))
        with monkeypatch.context() as patch:
            patch.setattr(rejects, "ROOM", room)
            assert everything(scan(data)) == once, data


@usesbackend
def test_records_inside_damaged_messages_and_their_pieces() -> None:
    """Lines that are a record are carved out of a damaged message; what begins or ends otherwise is part of it."""
    head = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\n"
    sstp = GOOD_JSON[0]
    whole = {GOOD: GOOD, sstp + b"\r": sstp, GOOD + b"\r": GOOD, sstp: sstp}
    for line in (*whole, GOOD + b" x", b" " + sstp, GOOD + GOOD, json.dumps({"log": GOOD.decode()}).encode()):
        data = GOOD + b"\n" + head + line + b"\nSTATUS OK\n\n" + GOOD + b"\n"
        found = everything(scan(data))
        add_up(data, found)
        columns, bad, _ = found
        assert columns["raw"] == [GOOD, *([whole[line]] if line in whole else []), GOOD]
        pieces = [head, b"STATUS OK\n"] if line in whole else [head + line + b"\nSTATUS OK\n"]
        assert [one["raw"] for one in bad] == pieces
        assert all((one["wire"], one["reason"], one["inner"]) == ("csp", "stray_line", None) for one in bad)
        for threads, batch_bytes in ((1, 7), (2, 40)):
            assert everything(scan(data, threads=threads, batch_bytes=batch_bytes)) == found


@usesbackend
def test_an_object_that_a_damaged_message_cuts_is_open_in_no_block() -> None:
    """It begins in the last line of the message, which ends the block but for lines of another prefix."""
    head = b"x: CSP/1\nx: FROM A\nCSP/1\nFROM A\nTO B\nCTX C0\nINTENT ULT\n"
    for line in (b'{"header": {"kind": "query"},', b"{", b'{"a":'):
        for behind in (b"  CSP/1\n  " + GOOD + b"\n  ```\n", b"y: CSP/1\ny: z\n", GOOD_JSON[0] + b"\n", b"}\n"):
            data = head + line + b"\n" + behind
            once = everything(scan(data))
            add_up(data, once)
            for size in range(20, len(data) + 1, 5):
                assert everything(scan(data, batch_bytes=size)) == once, (data, size)


@usesbackend
@pytest.mark.parametrize("front", [b"", b'"\n', b"text\n", b"{\n"])
def test_the_inside_of_a_string_is_looked_at_beside_lines_of_csp_too(front: bytes) -> None:
    """A line that begins as a message does, but for an escape, says a damaged one; whatever is in front of it."""
    for line in (rb"CSP/1\nFROM", rb"CSP/1\nFROM A\nTO B", rb"csp/1 x CSP/1\nFROM A"):
        data = front + line + b"\n"
        once = everything(scan(data))
        add_up(data, once)
        assert [one["offset"] for one in once[1]] == [data.index(b"CSP/1")]
        for size in range(1, len(data) + 1):
            assert everything(scan(data, batch_bytes=size)) == once, (data, size)


@usesbackend
def test_a_dense_mixture_keeps_its_order() -> None:
    """Rows of CSP/1 are put between the others where they stand."""
    chance = random.Random(23)
    parts: list[bytes] = []
    wires: list[str] = []
    for number in range(300):
        kind = chance.choice(("csp", "nslip", "sstp", "text", "blank"))
        if kind == "csp":
            parts.append(csp_message(chance) + b"\n```")
        elif kind != "blank":
            parts.append({"nslip": GOOD, "sstp": GOOD_JSON[0], "text": b"line %d" % number}[kind])
        else:
            parts.append(b"")
        wires += [kind] if kind not in ("text", "blank") else []
    data = b"\n".join(parts) + b"\n"
    found = scan(data)
    columns, bad, _ = everything(found)
    names = next(column.names for column in found.columns if column.name == "wire")
    assert ([names[code] for code in columns["wire"]], bad) == (wires, [])
    assert columns["offset"] == sorted(columns["offset"])
    assert all(data[at:].startswith(raw) for at, raw in zip(columns["offset"], columns["raw"], strict=True))


@pytest.mark.parametrize("name", ["pure"] if PURE_ONLY else ["native", "pure"])
def test_the_first_line_that_may_be_csp(name: str) -> None:
    """As the scanner of CSP/1 itself takes it: a line that is not text for it."""
    signs = core_module(name, "framing.line_heads").signs
    chance = random.Random(3)
    met = 0
    for _ in range(rounds(400)):
        lines = [chance.choice((*HEADS, b"a/1", b"p/1", b"sp/1 CSP/1", b"", b"CSP/x", b"1/2 /3")) for _ in range(3)]
        data = chance.choice((b"\n", b"\r\n")).join(lines) + chance.choice((b"", b"\n"))
        place, expected = 0, -1
        for line in data.split(b"\n"):
            text = line.lstrip(b"\xef\xbb\xbf" if line.startswith(b"\xef\xbb\xbf") else b"")
            text = text.lstrip(b" \t")
            shape = text[:3].upper() == b"CSP" and text[3:].lstrip(b" \t")[:1] == b"/"
            if shape and text[3:].lstrip(b" \t")[1:].lstrip(b" \t")[:1].isdigit():
                expected = place
                break
            place += len(line) + 1
        assert signs(data, 0, len(data))[0] == expected, data
        met += expected >= 0
    assert met > 100
    with pytest.raises(ValueError, match="lie in the data"):
        signs(b"CSP/1", 3, 9)


@pytest.mark.parametrize("line", [*HEADS, b"\t\tcsp /", b"CSP/1 MODE;x", b"<<<-", b">>>\r"])
def test_a_beginning_is_text_only_where_nothing_can_change_that(line: bytes) -> None:
    """Each beginning of a line that CSP/1 cares for waits for the rest."""
    cared = line not in (b"x CSP/1",)
    for size in range(len(line) + 1):
        if is_text(line[:size]):
            assert not cared or line[:size] in (b"\xef", b"\xef\xbb"), line[:size]
    assert is_text(b"x") and is_text(b"{") and is_text(b"@a3") and is_text(b"CSPX") and is_text(b"  a")
    assert block_pass.is_text(b"<<<a") and not is_text(b"")


@usesbackend
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


@usesbackend
@pytest.mark.parametrize("records", [(GOOD, GOOD, GOOD), (SSTP, GOOD, GOOD), (GOOD, SSTP, GOOD)])
def test_records_of_a_line_over_the_limit_are_found_once_wherever_it_is_cut(records: tuple[bytes, ...]) -> None:
    line = b" and ".join([*records, b"x" * 60])
    offsets = [0, len(records[0]) + 5, len(records[0] + records[1]) + 10]
    longest = max(map(len, records))
    for limit in range(longest, longest + 2 * len(GOOD) + 12):
        for block in (1 << 20, 7):
            found = scan(io.BytesIO(line), limits=LIMITS._replace(message=limit), batch_bytes=block)
            columns, rejects, _ = everything(found)
            assert (columns["offset"], rejects) == (offsets, []), (limit, block)


@usesbackend
def test_a_record_in_a_line_over_the_limit_is_found_as_by_its_wire() -> None:
    """A line may be longer than a message may be: what counts is the record."""
    token = b"@a3|f0|c1|S0|d1|T1|gH#"
    for before in (0, 1, 8, 9, 10, 30, 100):
        for behind in (0, 1, 9, 10, 30, 100):
            data = b"x" * before + b" " + token + b" " * behind + b"\n"
            expected = everything(scan(data * 3, wire="nslip", limits=LIMITS._replace(message=32)))
            for batch_bytes in (1, 50, 1 << 20):
                found = everything(
                    scan(io.BytesIO(data * 3), limits=LIMITS._replace(message=32), batch_bytes=batch_bytes)
                )
                assert found[0]["offset"] == expected[0]["offset"], (before, behind, batch_bytes)
