"""Records and damage in lines that belong together: parts of container engines, messages behind prefixes."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

import pytest

import turnwire
from tests.conftest import rounds
from tests.log.found import everything
from tests.log.mixed_logs import GOOD_JSON, NSLIP
from turnwire.log.search.carriers import MOST_FOREIGN_LINES

pytestmark = pytest.mark.usefixtures("scan_core")
FIRST = datetime(2026, 1, 5, 9, 0, 0, 500_000, tzinfo=UTC)
HEADS = "CSP/1\nFROM A\nTO B\nCTX C1\nINTENT RESULT\n\nRESULT T1\nSTATUS OK\n"
LEAST_DOCKER = 16 << 10
LONG = "x" * (16384 - 30)


def moment(second: int) -> str:
    """So many seconds behind the first one, as logs write it."""
    return f"2026-01-05T09:00:{second:02}.500000"


def cri(text: str) -> str:
    """In two parts of CRI."""
    half = len(text) // 2
    return f"{moment(0)}000Z stdout P {text[:half]}\n{moment(1)}000Z stdout F {text[half:]}\n"


def docker(text: str) -> str:
    """In two lines of Docker, which cuts behind 16 KiB."""
    whole = f"{LONG} {text}\n"
    parts = whole[:16384], whole[16384:]
    lines = ({"log": part, "stream": "stdout", "time": f"{moment(at)}000Z"} for at, part in enumerate(parts))
    return "".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines)


def prefixed(text: str) -> str:
    """Each line behind its time and a level."""
    lines = text.removesuffix("\n").split("\n")
    return "".join(f"{moment(at)}Z INFO agent: {line}".rstrip() + "\n" for at, line in enumerate(lines))


WAYS: dict[str, tuple[Callable[[str], str], str, str]] = {
    "cri": (cri, '@a3|f0|c1|S0|d1|T1|t"a text"#', '@a3|f0|c$|S0|d1|T1|t"a text"#'),
    "docker": (docker, '@a3|f0|c1|S0|d1|T1|t"a text"#', '@a3|f0|c$|S0|d1|T1|t"a text"#'),
    "prefixed": (prefixed, HEADS, HEADS.replace("CTX C1\n", "")),
}


@pytest.mark.parametrize("before", [0, 1, 7])
@pytest.mark.parametrize("size", [1 << 20, 40])
@pytest.mark.parametrize("way", WAYS)
def test_what_stands_over_lines_has_the_time_and_the_line_of_its_first(way: str, size: int, before: int) -> None:
    make, *texts = WAYS[way]
    good, bad = (("prose\n" * before + make(text) + "prose\n").encode() for text in texts)
    for wire in ("csp" if way == "prefixed" else "nslip", None):
        found = [
            (batch["line"].tolist(), batch["time"].tolist(), batch.valid("time").tolist())
            for batch in turnwire.scan(good, wire=wire, batch_bytes=size)
        ]
        assert found == [([before + 1], [int(FIRST.timestamp() * 1_000_000)], [True])]
        batches, rejects = turnwire.scan(bad, wire=wire, batch_bytes=size).read()
        (row,) = rejects.rows()
        assert (sum(map(len, batches)), row["line"]) == (0, before + 1)
        assert bad.count(b"\n", 0, row["offset"]) == before


GOOD = [
    record for record in (*GOOD_JSON, *NSLIP[:40], NSLIP[-1]) if b"CSP" not in record and "⫻".encode() not in record
]

DAMAGED = (
    b'@a3|f0|c1|S0|d1,T1|t"x"#',
    b'{"header": {"kind": "intent"}, "payload": 2}',
    b'@a3|f0|c1|S0|d1|T1|t"x',
    b'{"a": [1,]',
)

TEXT = (
    b"INFO start",
    b"",
    b"bob@example.com {}",
    b'{"a": "so: @a3|f0|c1|S0|d1|T1|t\\"x\\"#"}',
    b'say "hi" \\u00e9',
    b"<<<<",
)

WRITTEN = [json.dumps(chr(byte))[1:-1].encode() for byte in range(256)]
"""Each byte as a string of JSON has it."""


class Line(NamedTuple):
    """A line of a program. places: where each byte of it is written; ends: behind that; pieces: of a line of Docker,
    where each begins in the text, and where its quote stands; time: of its first part, in microseconds, or None."""

    text: bytes
    places: list[int]
    ends: list[int]
    pieces: list[tuple[int, int]]
    time: int | None


def at(second: int) -> tuple[bytes, int]:
    """A time as a log has it, and in microseconds since 1970."""
    moment = datetime(2026, 5, 4, 10, second // 60, second % 60, tzinfo=UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ").encode(), int(moment.timestamp()) * 1_000_000


def plain(record: bytes, data: bytes, time: int | None) -> tuple[bytes, Line]:
    """A log that goes on with a record, and the line that this is."""
    places = [*range(len(data), len(data) + len(record) + 1)]
    return data + record + b"\n", Line(record + b"\n", places, [place + 1 for place in places], [], time)


def cut(chance: random.Random) -> tuple[bytes, list[Line]]:
    """A log of two streams, and the lines that it says."""
    data, lines = b"", []
    for number in range(chance.randrange(2, 9)):
        line = b" ".join(
            chance.choice(chance.choice((GOOD, GOOD, DAMAGED, TEXT))) for _ in range(chance.randrange(1, 3))
        )
        docker, stream = chance.random() < 0.2, chance.choice((b"stdout", b"stderr"))
        other = b"stderr" if stream == b"stdout" else b"stdout"
        cuts = sorted(chance.randrange(len(line) + 1) for _ in range(chance.randrange(1, 4)))
        if docker:  # its parts are that long
            line = b"x" * LEAST_DOCKER + b" " + line
            cuts = [chance.randrange(LEAST_DOCKER, len(line) + 1)]
        places: list[int] = []
        ends: list[int] = []
        pieces: list[tuple[int, int]] = []
        cut_off = not docker and chance.random() < 0.2  # the rest of the line is missing
        said = line + b"\n" * (not cut_off)
        for place, (start, stop) in enumerate(pairwise((0, *cuts, len(said)))):
            stamp, _ = at(10 * number + place)
            if docker:
                data += b'{"log":"'
                pieces.append((start, len(data) - 1))
            else:
                data += b"%b %b %b " % (stamp, stream, b"F" if stop == len(said) and not cut_off else b"P")
            for byte in said[start:stop]:
                written = WRITTEN[byte] if docker else bytes((byte,))
                places.append(len(data))
                data += written
                ends.append(len(data))
            if docker:
                data += b'","stream":"%b","time":"%b"}\n' % (stream, stamp)
            elif stop < len(said) or cut_off:
                data += b"\n"
                if chance.random() < 0.3:
                    data += b"%b %b F " % (stamp, other)
                    data, whole = plain(chance.choice(NSLIP[:40]), data, at(10 * number + place)[1])
                    lines.append(whole)
        data += b"a line of its own\n" * (MOST_FOREIGN_LINES + 1) * cut_off  # so that nothing goes on behind it
        lines.append(Line(said, places, ends, pieces, at(10 * number)[1]))
        if chance.random() < 0.3:
            data, whole = plain(chance.choice(NSLIP[:40]), data, None)
            lines.append(whole)
    return data, lines


def expected(data: bytes, lines: list[Line]) -> tuple[list[dict[str, Any]], list[tuple[Any, ...]]]:
    """The records and rejects of a log: those of each line, read by itself, with their places in the log."""
    records, rejects = [], []
    for line in lines:
        columns, bad, _ = everything(turnwire.scan(line.text))
        for row in range(len(columns["offset"])):
            one = {name: values[row] for name, values in columns.items() if name != "record"}
            first, length, inner = one["offset"], one["length"], one["inner"]
            one["offset"] = line.places[first]
            begin = first if inner is None else line.text.index(b"@", first)
            one["length"] = line.ends[begin + length - 1] - line.places[begin]
            if line.pieces:
                begun, one["offset"] = max(piece for piece in line.pieces if piece[0] <= first)
                one["inner"] = begin - begun if inner is None else first - begun + 1 + inner
            one["line"] = 1 + data.count(b"\n", 0, one["offset"])
            one["time"] = line.time if one["time"] is None else one["time"]
            records.append(one)
        for one in bad:
            first, behind = one["offset"], one["offset"] + one["length"]
            place = line.places[first]
            fault = line.places[one["fault"]] if one["fault"] < len(line.text) else line.ends[-1]
            inner = one["inner"]
            if line.pieces and inner is None:
                inner = first - max(piece for piece in line.pieces if piece[0] <= first)[0]
            rejects.append(
                (
                    place,
                    line.ends[behind - 1] - place,
                    1 + data.count(b"\n", 0, place),
                    fault,
                    inner,
                    one["wire"],
                    one["reason"],
                )
            )
    return records, rejects


def test_what_is_found_is_what_each_line_says() -> None:
    chance, met = random.Random(5), 0
    for _ in range(rounds(12)):
        data, lines = cut(chance)
        columns, rejects, _ = everything(turnwire.scan(data, batch_bytes=chance.choice((1 << 20, 400))))
        del columns["record"]
        found = [{name: values[row] for name, values in columns.items()} for row in range(len(columns["offset"]))]
        wanted, refused = expected(data, lines)
        assert columns["offset"] == sorted(columns["offset"])
        names = ("offset", "length", "line", "fault", "inner", "wire", "reason")
        assert sorted(map(repr, found)) == sorted(map(repr, wanted)), data
        assert sorted(map(repr, (tuple(one[name] for name in names) for one in rejects))) == sorted(
            map(repr, refused)
        ), data
        met += len(found)
    assert met > 24
