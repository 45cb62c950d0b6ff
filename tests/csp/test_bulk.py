"""The bulk scan of both cores: equal columns for any bytes, however cut, and the messages that ``parse`` finds."""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pytest

import turnwire.csp  # noqa: F401  (the core modules expect the package to be there)
from tests.csp.generate import ODD_LINES, document
from tests.nslip.twins import rounds
from turnwire.csp import _codec_py as pure
from turnwire.csp import spec
from turnwire.csp._marks_py import EXACT, NEAR, classify_magic_line
from turnwire.csp._marks_py import TEXT as NO_MESSAGE
from turnwire.csp.bulk import SCANNER, decode
from turnwire.csp.messages import FileOp, Generic, Op, Patch, Template
from turnwire.errors import Reason

LIMIT = 16 << 20
DTYPES = {
    **dict.fromkeys(("offset", "length", "line"), "i8"),
    "present": "u4",
    **dict.fromkeys(("intent", "status", "priority", "inside_unclosed_heredoc"), "u1"),
    "spans": SCANNER.packed.dtype,
}
TEXT_PARTS = tuple(f"{text}.{part}" for text in spec.BULK_TEXTS for part in ("offset", "length"))
REJECTS = {"offset": "i8", "length": "i8", "line": "i8", "fault": "i8", "reason": "u1"}
SURE = (spec.REASONS.index(Reason.BAD_UTF8), spec.REASONS.index(Reason.LOOK_ALIKE))
TEXT = (spec.REASONS.index(Reason.JUNK), spec.REASONS.index(Reason.TRAILING_TEXT))


class Found(NamedTuple):
    """What a core made of some bytes."""

    columns: dict[str, list[int]]
    rejects: dict[str, list[int]]
    line: int

    def spans(self) -> list[tuple[int, int]]:
        kinds = (self.columns, self.rejects)
        return sorted(pair for found in kinds for pair in zip(found["offset"], found["length"], strict=True))


class Room(NamedTuple):
    """Tables for some rows: they are asked for again and again, and each time they hold nothing but 77."""

    tables: dict[str, Any]
    singly: Any  # a row for each part of each text, with one place more than the core knows of
    given: dict[str, Any]  # both
    bad: dict[str, Any]


@lru_cache(32)
def room_for(most: int, wanted: tuple[str, ...]) -> Room:
    tables = {name: np.zeros(most, DTYPES[name]) for name in wanted}
    texts = TEXT_PARTS if "spans" in wanted else ()
    singly = np.zeros((len(texts), most + 1), "i8")
    given = tables | dict(zip(texts, singly[:, :most], strict=True))
    return Room(tables, singly, given, {name: np.zeros(most, dtype) for name, dtype in REJECTS.items()})


def empty_room(most: int, wanted: tuple[str, ...]) -> Room:
    room = room_for(most, wanted)
    for name, table in (*room.tables.items(), *room.bad.items()):
        (table.view("u1") if name == "spans" else table).fill(77)
    room.singly.fill(77)
    return room


def fill(core: Any, data: bytes, *, cuts=(), limit=LIMIT, wanted=tuple(DTYPES), base=0, line=1, room=0) -> Found:
    """All of ``data``; at each of ``cuts`` the core is told that no more has come yet."""
    texts = TEXT_PARTS if "spans" in wanted else ()
    columns: dict[str, list[int]] = {name: [] for name in (*wanted, *texts) if name != "spans"}
    rejects: dict[str, list[int]] = {name: [] for name in REJECTS}
    state = SCANNER.state()
    position, most = 0, room or data.count(b"\n") + 2  # each begins in a line of its own
    for size in (*cuts, len(data)):
        while True:
            own = empty_room(most, tuple(wanted))
            rows, bad, position, line = core.scan_block(
                *(data, position, size, size == len(data), own.given, 0, most, own.bad, 0, most),
                base=base,
                line=line,
                limit=limit,
                state=state,
            )
            assert (own.singly[:, most] == 77).all(), "nothing is written behind the tables"
            if rows and texts:
                for name, numbers in zip(texts, texts_of(core, own, rows).tolist(), strict=True):
                    columns[name] += numbers
            for name, table in own.tables.items() if rows else ():
                if name != "spans":
                    columns[name] += table[:rows].tolist()
            for name, table in own.bad.items() if bad else ():
                rejects[name] += table[:bad].tolist()
            if rows < most and bad < most:
                break
    assert position == len(data)
    return Found(columns, rejects, line)


