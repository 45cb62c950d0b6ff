"""Bytes, numbers and texts at each place of what the native code looks at together; and what it tells again, or keeps
from the record before. Both cores say the same there."""

from __future__ import annotations

import ctypes
import json
import random
import subprocess
import sys
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import turnwire
from tests.conftest import needs_both
from tests.test_twins_at_edges import HEAD, RECORDS, alike, both
from turnwire import nslip, session
from turnwire.nslip import base62

pytestmark = [pytest.mark.once, needs_both]


def test_header_lines_behind_bytes_that_begin_them() -> None:
    pieces = (b"\xe2", b"\xe2\xab", b"\xab", b"\xe2\xab\xbb", b"\n", b"x", b"\xe2\xab\xbbx\n")
    for several in product(pieces, repeat=4):
        data = b"".join(several)
        alike("framing.line_heads", lambda core, data=data: core.header_lines(data, 0, len(data)))


LARGEST = base62.encode(2**64 - 1).encode()


@pytest.mark.parametrize("row", range(4))
def test_numbers_just_beyond_64_bits_in_any_row(row: int) -> None:
    beyond = [base62.encode(2**64 - 1 - more).encode() for more in (5, 1, 0)]
    beyond += [LARGEST[:-1] + bytes([LARGEST[-1] + more]) for more in (1, 2, 5)] + [
        b"Lzzzzzzzzzz",
        b"M0000000000",
        b"z" * 11,
    ]
    for digits in beyond:
        texts = [LARGEST] * 4
        texts[row] = digits
        for kind in ("S11", "S12", "S16"):
            numbers = np.array(texts, kind)
            found = alike("nslip.base62", lambda core, numbers=numbers: list(core.decode_array(numbers)))
            assert isinstance(found, tuple) is (digits > LARGEST)


@pytest.mark.parametrize("size", range(8, 18))
def test_views_of_texts_of_each_size(size: int) -> None:
    for arena in (b"", b"z" * 40):
        told = []
        for core in both("log.views"):
            out, bitmap = np.zeros(48, np.uint8), np.zeros(1, np.uint8)
            offsets, lengths = np.array([0, 5, 10], np.int64), np.full(3, size, np.int64)
            column = offsets, lengths, 0, -1, out, bitmap
            data = np.frombuffer(b"abcdefghij" * 4, np.uint8), np.frombuffer(arena, np.uint8)
            found = core.text_views(*data, np.ones(3, np.uint16), (column,))
            told.append((found, out.tolist(), bitmap.tolist()))
        assert told[0] == told[1]


@pytest.mark.parametrize("number", [1, 31, 32, 33, 64])
def test_so_many_bits_are_moved_at_once(number: int) -> None:
    native, pure = both("log.views")
    moves, told = [(at % 32, at % 29) for at in range(number)], []
    for core in (native, pure):
        out = np.zeros(3, np.uint64)
        if core is native and number > 32:
            with pytest.raises(ValueError, match="a mask has 32 bits"):
                core.moved_bits(np.full(3, 0xA5A5A5A5, np.uint32), moves, out)
            return
        told.append((core.moved_bits(np.full(3, 0xA5A5A5A5, np.uint32), moves, out), out.tolist()))
    assert told[0] == told[1]


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x80"])
def test_a_bad_byte_at_each_place_of_a_block_of_lines(bad: bytes) -> None:
    native, pure = both("csp.codec")
    for before in range(70):
        head = HEAD.format("TASK").encode() + b"TASK T1\nREQ x\nIN "
        for first in (b"y" * before + b"\n", b"\n" * before):
            data = first + head + b"a" * 100 + bad + b"a" * 100 + b"\n\n" + b"z\n" * 70
            wanted = pure.tables(data)
            assert [native.tables_at(level, data) for level in (0, 1, 2)] == [wanted] * 3, before


def texts_of(core: Any, told: Any = lambda word: None) -> Any:
    nothing = SimpleNamespace(few=[], within=lambda text: [])
    context = SimpleNamespace(law_texts=nothing, agents=set(), tasks={}, final={}, produced=set())
    return core.Texts(context, {}, told, lambda text: True)


@pytest.mark.parametrize("name", ["_1", "__", "_", "A1", "_12", "AB", "1", "_A", "A_", "a", "_a", "XX", "XX_1"])
def test_names_that_are_defined_or_not(name: str) -> None:
    raw = f"{HEAD.format('TASK')}TASK T1\nREQ deploy\nIN {name}\n".encode()
    for names in ({}, {"XX": 1}, {"_1": 1, "A": 2}):
        told = []
        for core in both("csp.texts"):
            texts = texts_of(core)
            texts.know(False, False, names, {})
            texts.go_on("c")
            told.append(texts.settled(raw, 1, 0))
        assert told[0] == told[1]


def test_what_is_told_once_is_told_again_when_more_is_known() -> None:
    told: list[list[str]] = []
    for core in both("csp.texts"):
        told.append([])
        texts = texts_of(core, told[-1].append)
        for number in range(6):
            if number != 3:
                texts.know(False, False, {}, {})
                texts.go_on("c")
            for kind, block in (("TASK", f"TASK T{number}\nREQ deploy"), ("RESULT", f"RESULT T{number}\nSTATUS OK")):
                texts.settled(f"{HEAD.format(kind)}{block}\n".encode(), 1, 0)
    assert told[0] == told[1] and told[0].count("TASK") > 1


