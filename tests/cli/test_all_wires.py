"""The commands that scan, on a seeded log of all wires, where no wire is named."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from examples.mixed_log import Log, log
from tests.cli.running import turnwire
from turnwire import WIRES


@pytest.fixture(scope="module")
def made() -> Log:
    return log(40, seed=8, every=4)


@pytest.fixture
def path(made: Log, tmp_path: Path) -> Path:
    file = tmp_path / "mixed.log"
    file.write_text(made.text, "utf-8")
    return file


def test_a_table_shows_what_all_wires_have(made: Log, path: Path) -> None:
    done = turnwire("scan", path)
    head, *rows = done.out.decode().splitlines()
    names = ["line", "wire", "kind", "sender", "receiver", "conversation", "sequence", "time", "subject"]
    assert head.split() == names
    assert [row.split()[1:3] for row in rows] == [[entry.wire, entry.kind] for entry in made.sound[: len(rows)]]
    counts = Counter(entry.wire for entry in made.sound)
    assert ", ".join(f"{wire} {counts[wire]}" for wire in WIRES) in done.err
    assert ": nslip: bad_digit: " in done.err
    assert done.code == 1


def test_what_is_counted(made: Log, path: Path) -> None:
    rows = turnwire("stats", path, "--json").records
    counts = Counter(entry.wire for entry in made.sound)
    assert {row["wire"]: row["records"] for row in rows if row["stat"] == "wire"} == counts
    pytest.importorskip("splintr")
    counted = turnwire("tokens", path, "--json").records
    assert [(row["wire"], row["messages"]) for row in counted] == [(wire, counts[wire]) for wire in WIRES]


def test_faults_say_their_wire(made: Log, path: Path) -> None:
    rows = turnwire("validate", path, "--json").records
    errors = [row for row in rows if row["severity"] == "error"]
    assert [(row["wire"], row["reason"]) for row in errors] == [("nslip", "bad_digit")] * made.damaged
    done = turnwire("validate", path)
    assert f"{len(made.sound)} good records, {made.damaged} faults" in done.err
    assert done.out.decode().count(": nslip: bad_digit: ") == made.damaged
