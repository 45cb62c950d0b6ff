"""Every wire in every container through every door: all find the same records and rejects, at the same places."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

import turnwire
from tests.cli.running import turnwire as run
from tests.log import carriers
from tests.log.carriers import CARRIERS, in_strings
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from tests.log.found import fed, in_pieces
from turnwire import Decoder, session
from turnwire.log import plan, read_block
from turnwire.read.located import located

NEIGHBOUR = "@a3|f0|c9|S0|d1|T1#"
CSP = 'CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY say "hi" ⫻\nDATA\n<<<\nCSP/1\n@a3|f0|c1|S0|d1|T1#\n>>>'
GOOD = {
    "nslip": '@a3|f0|c1|S0|d1|T1|t"a \\"b\\" \\\\ | é # c"#',
    "csp": CSP,
    **{wire: carriers.GOOD[wire] for wire in ("sstp", "sap", "kick")},
    "note": '{"note":"ask","id":"7","from":"ada","to":"bob","text":"how \\"far\\"?"}',
    "beep": "~ada>bob:hello~",
    "memo": "MEMO ada\nhello\nEND",
}
BAD = {
    "nslip": "@a3|f0|c$|S0|d1|T1#",
    "csp": "CSP/1\nFROM A\nTO B\nINTENT MEM\n\nMEM M1\nKEY x",
    **{wire: GOOD[wire][:-1] for wire in ("sstp", "sap", "kick", "note")},
    "beep": "~ada>bob:cut",
    "memo": "MEMO eve\nnothing",
}


CONTAINERS: dict[str, Callable[[str], str]] = {
    **{name: carrier for name, carrier in CARRIERS.items() if name not in ("crlf", "file")},
    "line": str,
    "fence": lambda text: f"So:\n```json\n{text}\n```\nbye",
    "depth eight": lambda text: in_strings(text, 8),
    "fence in a string": lambda text: json.dumps({"said": f"So:\n```\n{text}\n```\n"}),
    "string in an array": lambda text: json.dumps({"all": ["x", text]}),
    "array": lambda text: json.dumps(["x", text, 1]),
    "string alone": json.dumps,
    "array over lines": lambda text: json.dumps([["x", text]], ensure_ascii=False, indent=2),
    "string over lines": lambda text: json.dumps({"all": ["x", text]}, indent=2),
}
OBJECT: dict[str, Callable[[str], str]] = {
    "over lines": lambda text: json.dumps(json.loads(text), indent=2),
    "over lines, in a string": lambda text: json.dumps({"log": json.dumps(json.loads(text), indent=2)}),
    "in an object": lambda text: f'{{"result":{text},"id":[1]}}',
}
BEHIND_PREFIXES = ("prefix", "numbered", "compose", "quote", "events", "indented", "cri", "cri parts")
ENDS: dict[str, Callable[[bytes], bytes]] = {
    "LF": lambda data: data + b"\n",
    "no line end": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n") + b"\r\n",
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data + b"\n",
    "neighbours": lambda data: b"%b\n\n%b\n\n%b\n" % (NEIGHBOUR.encode(), data, NEIGHBOUR.encode()),
}


def cells(wire: str) -> list[tuple[str, bool]]:
    """(container, good): all that can be. Further wires of lines are not found behind prefixes."""
    names = [name for name in CONTAINERS if wire != "memo" or name not in BEHIND_PREFIXES]
    objects = OBJECT if GOOD[wire].startswith("{") else ()
    return [(name, True) for name in (*names, *objects)] + [(name, False) for name in names]


def contained(wire: str, container: str, good: bool) -> bytes:
    """A message in a container."""
    return {**CONTAINERS, **OBJECT}[container]((GOOD if good else BAD)[wire]).removesuffix("\n").encode()


def read(scan: turnwire.Scan) -> list[tuple[Any, ...]]:
    """(wire, reason or None, offset, line, inner) of each record and reject."""
    found: list[tuple[Any, ...]] = [(one.wire, None, one.offset, one.line, one.inner) for one in scan.messages()]
    names = ("wire", "reason", "offset", "line", "inner")
    return placed(found + [tuple(row[name] for name in names) for row in scan.rejects.rows()])


def placed(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """In the order of the input."""
    return sorted(found, key=lambda one: (one[2], -1 if one[4] is None else one[4]))


def by_decoder(data: bytes, wire: str | None, size: int) -> tuple[int, list[str]]:
    """The results of a Decoder for pieces of this size: how many messages, and the reasons of the rejects."""
    messages, errors = fed(Decoder(wire), in_pieces(data, size))
    return len(messages), sorted(str(error.reason) for error in errors)


async def awaited(data: bytes) -> int:
    """The records that ``async for`` gives."""
    return sum([len(batch) async for batch in turnwire.scan(data)])


NATIVE = turnwire.backend == "native"
SCANNED = [5 if NATIVE else 9, pytest.param(1, marks=pytest.mark.soak)]
OPENED = [11 if NATIVE else 53, pytest.param(1, marks=pytest.mark.soak)]
"""Of how many cells one is scanned with an end, and of how many one is read through every door, which stands above the
cores. Wires begin with another cell each, so that each container is met, good and damaged; all of them are with
``-m soak``."""


def cells_in_turn(wire: str, step: int, turn: int) -> list[tuple[str, bool]]:
    """(container, good): one of each ``step`` cells of a wire, another one with each ``turn``."""
    return cells(wire)[([*GOOD].index(wire) + turn) % step :: step]


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("wire", GOOD)
@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("step", SCANNED)
def test_every_container_with_every_end(wire: str, end: str, step: int) -> None:
    """By a scan alone, which is cheap; the doors take turns with the ends."""
    neighbours = 2 * (end == "neighbours")
    for container, good in cells_in_turn(wire, step, [*ENDS].index(end)):
        found = read(turnwire.scan(ENDS[end](contained(wire, container, good))))
        mine = [one for one in found if one[0] == wire]
        if wire == "nslip" and neighbours:
            assert mine.pop(0)[1] is mine.pop()[1] is None, (container, good, found)
        assert [one[1] is None for one in mine] == [good], (container, good, found)
        assert len(found) == 1 + neighbours, (container, good, found)


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("wire", GOOD)
@pytest.mark.parametrize("step", OPENED)
def test_all_doors_agree(wire: str, step: int, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    for number, (container, good) in enumerate(cells_in_turn(wire, step, 0)):
        end = [*ENDS][number % len(ENDS)]  # one for each cell: cells in turn have all of them
        data = ENDS[end](contained(wire, container, good))
        found = read(turnwire.scan(data))
        mine = [one for one in found if one[0] == wire and one[2] not in (0, data.rfind(NEIGHBOUR.encode()))]
        mine = [one for one in found if one[0] == wire] if end != "neighbours" else mine
        assert len(mine) == 1 and (mine[0][1] is None) == good, (container, end, found)
        assert len(found) == 1 + 2 * (end == "neighbours"), (container, end, found)
        assert data.count(b"\n", 0, mine[0][2]) + 1 == mine[0][3]
        file.write_bytes(data)
        check_doors(data, found, wire, file, number)
        if number % 4 == 0:
            check_commands(data, found, wire, file)


ALIKE = {
    "look_alike": "CSP/1 MODE;STRICT;V2\nSTATUS ok\nSCOPE all\nREAD_RECS x",
    "look_alike of a message": "CSP/1\nSTATUS ok\nSCOPE all\nPOSITION x",
    "title": "CSP/1;A;B\nCompact Symbol Protocol, version 2\nSTATUS ok",
    "template": "CSP/1 MODE;STRICT;V2\nTASK T1",
    "flags alone": "CSP/1;A;B",
}


@pytest.mark.usefixtures("scan_core", "toys")
@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("step", OPENED)
def test_templates_and_look_alikes_of_csp(name: str, step: int, tmp_path: Path) -> None:
    file = tmp_path / "a.log"
    for number, (container, wrap) in enumerate(CONTAINERS.items()):
        end = [*ENDS][number % len(ENDS)]
        data = ENDS[end](wrap(ALIKE[name]).removesuffix("\n").encode())
        if container == "compose" or (name == "template" and container == "prefix"):
            continue  # no template is looked for behind a bar; what follows one without a prefix is another record
        found = read(turnwire.scan(data))
        mine = [one for one in found if one[0] == "csp"]
        assert [one[1] for one in mine] == [None if name in ("template", "flags alone") else "look_alike"], data
        assert len(found) == 1 + 2 * (end == "neighbours"), (container, end, found)
        if (number + [*ALIKE].index(name)) % step == 0:
            file.write_bytes(data)
            check_doors(data, found, "csp", file, number)


PACKERS = {".gz": gzip.compress, ".zst": zstandard.ZstdCompressor().compress}


def check_doors(data: bytes, found: list[tuple[Any, ...]], wire: str, file: Path, number: int) -> None:
    """All other doors say of ``data`` what the scan of it ``found``; a packed file is of one kind for each number."""
    kind = [*PACKERS][number % len(PACKERS)]
    packed = file.with_suffix(kind)
    packed.write_bytes(PACKERS[kind](data))
    rejects = sorted(one[1] for one in found if one[1] is not None)
    good, bad = len(found) - len(rejects), len(rejects)
    mine = [one for one in found if one[0] == wire]
    assert read(turnwire.scan(data, wire=wire, batch_bytes=97)) == mine, data
    assert read(turnwire.scan(str(file), batch_bytes=len(data) // 40 + 1)) == found, data
    assert read(turnwire.scan([str(packed), str(packed)])) == found, data  # of a file that is named twice once
    assert len(list(turnwire.scan(data).errors())) == bad and asyncio.run(awaited(data)) == good
    assert [(one.wire, one.offset, one.line, one.inner) for one in located(data)] == [
        (name, *place) for name, _, *place in found
    ]
    assert [one.wire for one in turnwire.extract(data.decode())] == [one[0] for one in found if one[1] is None]
    messages = [one.message for one in turnwire.scan(data).messages()]
    assert len(session.decode(session.encode(messages))) == good
    size = len(data) // 20 + 7
    assert by_decoder(data, None, size) == (good, rejects), data
    own = sorted(one[1] for one in mine if one[1] is not None)
    assert by_decoder(data, wire, size) == (len(mine) - len(own), own), data
    blocks = [one for block in plan(str(file), block_bytes=len(data) // 10) for one in read(read_block(block))]
    assert blocks == found, data


def number(pattern: str, text: str) -> int:
    """The number that a command tells in its words; 0 if it tells none."""
    found = re.search(pattern, text)
    return int(found[1].replace(",", "")) if found else 0


def check_commands(data: bytes, found: list[tuple[Any, ...]], wire: str, file: Path) -> None:
    """The commands say of a file, though it is named twice, what the scan of it ``found``."""
    good = sum(one[1] is None for one in found)
    bad = len(found) - good
    mine = [one for one in found if one[0] == wire]
    own = [one for one in mine if one[1] is not None]
    checked = run("validate", file, file, "--json")
    told = [(row["wire"], row["reason"]) for row in checked.records if row["severity"] == "error"]
    reasons = sorted((name, reason) for name, reason, *_ in found if reason is not None)
    assert (number(r"([\d,]+) good", checked.err), sorted(told)) == (good, reasons)
    assert number(r"([\d,]+) good", run("validate", "-", stdin=data).err) == good
    (stats, *_) = run("stats", file, file, "--json").records
    assert (stats["records"], stats["rejects"]) == (good, bad)
    (judged,) = run("conform", wire, file, file, "--json").records
    assert (judged["records"], judged["rejects"]) == (len(mine) - len(own), len(own)), data
    if "nslip" not in {name for name, *_ in found}:
        assert run("conform", "nslip", file).code == 4, data  # what a message of another wire holds is not a near miss
    assert len(run("convert", file, file, "--to", "nslip", "--json").records) == good + bad
    counted = run("tokens", file, file, "--json")
    assert (sum(row["messages"] for row in counted.records), number(r"([\d,]+) damaged", counted.err)) == (good, bad)
    said = run("report", file, file, "-o", file.with_suffix(".html"), "--tokenizer", "none").err
    assert (number(r"([\d,]+) records?", said), number(r"and ([\d,]+) rejects?", said)) == (good, bad)
    if wire == "csp":
        assert run("replay", file, file).err.count("damaged:") == len(own)