def carried(core, data, size, final=False):
    """What a core carries on after the bytes at hand, of which more are to come: where it goes on, and its state."""
    tables = {name: np.zeros(64, "i8") for name in ("offset", "length", "line", "present", "intent")}
    rejects = {name: np.zeros(64, "i8") for name in ("offset", "length", "line", "fault", "reason")}
    state = SCANNER.state()
    *counts, position, line = core.scan_block(data, 0, size, final, tables, 0, 64, rejects, 0, 64, state=state)
    return counts, position, line, list(state)


def texts_of(core: Any, room: Room, rows: int) -> Any:
    """A row for each part of each text: what is written singly is what is found in the spans."""
    found = np.full((len(TEXT_PARTS), rows), 77)
    for number in range(len(spec.BULK_TEXTS)):
        core.text_spans(room.tables["spans"], rows, number, found[2 * number], found[2 * number + 1])
    assert np.array_equal(room.singly[:, :rows], found)
    return found


def agreed(core: Any, data: bytes, limit=LIMIT) -> Found:
    """What a core makes of ``data``: the native one what the pure one does, which is not compared with itself."""
    found = fill(core, data, limit=limit)
    if core is not pure:
        assert found == fill(pure, data, limit=limit), data
    return found


def log(seed: int) -> bytes:
    """Damaged documents among lines of a log, some of which look like parts of a message."""
    rng = random.Random(seed)
    lines = ["2026-05-04 INFO x", "INFO start", "", "<<<", ">>>", "@a3|f0#", "bob@example.com", *ODD_LINES]
    parts = []
    for number in range(rng.randrange(1, 4)):
        parts.append("".join(f"{line}\n" for line in rng.choices(lines, k=rng.choice((0, 0, 2, 5)))).encode())
        part = document(50_000 + 10 * seed + number, damage=rng.choice([0.0, 0.05, 0.15, 0.4]))
        parts.append(part if part.endswith(b"\n") or rng.random() < 0.2 else part + b"\n")
    return b"".join(parts)


def begins_message(data: bytes, place: int) -> bool:
    """Whether the line at a place, which says CSP/1 or nearly so, begins a message or a look-alike, damaged or not."""
    line = data[place:].partition(b"\n")[0].removesuffix(b"\r")
    return classify_magic_line(data, place, len(data), True, EXACT if line == b"CSP/1" else NEAR) != NO_MESSAGE


def check(data: bytes, found: Found, limits: tuple[int, int, int]) -> None:
    """Ranges lie apart; records are those of ``parse``; each reject is the head of one that ``parse`` names. Lines that
    say CSP/1 where no message follows are text in a log: they leave nothing to compare with ``parse``, which refuses
    them and what follows."""
    end = 0
    for offset, length in found.spans():
        assert offset >= end
        assert length > 0
        end = offset + length
    assert end <= len(data)
    for at, code in zip(found.rejects["offset"], found.rejects["reason"], strict=True):
        assert code in SURE or begins_message(data, at)
    rows, _, rejects = pure.tables(data, limits)
    if not all(one[3] in (*TEXT, *SURE) or begins_message(data, one[0]) for one in rejects):
        return
    rows = [row for row in rows if row[3] & 0xFF <= spec.TEMPLATE]
    places = ("offset", "length", "line", "intent", "inside_unclosed_heredoc")
    assert list(zip(*(found.columns[name] for name in places), strict=True)) == [
        (row[0], row[1], row[2] + 1, row[3] & 0xFF, row[3] >> 8) for row in rows
    ]
    rejects = [one for one in rejects if one[3] not in TEXT]
    assert [found.rejects[name] for name in ("offset", "line", "reason", "fault")] == [
        [one[0] for one in rejects],
        [one[2] + 1 for one in rejects],
        [one[3] for one in rejects],
        [one[4] for one in rejects],
    ]
    for one, length, fault in zip(rejects, found.rejects["length"], found.rejects["fault"], strict=True):
        assert length <= one[1]
        assert one[0] <= fault < max(one[0] + length, one[0] + 1) or fault == one[0] + length == len(data)
        assert data[one[0] + length - 1] == 10 or one[0] + length == len(data)
    assert found.line == 1 + data.count(b"\n")


@pytest.mark.parametrize("start", range(0, 600, 150))
def test_twins_agree_however_the_bytes_are_cut(csp_core, start):
    bad = rows = 0
    for seed in range(start, start + 60):
        data = log(seed)
        rng = random.Random(seed)
        limit = rng.choice((LIMIT, LIMIT, 300, 120, 40))
        expected = agreed(csp_core, data, limit=limit)
        if csp_core is pure:
            check(data, expected, (limit, 256, 65536))
        cuts = sorted(rng.sample(range(len(data) + 1), min(len(data), rng.randrange(1, 9))))
        assert fill(csp_core, data, cuts=cuts, limit=limit) == expected, seed
        assert fill(csp_core, data, cuts=cuts, limit=limit, room=rng.randrange(1, 4)) == expected, seed
        bad, rows = bad + len(expected.rejects["offset"]), rows + len(expected.columns["offset"])
    assert bad > 20
    assert rows > 90


