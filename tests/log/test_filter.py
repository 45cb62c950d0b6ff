"""A scan of one wire is a filter over the scan of all: the same records and rejects, whatever they stand in."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

import turnwire
from tests.fuzz.edits import MESSAGES
from tests.log.mixed_logs import GOOD_JSON, NSLIP, csp_message, damaged_log, good_log
from tests.log.plain_values import plain_values
from tests.nslip.twins import rounds
from turnwire import LIMITS, WIRES
from turnwire.log import Batch

COMMON = ("sender", "receiver", "conversation", "subject")
NUMBERS = ("offset", "length", "line", "inner", "sequence", "time")
Fact = tuple[Any, ...]


def records_of(batch: Batch) -> Iterator[Fact]:
    """What any scan says of each record, whatever columns its wire has beside it."""
    names = ([batch.column(name).names[code] for code in batch[name].tolist()] for name in ("wire", "kind"))
    columns = (plain_values(batch, name) for name in (*COMMON, *NUMBERS))
    messages = (repr(batch.message(row)) for row in range(len(batch)))
    return zip(*names, *columns, batch.raws(), messages, strict=True)


def facts(scan: turnwire.Scan) -> tuple[list[Fact], list[dict[str, Any]]]:
    """Every record and every reject of a scan."""
    records = [record for batch in scan for record in records_of(batch)]
    return records, scan.rejects.rows()


def assembled(chance: random.Random) -> bytes:
    """Lines that belong together: a message behind prefixes or indented, and lines that a container engine cut."""
    message = csp_message(chance).rstrip(b"\n")
    record = chance.choice((*GOOD_JSON, *NSLIP, message))
    kind = chance.randrange(5)
    if kind == 0:
        lines = message.split(b"\n")
        return b"".join(b"2026-05-04T10:00:%02dZ [a] %b\n" % (at % 60, line) for at, line in enumerate(lines))
    if kind == 1:
        return b"INFO agent: " + message + b"\nINFO agent: bye\n"
    if kind == 2:
        return b"".join(b"  " + line + b"\n" if line else b"\n" for line in message.split(b"\n")) + b"out\n"
    cut = chance.randrange(len(record) + 1)
    if kind == 3:
        record = record.replace(b"\n", b" ")
        tags, other = ((b"P", b"F"), b"2026-05-04T10:00:00Z stderr F " + chance.choice(NSLIP) + b"\n")
        parts = [
            b"2026-05-04T10:00:0%dZ stdout %b %b\n" % (at, tag, part)
            for at, (tag, part) in enumerate(zip(tags, (record[:cut], record[cut:]), strict=True))
        ]
        return parts[0] + chance.choice((b"", other)) + (parts[1] if chance.random() < 0.8 else b"")
    filler = "x" * (16384 - cut) + " " if chance.random() < 0.5 else "x" * 16384
    text = filler + record.decode() + "\n"
    return b"".join(
        json.dumps({"log": part, "stream": "stdout", "time": "2026-05-04T10:00:00Z"}).encode() + b"\n"
        for part in (text[:16384], text[16384:])
    )


@pytest.mark.usefixtures("scan_core")
def test_a_wire_is_a_filter() -> None:
    chance = random.Random(14)
    met = dict.fromkeys(WIRES, 0)
    bad = dict.fromkeys(WIRES, 0)
    for _ in range(rounds(6)):
        data = b"".join(
            chance.choice((damaged_log(chance), good_log(chance)[0])) for _ in range(chance.randrange(1, 4))
        )
        options: dict[str, Any] = {}
        if chance.random() < 0.3:
            options["limits"] = LIMITS._replace(message=chance.choice((30, 60, 200)))
        if chance.random() < 0.3:
            options["unknown"] = "keep"
        records, rejects = facts(turnwire.scan(data, **options))
        for wire in WIRES:
            cut = {"batch_bytes": chance.choice((1, 7, 50, 300, 2000, 1 << 21)), "threads": chance.choice((1, 1, 2))}
            found, refused = facts(turnwire.scan(data, wire=wire, **options, **cut))
            assert found == [one for one in records if one[0] == wire], (wire, data)
            assert refused == [one for one in rejects if one["wire"] == wire], (wire, data)
            met[wire] += len(found)
            bad[wire] += len(refused)
    assert min(met.values()) > 1 and sum(count > 0 for count in bad.values()) >= 3


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("front", ["", " ", "\t", "> ", " > ", "INFO x: ", "\ufeff "])
@pytest.mark.parametrize("first", ["CSP/1", "CSP/1 MODE;", "CSP/1;A", "csp/1", "CSP/1 MODE;A;B"])
def test_a_wire_of_lines_is_a_filter_behind_anything(first: str, front: str) -> None:
    """Whatever follows: what is searched by name alone may not miss what only the search of all wires would find."""
    after = ("PATCH P1\nBAS", "STATUS L\nREAD_RECS sr-9", "TASK T1\nREQ x", "FROM A\n\nbad", "- a", "", "  CSP/1;A")
    ends = ("", "\n", "\nfoo\n", "\nCSP/1\n", "\n\nCSP/1\nFROM A\n")
    for number, (body, end) in enumerate(product(after, ends)):
        if number % 2 == (len(front) + first.count(";")) % 2:  # the others with another front
            data = f"{front}{first}\n{body}{end}".encode()
            records, rejects = facts(turnwire.scan(data))
            assert facts(turnwire.scan(data, wire="csp")) == (records, rejects), data


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wrap", [b'{"log":"%b"}', b'"%b"', b"[INFO] %b sent", b'{"a":{"b":["x","%b"]}}'])
def test_nslip_is_found_in_every_container(wrap: bytes) -> None:
    plain = [one for one in NSLIP if b'"' not in one][:50]
    lines = [wrap % one for one in plain]
    scan = turnwire.scan(b"\n".join(lines), wire="nslip", columns=["conv_id", "inner"])
    found = [bytes(batch.raw(row)) for batch in scan for row in range(len(batch))]
    assert found == plain and not len(scan.rejects)


@pytest.mark.usefixtures("scan_core")
def test_own_columns_of_records_in_strings() -> None:
    """Texts are spans of what the string says, also where that has escapes of its own."""
    said = '@a3|f0|c1|S0|d1|T9|g7|t"a \\"b\\" é"#'
    log = json.dumps({"log": f"note {said}\n", "time": "2026-05-04T10:00:00Z"}).encode() + b"\n" + said.encode()
    [batch] = turnwire.scan(log, wire="nslip")
    assert list(batch["tag"]) == ['a "b" é'] * 2
    assert batch["turn"].tolist() == [9, 9] and batch["goal_id"].tolist() == [7, 7]
    assert batch.valid("inner").tolist() == [True, False] and batch["inner"].tolist()[0] == 5
    assert batch.valid("time").tolist() == [True, False]
    assert [message.get(20) for message in map(batch.message, range(2))] == ['a "b" é'] * 2


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    "first",
    [
        "@a3|f0|c3|S0|d1|T1#\n",
        "@a3|\n@a3|f0|c-|S0|d1|T1#\n",
        '{"log": "@a3|f0|c3|S0|d1|T1#"}\n',
        '"\\u0040a3|f0|c3|S0|d1|T1#"\n',
        "prose\n",
        "```\n@a3|f0|c3|S0|d1|T1#\n```\n",
    ],
)
def test_records_of_others_keep_documents_away(first: str) -> None:
    """A header behind a record of any wire begins no document: also where the blocks in front hold none of the wire."""
    message = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ go\n\n@a3|f0|c3|S0|d1|T1#\n"
    prose = "prose\n" * 9
    data = f"{first}{prose}\u2afbhead\ntext\n{message}".encode()
    every = [(one.wire, one.offset) for one in turnwire.scan(data).messages()]
    for size in (1, 16, 64, len(data)):
        for threads in (1, 2):
            for wire in turnwire.WIRES:
                found = turnwire.scan(data, wire=wire, batch_bytes=size, threads=threads)
                assert [(one.wire, one.offset) for one in found.messages()] == [
                    place for place in every if place[0] == wire
                ], (wire, size)


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("threads", [1, 2])
def test_a_record_of_another_wire_behind_a_block_of_prose_keeps_documents_away(threads: int) -> None:
    """A thread that reads the second block knows of no record in front of it, and need not look for that one."""
    blocks = ["prose " * 9 + "proses\n", '{"log": "@a3|f0|c3|S0|d1|T1#"}\n' + "prose\n" * 5]
    message = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT TASK\n\nTASK T1\nREQ go\n\n"
    data = f"{''.join(blocks)}\u2afbhead\ntext\n{message}".encode()
    assert sum(map(len, turnwire.scan(data, wire="csp", batch_bytes=64, threads=threads))) == 1


@pytest.mark.usefixtures("scan_core")
def test_a_record_in_an_open_fence_keeps_documents_out_of_it_whatever_the_blocks_are() -> None:
    """Each line is a block here: that of the record shows no fence, so the wire's own scan could read it alone."""
    record = b"@a3|f0|c1|S0|d1|T1#\n"
    document = "⫻task/communication:formal/001\n## A\n\n⫻data/obj:\n{}\n".encode()
    prose = b"prose and prose 12\n"
    for inside, places in ((prose + record, [37, 112]), (record + prose, [18, 112])):
        data = b"```text of fences\n" + inside + document + record + b"```\n"
        for size, threads in ((24, 1), (24, 2), (1 << 20, 1)):
            found = turnwire.scan(data, wire="nslip", batch_bytes=size, columns=["offset"], threads=threads)
            assert [place for batch in found for place in batch["offset"].tolist()] == places, (size, threads)


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(("before", "wrapped"), [("", "line"), (" \t\f\v ", "line"), ("\0", "text"), ("\x1f ", "text")])
def test_what_stands_in_front_of_a_record_does_not_depend_on_blocks(before: str, wrapped: str) -> None:
    record = "@a3|f0|c3|S0|d1|T1#"
    data = f"{record}\n{'prose ' * 99}\n{before}{record}\n".encode()
    for size in (1, 16, len(data)):
        found = [one.wrapped for one in turnwire.scan(data, batch_bytes=size).messages()]
        assert found == ["line", wrapped], size


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", turnwire.WIRES)
@pytest.mark.parametrize("size", [1 << 20, 300])
def test_a_first_error_comes_behind_the_records_of_its_wire(wire: str, size: int) -> None:
    """Those of other wires, and their damage, are none of them: in front of it, between and behind."""
    good = {name: next(iter(MESSAGES[name])) for name in turnwire.WIRES}
    others = [text for name, text in good.items() if name != wire]
    bad = good[wire].rstrip()[: 3 * len(good[wire]) // 4]
    parts = [*others, good[wire], *others, good[wire], good[wire], *others, bad, *others, good[wire]]
    data = "\n\n".join(parts).encode()
    kept = turnwire.scan(data, wire=wire, batch_bytes=size)
    places = [place for batch in kept for place in batch["offset"].tolist()]
    first, length = (int(kept.rejects[name][0]) for name in ("offset", "length"))
    raised = turnwire.scan(data, wire=wire, batch_bytes=size, errors="raise")
    met: list[int] = []

    def read() -> None:
        for batch in raised:
            met.extend(batch["offset"].tolist())

    with pytest.raises(turnwire.DecodeError) as caught:
        read()
    assert met == [place for place in places if place < first]
    assert len(met) >= 3
    assert caught.value.wire == wire
    assert raised.counts.bytes == first + length, "what was read ends behind it"
