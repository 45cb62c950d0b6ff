"""The two scanners give the same tables, however the bytes are cut, and every byte belongs to one thing."""

from __future__ import annotations

import random
from importlib import import_module

import numpy as np
import pytest

from tests.csp.generate import GOOD_BLOCKS, document
from tests.csp.test_bulk import REJECTS
from tests.nslip.twins import rounds
from turnwire.csp import _codec_py as pure
from turnwire.csp import spec
from turnwire.errors import Reason

LIMITS = [pure.NO_LIMIT, (200, 3, 12), (100, 2, 5), (60, 256, 65536), (20, 2, 2)]


def in_chunks(core, data: bytes, limits, sizes: list[int], capacity: int):
    """The tables of ``data`` fed in pieces: the window grows where an item is not whole."""
    shapes = ((capacity, spec.ROW_WIDTH), (4 * capacity, spec.EXTRA_WIDTH), (capacity, spec.REJECT_WIDTH))
    buffers = [np.zeros(shape, np.int32) for shape in shapes]
    state = np.zeros(spec.STATE_WIDTH, np.int64)
    rows, extras, rejects = [], [], []
    place = stop = turn = 0
    while True:
        line, final = int(state[0]), stop >= len(data)
        consumed, *used = core.scan_into(data, place, stop, final, limits, state, *buffers)
        for offset, length, number, code, *spans, first, count in buffers[0][: used[0]].tolist():
            rows.append((offset, length, number + line, code, *spans, first + len(extras), count))
        extras += map(tuple, buffers[1][: used[1]].tolist())
        for offset, length, number, reason, fault, fault_line in buffers[2][: used[2]].tolist():
            rejects.append((offset, length, number + line, reason, fault, fault_line + line))
        if consumed >= len(data) and final:
            assert state[0] == data.count(b"\n")
            return rows, extras, rejects
        if used[0] < capacity and used[2] < capacity:
            assert not final
            stop = min(len(data), stop + sizes[turn % len(sizes)])
            turn += 1
        place = consumed


def agreed(core, data: bytes, limits):
    """The tables of ``data``: those of the native core are those of the pure one, which is not compared with itself."""
    found = core.tables(data, limits)
    if core is not pure:
        assert found == pure.tables(data, limits), data
    return found


@pytest.mark.parametrize("start", range(0, 1000, 250))
def test_twins_agree(csp_core, start):
    for seed in range(start, start + 120):
        data = document(seed)
        limits = LIMITS[seed % len(LIMITS)]
        expected = agreed(csp_core, data, limits)
        rows, _, rejects = csp_core.tables(data, limits, "first")
        assert csp_core.tables(data, limits, "none") == (*expected[:2], []), seed
        assert rejects == expected[2][:1], seed
        assert rows == [row for row in expected[0] if not rejects or row[0] < rejects[0][0]], seed
        rng = random.Random(seed)
        sizes = [rng.randrange(1, 60) for _ in range(5)]
        assert in_chunks(csp_core, data, limits, sizes, rng.choice([3, 50])) == expected, seed


def long_log(seed: int) -> bytes:
    """Usual messages, and nearly usual ones, over several of the native scanner's windows (8 KiB), anywhere in them."""
    rng = random.Random(seed)
    parts = ["x" * rng.randrange(9000) + "\n"]
    while sum(map(len, parts)) < 40_000:
        name = rng.choice(["A", "\u00e9", *("B" * size for size in (7, 8, 9, 55, 56, 57, 58, 63, 64, 65, 200))])
        if rng.random() < 0.1:
            name = rng.choice(["C\x7f", "D\t", "E F", ""])
        token = name if rng.random() < 0.5 else "MAIN"
        lines = list(rng.choice(list(GOOD_BLOCKS.items()))[1])
        intent = "FILE" if lines[0].startswith("FILEOP") else lines[0].split()[0]
        if rng.random() < 0.1:
            lines[1:1] = [rng.choice(["", "REQ \u20ac", "REQ", "DATA", "K_1 v", "\xff"])]
        if lines[-1] == ">>>":
            lines[-1:-1] = ["+" + rng.choice(["a", "\u00fc", "\r", ">>>>", "<<<"]) * rng.randrange(60)] * rng.choice(
                (1, 1, 1, 9, 9, 9, 300)
            )
        end = rng.choice(["\n", "\n", "\n", "\n", "\n", "\r\n"])
        head = ["CSP/1", f"FROM {token}", "TO B", f"CTX {name}", f"INTENT {intent}", ""]
        parts.append(end.join([*head, *lines, rng.choice(["", "\n", "\n\n"])]))
    data = "".join(parts).encode()
    return data[: len(data) - rng.randrange(40)] if rng.random() < 0.5 else data


def test_twins_agree_on_logs_of_many_windows(csp_core):
    rows = 0
    for seed in range(rounds(25)):
        data = long_log(seed)
        limits = (LIMITS[0], LIMITS[0], (9000, 256, 65536), LIMITS[1])[seed % 4]
        expected = agreed(csp_core, data, limits)
        assert in_chunks(csp_core, data, limits, [5000, 8191, 8193], 50) == expected, seed
        rows += len(expected[0])
    assert rows > 1000


