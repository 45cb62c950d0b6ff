"""All commands agree on which records and rejects there are: they take them from one finder."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.cli.running import turnwire as run
from tests.log.mixed_logs import damaged_log, good_log
from tests.nslip.twins import rounds
from turnwire import WIRES, csp
from turnwire.read.located import located

pytestmark = pytest.mark.once


def counts(data: bytes) -> dict[str, tuple[int, int]]:
    """(records, rejects) of each wire, by the scan of all."""
    scan = turnwire.scan(data)
    list(scan)
    wires = scan.rejects["wire"]
    return {wire: (scan.counts.wires.get(wire, 0), wires.count(wire)) for wire in WIRES}


def told(pattern: str, text: str) -> int:
    """A number in the words of a command."""
    found = re.search(pattern, text)
    assert found is not None, text
    return int(found[1].replace(",", ""))


def said(log: Path, *wire: str) -> dict[str, tuple[int, int]]:
    """(records, rejects) by each command that counts both."""
    found: dict[str, tuple[int, int]] = {}
    checked = run("validate", log, "--json", *wire)
    bad = sum(row["severity"] == "error" for row in checked.records)
    found["validate"] = told(r"([\d,]+) good", checked.err), bad
    stats: dict[str, Any] = run("stats", log, "--json", *wire).records[0]
    found["stats"] = stats["records"], stats["rejects"]
    page = run("report", log, "-o", log.parent / "page.html", "--tokenizer", "none", *wire).err
    found["report"] = told(r"([\d,]+) records?", page), told(r"and ([\d,]+) rejects?", page)
    spent = run("tokens", log, "--json", *wire)
    if spent.code in (0, 1):
        damaged = told(r"([\d,]+) damaged", spent.err) if "damaged" in spent.err else 0
        found["tokens"] = sum(row["messages"] for row in spent.records), damaged
    source = ("--from", wire[1]) if wire else ()
    rows = run("convert", log, "--to", "nslip", "--json", *source).records
    assert len(rows) == sum(found["validate"]), "one for each, converted or refused"
    return found


def test_the_commands_agree(tmp_path: Path) -> None:
    chance = random.Random(7)
    log = tmp_path / "mixed.log"
    met = bad = 0
    for _ in range(rounds(4)):
        data = damaged_log(chance) + b"\n" + good_log(chance)[0] + damaged_log(chance)
        log.write_bytes(data)
        expected = counts(data)
        total = sum(pair[0] for pair in expected.values()), sum(pair[1] for pair in expected.values())
        met, bad = met + total[0], bad + total[1]
        assert set(said(log).values()) == {total}, data
        for wire in WIRES:
            assert set(said(log, "--wire", wire).values()) == {expected[wire]}, (wire, data)
            (judged,) = run("conform", wire, log, "--json").records
            assert (judged["records"], judged["rejects"]) == expected[wire], (wire, data)
            ones = list(located(data, wire))
            assert (sum(one.error is None for one in ones), len(ones)) == (expected[wire][0], sum(expected[wire]))
            assert ones == sorted(ones, key=lambda one: one.place)
        document, damaged = csp.read_log(data)
        messages = [record for record in document.records if not isinstance(record, csp.Preamble)]
        assert len(messages) == expected["csp"][0] and len(damaged) >= expected["csp"][1]
    assert met > 20 and bad > 5


@pytest.mark.usefixtures("scan_core")
def test_what_is_located_is_in_order_and_says_where() -> None:
    chance = random.Random(8)
    for _ in range(rounds(10)):
        data = damaged_log(chance) + good_log(chance)[0]
        ones = list(located(data))
        assert [one.place for one in ones] == sorted(one.place for one in ones)
        for one in ones:
            assert one.line == data.count(b"\n", 0, one.offset) + 1
            assert (one.message is None) == (one.error is not None)
            if one.inner is None:
                assert data[one.offset : one.offset + one.length] == one.raw


@pytest.mark.usefixtures("scan_core")
def test_extract_is_a_view_of_the_scan() -> None:
    chance = random.Random(9)
    met = 0
    for _ in range(rounds(12)):
        text = good_log(chance)[0].decode()
        records = [one for one in located(text.encode()) if one.error is None]
        found = turnwire.extract(text)
        assert [(one.wire, one.message) for one in found] == [(one.wire, one.message) for one in records]
        met += len(found)
        for one, record in zip(found, records, strict=True):
            assert one.wrapped.startswith("json_string/") == (record.inner is not None)
            if record.inner is None:
                assert text[one.start : one.end].encode() == record.raw.rstrip()
    assert met > 30