def values(message: Any) -> dict[str, Any]:
    """What the columns of a message must hold, from the message itself."""
    if isinstance(message, Template):
        return {"flags": ";".join(message.flags)}
    found = {"from": message.sender, "to": message.receiver, "ctx": message.ctx, "id": message.block.id}
    block = message.block
    if isinstance(block, Patch):
        return {**found, "base": block.base, "apply": block.apply}
    if isinstance(block, Generic):
        return found
    found |= {key.lower(): value for key, value in block.fields}
    return {**found, "op": block.op} if isinstance(block, FileOp) else found


def test_columns_are_what_decoding_one_by_one_gives(csp_core):
    seen = set()
    for seed in range(rounds(400)):
        data = log(seed)
        found = fill(csp_core, data).columns
        for row in range(len(found["offset"])):
            offset, length = found["offset"][row], found["length"][row]
            message = decode(data[offset : offset + length])
            kind = spec.BULK_KINDS[found["intent"][row]]
            seen.add(kind)
            texts = {}
            for name, bit in SCANNER.bits.items():
                there = found["present"][row] >> bit & 1
                if name in spec.BULK_ENUMS:
                    code = found[name][row]
                    assert there == (code != 255)
                    if there:
                        texts[name] = spec.BULK_ENUMS[name][code].value
                    continue
                start, size = found[f"{name}.offset"][row], found[f"{name}.length"][row]
                if there:
                    texts[name] = data[start : start + size].decode()
                else:
                    assert (start, size) == (0, 0)
            lines = texts.pop(spec.BULK_LINES.get(kind, ""), None)
            assert texts == values(message), data[offset : offset + length]
            assert (lines is None) == (kind not in spec.BULK_LINES)
            if isinstance(message, Template):
                assert kind == "TEMPLATE"
                assert [line.removesuffix("\r") for line in lines.split("\n")] == (message.lines or [""])
            else:
                assert kind == message.intent
            if kind == "PATCH":
                ops = [line.removesuffix("\r").rstrip(" ") for line in lines.split("\n")] if lines else []
                assert ops == [written(op) for op in message.block.ops]
            if kind in ("PLAN", "QUERY", "MEM"):
                assert lines.count("\n") + bool(lines) >= len(message.block.fields)
                assert all(key in lines and value in lines for key, value in message.block.fields)
    assert seen == set(spec.BULK_KINDS)


def written(op: Op) -> str:
    """The line of an operation without spaces at its end."""
    sign, name, value = op
    assignment = {"+": f" = {value}", "~": f" := {value}", "-": ""}[sign]
    return f"{sign} DEF {name}{assignment}".rstrip(" ")


def test_columns_that_nobody_wants_are_not_written(csp_core):
    data = b"".join(document(seed, damage=0) for seed in range(20))
    once = fill(csp_core, data).columns
    for wanted in (
        ["offset"],
        ["spans", "present"],
        ["intent", "status"],
        ["priority", "line"],
    ):
        found = fill(csp_core, data, wanted=wanted).columns
        assert found.keys() == {name for name in once if name in wanted or ("spans" in wanted and "." in name)}
        assert found == {name: once[name] for name in found}