@pytest.mark.parametrize("log", [document, long_log])
def test_every_way_to_list_lines_agrees(log, backend):
    native = import_module("turnwire._native.csp.codec") if backend == "native" else None
    if native is None:
        return
    for seed in range(rounds(50)):
        data = log(seed)
        assert native.tables_at(0, data) == native.tables_at(1, data)


def test_every_byte_belongs_to_one_thing(csp_core):
    for seed in range(rounds(400)):
        data = document(seed, damage=0.4)
        rows, _, rejects = csp_core.tables(data)
        place = 0
        for start, length in sorted(record[:2] for record in rows + rejects):
            assert start >= place
            assert length > 0
            assert not data[place:start].strip(b" \t\r\n")
            place = start + length
        assert not data[place:].strip(b" \t\r\n")


def test_every_truncation(csp_core):
    text = "".join(
        f"CSP/1\nFROM MAIN\nTO B\nCTX C0\nINTENT {intent}\n\n" + "".join(f"{line}\n" for line in lines)
        for intent, lines in GOOD_BLOCKS.items()
    ).encode()
    whole = len(csp_core.tables(text)[0])
    assert whole == len(GOOD_BLOCKS)
    for cut in range(len(text)):
        tables = csp_core.tables(text[:cut])
        assert tables == pure.tables(text[:cut])
        assert len(tables[0]) <= whole


def scanned(core, data: bytes, stop: int, final: bool):
    """What one call makes of ``data[:stop]``."""
    state = np.zeros(4, np.int64)
    tables = [np.zeros((200, width), np.int32) for width in (spec.ROW_WIDTH, spec.EXTRA_WIDTH, spec.REJECT_WIDTH)]
    consumed, *used = core.scan_into(data, 0, stop, final, core.NO_LIMIT, state, *tables)
    found = [table[:count].tolist() for table, count in zip(tables, used, strict=True)]
    return consumed, found, state.tolist()


MEMORY = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK\n<<<\nx\n>>>"


@pytest.mark.parametrize(
    "data",
    [
        *(MEMORY + behind for behind in (b"\n", b"\r\n", b">\n", b"x\n>>>\n", b"")),
        MEMORY.replace(b"<<<", b"<<<<") + b"\n\n" + MEMORY + b">\n" + MEMORY + b"\n",
        b"CSP/1 - the Compact Symbol Protocol\nFROM A\n",
        b"CSP/1\rFROM A\rTO B\r\nx\n",
        *map(document, range(0, 200, 25)),
    ],
)
def test_what_is_behind_the_end_is_not_looked_at(csp_core, data):
    """Also where the end is in the middle of a heredoc, of its last line, or of a line end."""
    for stop in range(len(data) + 1):
        for final in (False, True):
            assert scanned(csp_core, data, stop, final) == scanned(csp_core, data[:stop], stop, final), (stop, final)


def test_bad_utf8_costs_the_record_it_is_in(csp_core):
    """A preamble, a template, a message: from its first line to its last, with the place of the first bad byte."""
    preamble, template = b"DEF A = b\nLAWS\n- L1: a\xff\xfe\nDEF B = c\n", b"CSP/1 MODE; \xc3\nx\n"
    message = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK \xed\xa0\x80\n"
    good = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK \xc3\xa9\n"
    data = preamble + b"\n" + template + b"\n" + message + b"\n" + good
    rows, _, rejects = csp_core.tables(data)
    code = spec.REASONS.index(Reason.BAD_UTF8)
    starts = [data.index(part) for part in (preamble, template, message)]
    faults = [data.index(part) for part in (b"\xff", b"\xc3\nx", b"\xed")]
    assert rejects == [
        (start, len(part), data.count(b"\n", 0, start), code, fault, data.count(b"\n", 0, fault))
        for start, part, fault in zip(starts, (preamble, template, message), faults, strict=True)
    ]
    assert [row[:2] for row in rows] == [(data.index(good), len(good))]


def test_every_bit_flip(csp_core):
    text = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA\n<<<\nx\n>>>\n"
    follower = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK v\n"
    for place in range(len(text)):
        for bit in range(8):
            damaged = text[:place] + bytes([text[place] ^ 1 << bit]) + text[place + 1 :] + follower
            tables = csp_core.tables(damaged)
            assert tables == pure.tables(damaged)
            if place < len(text) - 1:  # the last newline parts the two
                assert tables[0][-1][0] == len(text), "the next good record is still read"


@pytest.mark.parametrize("opened", ["<<<\n" * 40_000, "".join("<" * (3 + n % 50) + "\n" for n in range(20_000))])
def test_many_unclosed_heredocs_take_linear_time(csp_core, opened):
    message = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK\n<<<<<\n"
    rows, _, rejects = csp_core.tables((message * 2000 + opened).encode())
    assert not rows
    assert len(rejects) > 2000


