"""What stands on a scan, where no wire is named: statistics, blocks, files, checked on a seeded log of all wires."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import turnwire
from examples.mixed_log import Log, log
from tests.log.test_plan import rows, together
from turnwire.log import plan, read_block, stats, write
from turnwire.registry import WIRES

pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def made() -> Log:
    return log(60, seed=5, every=6)


@pytest.fixture(scope="module")
def path(made: Log, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("mixed") / "mixed.log"
    file.write_text(made.text, "utf-8")
    return file


def test_statistics_tell_the_wires_apart(made: Log, path: Path) -> None:
    found = stats(str(path))
    assert made.damaged > 0
    assert sum(found.counts.reasons.values()) == made.damaged
    assert found.counts.wires == Counter(entry.wire for entry in made.sound)
    assert found.kinds.counts == Counter((entry.wire, entry.kind) for entry in made.sound)
    assert found.senders.counts == Counter((entry.wire, entry.sender) for entry in made.sound)
    said = Counter((entry.wire, entry.conversation) for entry in made.sound)
    assert {key: one.records for key, one in found.conversations.items()} == said
    sizes: Counter[str] = Counter()
    for entry in made.sound:
        if entry.wire != "csp":  # whose messages end with a line
            sizes[entry.wire] += len(entry.text.encode())
    assert sizes.items() <= found.wires.items() and set(found.wires) == set(WIRES)
    assert {wire for wire, _ in found.pairings} == set(WIRES)


def test_statistics_of_all_wires_are_those_of_each(path: Path) -> None:
    """The log is made so that no record looks like one of another wire."""
    every = stats(str(path))
    for wire in WIRES:
        one = stats(str(path), wire=wire)
        assert one.wires[wire] == every.wires[wire]
        assert one.kinds.counts.items() <= every.kinds.counts.items()
        for key, pairing in one.pairings.items():
            assert pairing.to_dict() == every.pairings[key].to_dict()


@pytest.mark.parametrize("block_bytes", [1, 700, 5_000, 1 << 30])
def test_blocks_together_are_one_scan(path: Path, block_bytes: int) -> None:
    blocks = plan(str(path), block_bytes=block_bytes)
    assert (len(blocks) > 1) == (block_bytes < 1 << 30)
    whole = turnwire.scan(str(path))
    assert together(blocks) == (rows(whole), whole.rejects.rows(), list(whole.counts[:4]))


def test_blocks_of_what_is_damaged_are_one_scan(made: Log, tmp_path: Path) -> None:
    """Lines left out, doubled and cut short: messages of several lines run into each other."""
    chance = random.Random(3)
    lines = made.text.encode().splitlines(keepends=True)
    for number in range(8):
        changed = b"".join(chance.choice([line, line, line, b"", line * 2, line[:9] + b"\n"]) for line in lines)
        file = tmp_path / f"{number}.log"
        file.write_bytes(changed)
        whole = turnwire.scan(str(file))
        blocks = plan(str(file), block_bytes=chance.choice([1, 300, 4000]))
        assert together(blocks) == (rows(whole), whole.rejects.rows(), list(whole.counts[:4])), number


def test_files_hold_what_was_scanned(made: Log, path: Path, tmp_path: Path) -> None:
    (name,) = write(turnwire.scan(str(path)), tmp_path / "all.ndjson")
    written = [json.loads(line) for line in Path(name).read_bytes().splitlines()]
    assert len(written) == len(made.sound)
    assert [row["wire"] for row in written] == [entry.wire for entry in made.sound]
    assert [row["kind"] for row in written] == [entry.kind for entry in made.sound]
    assert [row["conversation"] for row in written] == [entry.conversation for entry in made.sound]


def test_a_folder_for_each_wire(made: Log, path: Path, tmp_path: Path) -> None:
    polars = pytest.importorskip("polars")
    pytest.importorskip("pyarrow")
    paths = write(turnwire.scan(str(path)), tmp_path / "out", partition_by="wire")
    assert {Path(one).parent.name for one in paths} == {f"wire={wire}" for wire in WIRES}
    sizes: dict[str, Any] = {Path(one).parent.name[5:]: len(polars.read_parquet(one)) for one in paths}
    assert sizes == Counter(entry.wire for entry in made.sound)


def test_a_block_alone_reads_its_own_part(path: Path) -> None:
    blocks = plan(str(path), block_bytes=3000, where={"wire": {"csp", "sap"}}, columns=["offset", "wire"])
    assert len(blocks) > 3
    found = [read_block(block) for block in reversed(blocks)]
    offsets = sorted(offset for scan in found for batch in scan for offset in batch["offset"].tolist())
    whole = turnwire.scan(str(path), where={"wire": {"csp", "sap"}})
    assert offsets == [offset for batch in whole for offset in batch["offset"].tolist()]