GOOD = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\nDATA x\n"
TASK = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\n"
DAMAGE = {
    "cut off in the header, a log behind": (b"CSP/1\nFROM A\n", b"2026 INFO x\n", b"2026 INFO y\n2026 INFO z\n"),
    "cut off in the block, a log behind": (TASK, b"2026 INFO x\n", b"2026 INFO y\n"),
    "two writers": (b"CSP/1\nFROM A\n", b"2026 INFO x\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n", b"\nREQ y\n"),
    "a missing blank line": (b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\nTASK T1\nREQ x\n", b"", b"\nnote\n"),
    "headers out of order": (b"CSP/1\nTO B\nFROM A\nCTX C0\nINTENT TASK\n\nTASK T1\nREQ x\n", b"", b"\n\nnote\n"),
    "another block": (TASK.replace(b"TASK T1", b"RESULT T1"), b"STATUS OK\n", b"\nSTATUS OK\n"),
    "no block": (b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT TASK\n", b"", b"\n\n"),
    "a line that nearly says it": (b"CSP/2\n", b"FROM A\n\nTASK T1\nREQ x\n", b"\nnote\n"),
    "a line with more that says it": (b"CSP/1 is a protocol\n", b"FROM A\n", b"and this is text\n"),
    "small letters": (b"csp/1\n", b"from a\nto b\nctx c0\nintent task\n", b"\ntask t1\n"),
    "white space in front": (b" CSP/1\n", b" FROM A\n TO B\n", b"note\n"),
    "a blank line too many": (b"CSP/1\n", b"\nFROM A\nTO B\nCTX C0\nINTENT TASK\n\nTASK T1\n", b"note\n"),
    "a header that is cut by a blank line": (b"CSP/1\nFROM A\n", b"\nTO B\nCTX C0\nINTENT TASK\n", b"note\n"),
    "a heredoc in a broken message": (TASK, b"NO x\nDATA\n<<<\nCSP/1\nFROM EVIL\n\n>>>\nREQ x\n", b"text\n"),
    "a heredoc that never closes": (TASK + b"REQ\n<<<<\n", b"", b"x\ny\n"),
    "bad UTF-8": (TASK + b"REQ \xff\n", b"", b"\ntext\n"),
    "NUL bytes": (TASK + b"REQ x\n", b"\0\0\n", b"\0\n\0\n"),
    "UTF-16": (TASK, "REQ x\n".encode("utf-16")[:-1], b"\0\n"),
    "a Compact Symbol Protocol": (b"CSP/1\nSTATUS ok\nSCOPE x\n", b"READ_RECS 3\n", b"\nnote\n"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_costs_itself_and_no_more(csp_core, name):
    head, more, text = DAMAGE[name]
    data = b"note\n" + GOOD + b"\n" + head + more + text + GOOD
    found = fill(csp_core, data)
    start = data.index(head, 5 + len(GOOD))
    assert (found.rejects["offset"], found.rejects["length"]) == ([start], [len(head + more)])
    inside = name == "a heredoc that never closes"
    assert found.columns["offset"] == [5, start + len(head + more + text)]
    assert found.columns["inside_unclosed_heredoc"] == [0, int(inside)]


def test_text_around_messages_is_no_reject(csp_core):
    text = b"DEF A = b\nLAWS\n- L1: x\n```csp\n@a3\n<<<\n\nREQ x\n```\n"
    found = fill(csp_core, text + GOOD + b"\nBye.\n<<<\n" + GOOD + b">>>\n```\n" + text + GOOD)
    assert found.rejects["offset"] == []
    assert len(found.columns["offset"]) == 2, "a CSP/1 line in the heredoc behind a message is content"


def test_places_count_from_base_and_line(csp_core):
    found = fill(csp_core, b"text\n" + GOOD + b"\nCSP/1\nFROM  A\n", base=1000, line=70)
    assert (found.columns["offset"], found.columns["line"]) == ([1005], [71])
    assert found.columns["from.offset"] == [16], "spans stay places in the data"
    assert (found.rejects["offset"], found.rejects["line"]) == ([1006 + len(GOOD)], [81])
    assert found.rejects["fault"] == [1012 + len(GOOD)]
    assert found.line == 83


def test_wrong_places_and_tables_are_refused(csp_core):
    columns, rejects = {"offset": np.zeros(1, "i8")}, {name: np.zeros(1, kind) for name, kind in REJECTS.items()}
    for start, size in ((-1, 2), (3, 2), (0, 4)):
        with pytest.raises((ValueError, OverflowError)):
            csp_core.scan_block(b"abc", start, size, True, columns, 0, 1, rejects, 0, 1)
    for rows, room, bad, bad_room in ((2, 1, 0, 1), (-1, 1, 0, 1), (0, 1, 2, 1), (0, 1, -1, 1)):
        with pytest.raises(ValueError, match="must lie in their tables"):
            csp_core.scan_block(b"abc", 0, 3, True, columns, rows, room, rejects, bad, bad_room)
    with pytest.raises(ValueError, match="rejects need"):
        csp_core.scan_block(b"abc", 0, 3, True, columns, 0, 1, {"offset": rejects["offset"]}, 0, 1)
    for name in REJECTS:
        others = {**{key: value for key, value in rejects.items() if key != name}, "more": rejects[name]}
        with pytest.raises(ValueError, match=r"^rejects need offset, length, line, fault and reason$"):
            csp_core.scan_block(b"CSP/1\nFROM  A\n", 0, 14, True, columns, 0, 1, others, 0, 1)
    for rows, bad in ((1, 0), (0, 1), (1, 1)):
        assert csp_core.scan_block(GOOD, 0, len(GOOD), True, columns, rows, 1, rejects, bad, 1) == (rows, bad, 0, 1)


HEAD = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT %b\n\n"
NEARLY_USUAL = [
    HEAD % b"MEM" + b"MEM M\n" + line + b"\n\n"
    for line in (
        b"K v",
        b"K",
        b"K ",
        b"CSP /1",
        b"CSP /x",
        b"k v",
        b"K_1 v\nL v",
        b"A" * 40 + b" v",
        b"K v\n<<<\n>>>",
        b" ",
    )
]
NEARLY_USUAL += [
    HEAD % b"PATCH" + b"PATCH P1\n" + b"\n".join(lines) + b"\n\n"
    for lines in (
        [b"BASE C0", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A =", b"~ DEF _B1 :=", b"- DEF C", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A = v", b"~ DEF A := ", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A v", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A =v", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A ", b"APPLY -> C1"],
        [b"BASE C0", b"~ DEF A = v", b"APPLY -> C1"],
        [b"BASE C0", b"~ DEF A :v", b"APPLY -> C1"],
        [b"BASE C0", b"- DEF A = v", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF 1 = v", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF", b"APPLY -> C1"],
        [b"BASE C0", b"AND so on", b"APPLY -> C1"],
        [b"BASE C", b"APPLY -> C1"],
        [b"BASE C0x", b"APPLY -> C1"],
        [b"BASE C0", b"APPLY -> 1"],
        [b"BASE C0", b"APPLY -> C1", b"+ DEF A = v"],
        [b"APPLY -> C1", b"BASE C0"],
        [b"BASE C0", b"BASE C0", b"APPLY -> C1"],
        [b"BASE C0", b"+ DEF A = v\r", b"APPLY -> C1"],
        [b"BASE C0", b"+ REF A = v", b"APPLY -> C1"],
        [b"BASE C0", b"+ REF A = v", b"- REF B", b"~ REF C := v", b"APPLY -> C1"],
        [b"BASE C0x", b"+ DEF A = v", b"APPLY -> C1y"],
    )
]
NEARLY_USUAL += [
    HEAD % b"RESULT" + b"RESULT T1\n" + lines + b"\n\n"
    for lines in (
        b"STATUS OK\nDATA\n<<<\n>>>",
        b"STATUS OK\nPRODUCED\n<<<<\n>>>\n>>>>>\n>>>>\nDATA\n<<<\n>>\n>>>\r",
        b"STATUS OK\nPRODUCED\nDATA x",
        b"STATUS\n<<<\nOK\n>>>\nDATA x",
        b"STATUS OK\nDATA\n<<<-\nx\n>>>",
        b"STATUS OK\nDATA\n<<\n",
        b"STATUS OK\nDATA\n<<< \n>>>",
        b"STATUS OK\nDATA\n<<<\n>>>x\n >>>\n>>>",
        b"STATUS OK\nDATA x\nDATA\n<<<\n>>>",
        b"STATUS OK\nPRODUCEDX y",
    )
]


@pytest.mark.parametrize("place", range(0, 200, 40))
def test_what_is_nearly_usual_is_read_as_by_the_grammar(csp_core, place):
    """The native core reads usual messages on a path of its own."""
    for wire in NEARLY_USUAL:
        for limits in ((LIMIT, 256, 65536), (len(wire) - 1, 256, 65536)):
            data = b"-" * place + b"\n" + wire + GOOD + b"\n" + b"-" * 60
            check(data, agreed(csp_core, data, limit=limits[0]), limits)


def test_every_truncation_and_every_bit(csp_core):
    data = GOOD + b"\r\nx\n" + TASK + b"REQ\n<<<\nCSP/1\n>>>\n"
    for size in range(len(data) + 1):
        agreed(csp_core, data[:size])
    for place in range(len(GOOD) - 1):
        for bit in range(8):
            changed = bytearray(data)
            changed[place] ^= 1 << bit
            found = agreed(csp_core, bytes(changed))
            assert found.columns["offset"][-1:] == [data.index(TASK)], "the next message is found"


def test_what_is_carried_on_is_of_what_was_taken(csp_core):
    """A line that ends what was open, in a message that is not whole yet, is told with that message."""
    front = b"DEF A = 1\nCSP/1;!x\nTASK REQ:x\n\n"
    message = b"CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nA\n<<<\nx\n>>>\n"
    for data in (
        message * 2,
        b"text\n" + message,
        front + message,
        b"```\n" + message + b"```\n",
        message[:-4] + message,
    ):
        for size in range(len(data) + 1):
            assert carried(csp_core, data, size) == carried(pure, data, size), data[:size]
    _, position, _, state = carried(csp_core, b"text\n" + message, 40)
    assert (position, state[3]) == (5, 0)