def test_wrong_tables_are_refused(csp_core):
    state = np.zeros(4, np.int64)
    widths = (spec.ROW_WIDTH, spec.EXTRA_WIDTH, spec.REJECT_WIDTH)
    tables = [np.zeros((4, width), np.int32) for width in widths]
    for place, width in enumerate(widths):
        other_kinds = [np.zeros((4, width), kind) for kind in (np.int64, np.int16, np.uint32, np.float32)]
        for wrong in (np.zeros((4, width + 1), np.int32), np.zeros(width, np.int32), *other_kinds):
            others = [*tables[:place], wrong, *tables[place + 1 :]]
            with pytest.raises(ValueError, match=rf"^a table of int32 with {width} columns is needed$"):
                csp_core.scan_into(b"CSP/1\n", 0, 6, True, csp_core.NO_LIMIT, state, *others)
    for start, stop in ((0, 7), (-1, 6), (4, 3)):
        with pytest.raises(ValueError, match=r"^start and stop lie outside the data$"):
            csp_core.scan_into(b"CSP/1\n", start, stop, True, csp_core.NO_LIMIT, state, *tables)


def test_2_gib_at_once_are_refused(csp_core):
    """Of memory that is never touched."""
    state = np.zeros(4, np.int64)
    tables = [np.zeros((4, width), np.int32) for width in (spec.ROW_WIDTH, spec.EXTRA_WIDTH, spec.REJECT_WIDTH)]
    words = r"^a buffer of 2 GiB or more cannot be scanned at once: spans are 32 bits wide$"
    with pytest.raises(ValueError, match=words):
        csp_core.scan_into(np.zeros(1 << 31, np.uint8), 0, 6, True, csp_core.NO_LIMIT, state, *tables)
    with pytest.raises(ValueError, match=words):
        csp_core.tables(bytes(1 << 31))
    for size, said in ((1 << 31, words), ((1 << 31) - 1, r"^start and size must lie in the data$")):
        with pytest.raises(ValueError, match=said):
            csp_core.scan_block(b"CSP/1\n", 0, size, True, {}, 0, 0, dict.fromkeys(REJECTS, state), 0, 0)


def test_a_full_table_stops_the_scan_and_nothing_is_lost(csp_core):
    record = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT PLAN\n\nPLAN L1\nS 1\nS 2\nS 3\n\n"
    state = np.zeros(4, np.int64)
    rows, rejects = np.zeros((9, spec.ROW_WIDTH), np.int32), np.zeros((9, spec.REJECT_WIDTH), np.int32)
    extras = np.zeros((4, spec.EXTRA_WIDTH), np.int32)
    consumed, *used = csp_core.scan_into(
        record * 3, 0, 3 * len(record), True, csp_core.NO_LIMIT, state, rows, extras, rejects
    )
    assert used == [1, 3, 0]
    assert consumed == len(record)
    assert state[0] == record.count(b"\n")


def test_a_law_stands_below_its_head_and_behind_nothing_else(csp_core):
    data = b"LAWS\n- L1: a\n\n- L2: b\nDEF X = 1\n- L3: c\n"
    rows, _, rejects = csp_core.tables(data)
    assert [(row[0], row[1]) for row in rows] == [(0, data.index(b"- L3"))]
    assert [(reject[0], reject[1]) for reject in rejects] == [(data.index(b"- L3"), 8)]


def test_what_closes_one_of_two_open_heredocs_closes_not_both(csp_core):
    """The second one is opened in the damaged message in which the first one could be closed."""
    head = "CSP/1\nFROM A\nTO B\nCTX C0\nINTENT {}\n\n"
    good = head.format("PLAN") + "PLAN L1\nS 1\n\n"
    opened = good + "<<<\n" + "x\n" * 60
    for damage, inside in ((">>>\n<<<<\n", True), ("<<<<\n>>>>\n>>>\n", False)):
        data = opened + head.format("TASK") + "TASK T1\nNO\n" + damage + "y\n" * 60 + good
        rows, *_ = csp_core.tables(data.encode(), (90, 50, 50))
        assert [bool(row[3] & spec.INSIDE_UNCLOSED) for row in rows] == [False, inside], damage


def test_reads_any_contiguous_buffer(csp_core):
    record = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nK v\n"
    tables = [np.zeros((4, width), np.int32) for width in (spec.ROW_WIDTH, spec.EXTRA_WIDTH, spec.REJECT_WIDTH)]
    for data in (record, bytearray(record), memoryview(record), np.frombuffer(record, np.uint8)):
        state = np.zeros(4, np.int64)
        used = csp_core.scan_into(data, 0, len(record), True, csp_core.NO_LIMIT, state, *tables)
        assert used == (len(record), 1, 1, 0)


@pytest.mark.parametrize("word", [b"FROM", b"INTENT", b"RESULT", b"STATUS", b"DATA"])
@pytest.mark.parametrize("behind", [b" ", b"", b"\0"])
def test_nul_behind_a_word_is_no_part_of_it(csp_core, word, behind):
    good = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nPRODUCED F1\nDATA x\n\n"
    data = good.replace(b"\n" + word + b" ", b"\n" + word + b"\0" + behind)
    assert csp_core.tables(data, pure.NO_LIMIT) == pure.tables(data, pure.NO_LIMIT)
    assert not csp_core.tables(data, pure.NO_LIMIT)[0]
