"""Blocks, files, statistics and filters of every wire, also of further ones: the same as one scan gives."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import turnwire
from examples.mixed_log import Log, log as made_log
from tests.fuzz.messages import MESSAGES
from tests.log.found import everything, plain_values
from tests.log.mixed_logs import NSLIP
from tests.vectors import load
from turnwire import WIRES
from turnwire.log import Batch, stats

TIMED = b"2026-05-04T10:00:%02dZ INFO agent: "


@cache
def lines(wire: str) -> tuple[bytes, ...]:
    """Texts of the vectors, good and bad ones; no Space documents, of which the first would be all of a log."""
    cases = [case for case in load(wire) if case.get("kind") != "space"]
    texts = [case[key] for case in cases for key in ("wire", "text", "input", "json") if isinstance(case.get(key), str)]
    return tuple(text.encode("utf-8", "surrogatepass") for text in texts)


def log(wire: str, chance: random.Random, most: int = 30) -> bytes:
    """Some of them, one after the other, some damaged, some with a time in front."""
    found = lines(wire)
    parts = []
    for number in range(chance.randrange(1, most)):
        text = bytearray(chance.choice(found))
        if text and chance.random() < 0.3:
            place = chance.randrange(len(text))
            text[place : place + chance.randrange(3)] = chance.choice(
                (b"", b"\n", b"\x00", b"\xff", b'"', b"{", b"<<<\n")
            )
        if wire != "csp" and chance.random() < 0.5:
            parts.append(TIMED % (number % 60))
        parts.append(bytes(text) + chance.choice((b"\n", b"\n", b"\n\n", b"\r\n", b" ", b"")))
    return b"".join(parts)


@pytest.mark.once
@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("wire", [None, *WIRES])
def test_whatever_columns_are_asked_for_are_the_same(wire: str | None) -> None:
    """All but one, all but those of text, and a few in any order."""
    chance = random.Random(str(wire))
    logs = [log(wire or chance.choice(WIRES), chance) for _ in range(1 if wire else 2)]
    good = [text for one in ([wire] if wire else WIRES) for text in MESSAGES[one]]
    good.append(json.dumps({"log": f"\n{good[0]}", "time": "2026-05-04T10:00:00Z"}))
    data = b"".join(logs) + b"\n".join(NSLIP[::40]) + b"\n```\n" + "\n\n".join(good).encode()
    columns = turnwire.scan(b"", wire=wire).columns
    names = [column.name for column in columns]
    texts = {column.name for column in columns if column.kind == "text"}
    whole = everything(turnwire.scan(data, wire=wire))
    assert len(whole[0]["raw"]) > len(good) and any(whole[0]["inner"]) and whole[1]
    asked = [[other for other in names if other != name] for name in chance.sample(names, 3)]
    asked += [[name for name in names if name not in texts - {one}] for one in (*chance.sample(sorted(texts), 3), "")]
    asked += [chance.sample(names, chance.randrange(len(names))) for _ in range(3)]
    for some in asked:
        found = everything(turnwire.scan(data, wire=wire, columns=some))
        assert found == ({name: whole[0][name] for name in (*some, "raw")}, *whole[1:]), some


@pytest.fixture(scope="module")
def made() -> Log:
    return made_log(60, seed=5, every=6)


@pytest.fixture(scope="module")
def path(made: Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("mixed") / "mixed.log"
    file.write_text(made.text, "utf-8")
    return file


@pytest.mark.once
def test_statistics_tell_the_wires_apart(made: Log, path: Path) -> None:
    found = stats(str(path))
    assert made.damaged > 0
    assert sum(found.counts.reasons.values()) == made.damaged
    assert found.counts.wires == Counter(entry.wire for entry in made.sound)
    for by in ("kind", "sender", "conversation"):
        said = Counter((entry.wire, getattr(entry, by)) for entry in made.sound)
        assert {key: one.records for key, one in found.groups[by].found.items()} == said
    sizes: Counter[str] = Counter()
    for entry in made.sound:
        if entry.wire != "csp":  # whose messages end with a line
            sizes[entry.wire] += len(entry.text.encode())
    told = {wire: one.record_bytes for (_, wire), one in found.groups["wire"].found.items()}
    assert sizes.items() <= told.items() and set(told) == set(WIRES)
    assert {wire for wire, _ in found.pairings} == set(WIRES)


COMMON = ("sender", "receiver", "conversation", "subject")
NUMBERS = ("offset", "length", "line", "inner", "sequence", "time")
Fact = tuple[Any, ...]


def records_of(batch: Batch) -> Iterator[Fact]:
    """The facts that any scan tells of each record, whatever columns its wire has beside it."""
    names = (batch[name].tolist() for name in ("wire", "kind"))
    columns = (plain_values(batch, name) for name in (*COMMON, *NUMBERS))
    return zip(*names, *columns, batch.raws(), map(batch.message, range(len(batch))), strict=True)


def facts_of_all(scan: turnwire.Scan) -> tuple[list[Fact], list[dict[str, Any]]]:
    """Every record and every reject of a scan."""
    records = [record for batch in scan for record in records_of(batch)]
    return records, scan.rejects.rows()


FRONTS = ("", " ", "\t", "> ", " > ", "INFO x: ", "\ufeff ")
FIRSTS = ("CSP/1", "CSP/1 MODE;", "CSP/1;A", "csp/1", "CSP/1 MODE;A;B")
BODIES = ("PATCH P1\nBAS", "STATUS L\nREAD_RECS sr-9", "TASK T1\nREQ x", "FROM A\n\nbad", "- a", "", "  CSP/1;A")
ENDS = ("", "\n", "\nfoo\n", "\nCSP/1\n", "\n\nCSP/1\nFROM A\n")


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("number", range(9))
def test_a_wire_of_lines_is_a_filter_behind_anything(number: int) -> None:
    """Whatever follows: what is searched by name alone may not miss what only the search of all wires would find."""
    for parts in list(product(FIRSTS, BODIES, ENDS, FRONTS))[number :: 9 * 8]:
        first, body, end, front = parts
        data = f"{front}{first}\n{body}{end}".encode()
        assert facts_of_all(turnwire.scan(data, wire="csp")) == facts_of_all(turnwire.scan(data)), data


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
    assert caught.value.line == 1 + data.count(b"\n", 0, caught.value.offset), "of the fault, not of the message"
    assert raised.counts.bytes == first + length, "what was read ends behind it"


@pytest.mark.usefixtures("scan_core", "toys")
def test_the_fault_of_their_damage_is_the_byte_that_their_reading_names() -> None:
    """Their decode refuses a text at its first byte: on a line, in a line, in a string."""
    data = b'prose\nMEMO ada\nno end\n~ada>bob:cut\n{"log":"~eve>bob:cut","x":"MEMO eve\\nno"}\n'
    for size in (8, 1 << 20):
        rejects = facts_of_all(turnwire.scan(data, batch_bytes=size))[1]
        assert [one["wire"] for one in rejects] == ["memo", "beep", "beep", "memo"]
        assert [one["fault"] for one in rejects] == [one["offset"] for one in rejects] == [6, 22, 43, 62], size