@pytest.mark.parametrize("name", ["risk_score", "confidence", "uncertainty"])
def test_fractions_of_each_number_of_digits(name: str) -> None:
    """The number is the nearest there is, however many digits it has."""
    chance = random.Random(name)
    numbers = []
    for size in range(1, 25):
        numbers += ["".join((chance.choice("0189"), ".", *chance.choices("0123456789", k=size))) for _ in range(6)]
    found = []
    for text in RECORDS["sstp"]:
        fields = json.loads(text)
        for part in (fields["header"], fields["payload"]) if {"header", "payload"} <= fields.keys() else ():
            if name in part or name == "risk_score":
                fields["header"].pop(name, None)
                (fields["header"] if name == "risk_score" else part)[name] = 0.123
                lines = [json.dumps(fields).replace("0.123", number) for number in numbers]
                batches = turnwire.scan("\n".join(lines).encode(), wire="sstp")
                found.append([value for batch in batches for value in batch[name].tolist()])
                break
    assert found and all(values == [float(number) for number in numbers] for values in found if values)
    assert any(found)


@pytest.mark.parametrize("first", ['t"a\\"b"', 'u"a\\"b"', 't"plain"', "g1"])
def test_what_is_marked_of_usual_records_behind_one_with_an_escape(first: str) -> None:
    """As if it were not there."""
    lines = [f"said @a1|f0|c1|S1|d2|T1|{text}# and\n" for text in (first, 't"x"', 't"a longer one"') * 3]
    own = [lines[number] for number in (1, 2) * 3]
    before, behind = "x" * 300 + "\n", "y" * 300 + "\n"
    for wire in (None, "nslip"):
        (batch,), (alone,) = (
            turnwire.scan((before + "".join(some) + behind).encode(), wire=wire) for some in (lines, own)
        )
        kept = [row for row in range(9) if row % 3]
        for name in batch.names:
            if name not in ("offset", "line", "record"):
                column, other = list(batch[name]), list(alone[name])
                assert [column[row] for row in kept] == other, name
        for masks, others in ((batch._masks, alone._masks),):
            assert (
                (masks is None) or others is None or [int(masks[row]) for row in kept] == [int(one) for one in others]
            )


@pytest.mark.parametrize("limit", [-1, 0, 1, 2])
def test_a_refused_line_of_just_the_limit(limit: int) -> None:
    """Refused for what it is, and not for its length; what is longer is too long."""
    text = RECORDS["sstp"][0].rstrip()[:-1]
    for end in ("\n", "\r\n", ""):
        scan = turnwire.scan(f"{text}{end}".encode(), limits=turnwire.LIMITS._replace(message=len(text) + limit))
        assert sum(map(len, scan)) == 0
        (reject,) = scan.rejects.rows()
        if (limit, end) != (1, "\r\n"):  # where a line feed behind the limit is taken for more of the object
            assert (reject["reason"] == "message_too_large") is (limit < 0), (limit, end)


@pytest.mark.parametrize("blanks", range(5))
def test_blank_lines_inside_a_record_that_is_folded(blanks: int) -> None:
    words = ("apple\npear", "zebra one\ncross", "kilo\nmeter nine", "quartz\nfive", "river bend\nwest") * 6
    events = [
        {"a": text, "number_of": 7 * at * at, "constant key": "of some text that is long"}
        for at, text in enumerate(words)
    ]
    text = session.encode(events, checks=False, aliases=False)
    at = text.find("\n ", text.find("kilo") + 200)
    changed = text[:at] + "\n" * blanks + text[at:]
    told = []
    for pure in ("0", "1"):
        code = f"from turnwire import session\nprint(ascii(session.lines_of({changed!r}, sealed=False)))"
        environment = {"TURNWIRE_PURE": pure, "PATH": "/usr/bin"}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
        )
        told.append((done.stdout, done.stderr.rpartition("turnwire")[2]))
    assert told[0] == told[1]


@pytest.mark.parametrize("most", range(1, 16))
def test_pieces_up_to_so_many(most: int) -> None:
    for bodies in (["one two", "three four", "five six"], ["a", "b c d", ""], ["one  two", "x-y z"]):
        native, pure = (core.pieces(bodies, most) for core in both("session.repeats"))
        assert [list(one) for one in native] == [list(one) for one in pure]


@pytest.mark.parametrize("name", ["conv_id", "turn", "src", "dst", "act", "frame"])
def test_numbers_that_are_set_are_what_was_set(name: str) -> None:
    """Their kind, too, whether they are read before anything else of the message or behind it."""
    for value in (0, 1, 4, True, nslip.Act.REQUEST, nslip.FrameType.TASK, 2**63, 2**64 - 1, 7.0):
        for touched in (False, True):
            told = []
            for core in both("nslip.codec"):
                message = core.decode("@a3|f0|c1|S2|d1|T2|g1#")
                if touched:
                    assert message.slots and message.act is not None
                setattr(message, name, value)
                told.append((type(getattr(message, name)), getattr(message, name)))
            assert told[0] == told[1], (value, touched)


RELEASE = """
import ctypes, sys
from turnwire._native.log import callbacks
calls = []
def release(address):
    calls.append(address)
    if len(calls) == 1:
        raise KeyboardInterrupt
    ctypes.c_void_p.from_address(address).value = None
sys.unraisablehook = lambda told: None
memory = ctypes.c_void_p(1)
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(callbacks.foreign(release, 0))(ctypes.addressof(memory))
print(len(calls), memory.value)
"""


def test_what_ctrl_c_kept_from_being_released_is_released_whatever_its_place_is() -> None:
    done = subprocess.run([sys.executable, "-c", RELEASE], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.stderr) == ("2 None\n", "") and ctypes.sizeof(ctypes.c_void_p) == 8
