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

import turnwire
from tests.cli.running import turnwire as run
from tests.log.conftest import scan_core  # noqa: F401  (a fixture)
from tests.log.json_engines import RECORDS
from turnwire import DecodeError, Decoder
from turnwire.log import plan, read_block
from turnwire.read.located import located

NEIGHBOUR = "@a3|f0|c9|S0|d1|T1#"
STAMP = "2026-05-04T10:00:00.1Z"


def json_record(wire: str) -> str:
    """A good record of a JSON wire."""
    for record in RECORDS[wire]:
        try:
            turnwire.decode(record, wire)
        except DecodeError:
            continue
        return json.dumps(json.loads(record), ensure_ascii=False, separators=(",", ":"))
    raise AssertionError(f"there is no good record of {wire}")


CSP = 'CSP/1\nFROM A\nTO B\nCTX C0\nINTENT MEM\n\nMEM M1\nKEY say "hi" ⫻\nDATA\n<<<\nCSP/1\n@a3|f0|c1|S0|d1|T1#\n>>>'
GOOD = {
    "nslip": '@a3|f0|c1|S0|d1|T1|t"a \\"b\\" \\\\ | é # c"#',
    "csp": CSP,
    **{wire: json_record(wire) for wire in ("sstp", "sap", "kick")},
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


def strings(depth: int) -> Callable[[str], str]:
    """JSON strings in JSON strings."""

    def wrap(text: str) -> str:
        for _ in range(depth):
            text = json.dumps({"log": text}, ensure_ascii=False)
        return text

    return wrap


def parts(text: str) -> str:
    """Lines that CRI cut in two."""
    return "\n".join(
        f"{STAMP} stdout P {line[: len(line) // 2]}\n{STAMP} stdout F {line[len(line) // 2 :]}"
        for line in text.split("\n")
    )


def docker(text: str) -> str:
    """A line that Docker cut after 16 KiB."""
    said = "x" * (16383 - len(text) // 2) + " " + text + "\n"
    return "\n".join(
        json.dumps({"log": part, "stream": "stdout", "time": STAMP}, ensure_ascii=False)
        for part in (said[:16384], said[16384:])
    )


def each(front: str) -> Callable[[str], str]:
    """The same in front of each line."""
    return lambda text: "\n".join(front + line for line in text.split("\n"))


ANY: dict[str, Callable[[str], str]] = {
    "line": str,
    "fence": lambda text: f"So:\n```json\n{text}\n```\nbye",
    "string": strings(1),
    "strings": strings(2),
    "depth eight": strings(8),
    "fence in a string": lambda text: json.dumps({"said": f"So:\n```\n{text}\n```\n"}),
    "string in an array": lambda text: json.dumps({"all": ["x", text]}),
    "array": lambda text: json.dumps(["x", text, 1]),
    "string alone": json.dumps,
    "array of bytes": lambda text: json.dumps({"MESSAGE": list(text.encode())}),
    "array over lines": lambda text: json.dumps([["x", text]], ensure_ascii=False, indent=2),
    "string over lines": lambda text: json.dumps({"all": ["x", text]}, indent=2),
}
PREFIXED: dict[str, Callable[[str], str]] = {
    "prefix": lambda text: f"{STAMP} INFO agent: {text}",
    "prefixes": each("INFO agent[7]: "),
    "CRI": each(f"{STAMP} stdout F "),
    "indented": each("    "),
    "quoted": each("> "),
}
ONE_LINE = {"CRI parts": parts, "Docker parts": docker}
OBJECT: dict[str, Callable[[str], str]] = {
    "over lines": lambda text: json.dumps(json.loads(text), indent=2),
    "over lines, in a string": lambda text: json.dumps({"log": json.dumps(json.loads(text), indent=2)}),
    "in an object": lambda text: f'{{"result":{text},"id":[1]}}',
}
ENDS: dict[str, Callable[[bytes], bytes]] = {
    "LF": lambda data: data + b"\n",
    "no line end": lambda data: data,
    "CRLF": lambda data: data.replace(b"\n", b"\r\n") + b"\r\n",
    "a byte order mark": lambda data: b"\xef\xbb\xbf" + data + b"\n",
    "neighbours": lambda data: b"%b\n\n%b\n\n%b\n" % (NEIGHBOUR.encode(), data, NEIGHBOUR.encode()),
}


def cells() -> list[Any]:
    """(wire, container, good): all that can be. Further wires of lines are not found behind prefixes."""
    found = []
    for wire, texts in ((wire, (GOOD[wire], BAD[wire])) for wire in GOOD):
        for good in (True, False):
            text = texts[0] if good else texts[1]
            names = [*ANY]
            names += PREFIXED if wire != "memo" else []
            names += ONE_LINE if "\n" not in text else ["CRI parts"] if wire == "csp" else []
            names += OBJECT if good and text.startswith("{") else []
            found += [(wire, name, good) for name in names]
    return found


def contained(wire: str, container: str, good: bool) -> bytes:
    """A message in a container."""
    wrap = {**ANY, **PREFIXED, **ONE_LINE, **OBJECT}[container]
    return str(wrap((GOOD if good else BAD)[wire])).encode()


def read(scan: turnwire.Scan) -> list[tuple[Any, ...]]:
    """(wire, reason or None, offset, line, inner) of each record and reject."""
    found: list[tuple[Any, ...]] = [(one.wire, None, one.offset, one.line, one.inner) for one in scan.messages()]
    names = ("wire", "reason", "offset", "line", "inner")
    return placed(found + [tuple(row[name] for name in names) for row in scan.rejects.rows()])


def placed(found: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """In the order of the input."""
    return sorted(found, key=lambda one: (one[2], -1 if one[4] is None else one[4]))


def fed(data: bytes, wire: str | None, size: int) -> tuple[int, list[str]]:
    """The results of a Decoder for pieces of this size: how many messages, and the reasons of the rejects."""
    decoder, good, bad = Decoder(wire), 0, []
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    for take in (*(lambda piece=piece: decoder.feed(piece) for piece in pieces), *[decoder.close] * 6):
        try:
            good += len(take())
        except DecodeError as error:
            bad.append(str(error.reason))
    return good, sorted(bad)


async def awaited(data: bytes) -> int:
    """The records that ``async for`` gives."""
    return sum([len(batch) async for batch in turnwire.scan(data)])


NATIVE = turnwire.backend == "native"
SCANNED = [4 if NATIVE else 7, pytest.param(1, marks=pytest.mark.soak)]
OPENED = [9 if NATIVE else 40, pytest.param(1, marks=pytest.mark.soak)]
"""Of how many cells one is scanned with an end, and of how many one is read through every door, which stands above the
cores. Wires begin with another cell each, so that each container is met, good and damaged; all of them are with
``-m soak``."""


def cells_in_turn(wire: str, step: int, turn: int) -> list[tuple[str, bool]]:
    """(container, good): one of each ``step`` cells of a wire, another one with each ``turn``."""
    own = [cell[1:] for cell in cells() if cell[0] == wire]
    return own[([*GOOD].index(wire) + turn) % step :: step]


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
    file, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
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
        packed.write_bytes(gzip.compress(data))
        check_doors(data, found, wire, file, packed)
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
    file, packed = tmp_path / "a.log", tmp_path / "a.log.gz"
    for number, (container, wrap) in enumerate({**ANY, **PREFIXED, "CRI parts": parts}.items()):
        end = [*ENDS][number % len(ENDS)]
        data = ENDS[end](str(wrap(ALIKE[name])).encode())
        if name == "template" and container == "prefix":
            continue  # what follows a template without a prefix is another record of the log
        found = read(turnwire.scan(data))
        mine = [one for one in found if one[0] == "csp"]
        assert [one[1] for one in mine] == [None if name in ("template", "flags alone") else "look_alike"], data
        assert len(found) == 1 + 2 * (end == "neighbours"), (container, end, found)
        if (number + [*ALIKE].index(name)) % step == 0:
            file.write_bytes(data)
            packed.write_bytes(gzip.compress(data))
            check_doors(data, found, "csp", file, packed)


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize(
    "text",
    [
        "We use CSP/1; it is nice",
        "see CSP/1;STRICT;V2 for more",
        "He said: CSP/1; fine",
        "use `CSP/1;` here",
        "so CSP/1 MODE;STRICT is one",
    ],
)
def test_prose_about_templates_is_text(text: str) -> None:
    for wrap in (str, "{}\nSTATUS ok".format, "> {}\n> more".format):
        data = wrap(text).encode()
        assert read(turnwire.scan(data)) == [], data


def check_doors(data: bytes, found: list[tuple[Any, ...]], wire: str, file: Path, packed: Path) -> None:
    """All other doors say of ``data`` what the scan of it ``found``."""
    rejects = sorted(one[1] for one in found if one[1] is not None)
    good, bad = len(found) - len(rejects), len(rejects)
    mine = [one for one in found if one[0] == wire]
    assert read(turnwire.scan(data, wire=wire, batch_bytes=97)) == mine, data
    assert (
        read(turnwire.scan(str(file), batch_bytes=len(data) // 40 + 1)) == read(turnwire.scan(str(packed))) == found
    ), data
    assert len(list(turnwire.scan(data).errors())) == bad and asyncio.run(awaited(data)) == good
    assert [(one.wire, one.offset, one.line, one.inner) for one in located(data)] == [
        (name, *place) for name, _, *place in found
    ]
    assert [one.wire for one in turnwire.extract(data.decode())] == [one[0] for one in found if one[1] is None]
    size = len(data) // 20 + 7
    assert fed(data, None, size) == (good, rejects), data
    own = sorted(one[1] for one in mine if one[1] is not None)
    assert fed(data, wire, size) == (len(mine) - len(own), own), data
    blocks = [one for block in plan(str(file), block_bytes=len(data) // 10) for one in read(read_block(block))]
    assert blocks == found, data


def check_commands(data: bytes, found: list[tuple[Any, ...]], wire: str, file: Path) -> None:
    """The commands say of a file what the scan of it ``found``."""
    good = sum(one[1] is None for one in found)
    bad = len(found) - good
    mine = [one for one in found if one[0] == wire]
    own = [one for one in mine if one[1] is not None]
    checked = run("validate", file, "--json")
    told = [(row["wire"], row["reason"]) for row in checked.records if row["severity"] == "error"]
    summary = re.search(r"([\d,]+) good", checked.err)
    assert summary is not None and (int(summary[1]), sorted(told)) == (
        good,
        sorted((name, reason) for name, reason, *_ in found if reason is not None),
    )
    (stats, *_) = run("stats", file, "--json").records
    assert (stats["records"], stats["rejects"]) == (good, bad)
    (judged,) = run("conform", wire, file, "--json").records
    assert (judged["records"], judged["rejects"]) == (len(mine) - len(own), len(own)), data
    if "nslip" not in {name for name, *_ in found}:
        assert run("conform", "nslip", file).code == 4, data  # what a message of another wire holds is not a near miss
    assert len(run("convert", file, "--to", "nslip", "--json").records) == good + bad
    if wire == "csp":
        assert run("replay", file).err.count("damaged:") == len(own)
