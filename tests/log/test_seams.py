"""No seam shows: a log gives the same however it is cut, whoever puts it together, on either core; and what was kept of
it."""

from __future__ import annotations

import gzip
import io
import json
import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import turnwire
from tests.golden.logs import COUNT, log
from tests.golden.results import kept, results, tables
from tests.log.found import fed

Found = tuple[list[dict[str, Any]], list[dict[str, Any]]]
Way = Callable[[bytes, random.Random, Path], Found]


def found(*scans: turnwire.Scan[Any]) -> Found:
    """Records and rejects of scans that follow each other, without what counts from the start of each."""
    records, rejects = [], []
    for one in scans:
        more, bad, counts = tables(one)
        assert counts["bytes"] == counts["records"] + counts["rejects"] + counts["text"] and counts["text"] >= 0
        records += [{name: value for name, value in row.items() if name != "record"} for row in more]
        rejects += bad
    return records, rejects


def small_batches(data: bytes, chance: random.Random, path: Path) -> Found:
    return found(turnwire.scan(data, batch_bytes=chance.choice((1, chance.randrange(2, 300)))))


def threads(data: bytes, chance: random.Random, path: Path) -> Found:
    return found(turnwire.scan(io.BytesIO(data), batch_bytes=chance.randrange(1, 400), threads=2))


def compressed(data: bytes, chance: random.Random, path: Path) -> Found:
    return found(turnwire.scan(gzip.compress(data), batch_bytes=chance.randrange(20, 400)))


def planned(data: bytes, chance: random.Random, path: Path) -> Found:
    path.write_bytes(data)
    blocks = turnwire.log.plan(path, block_bytes=chance.randrange(1, 500))
    return found(*map(turnwire.log.read_block, blocks))


WAYS: tuple[Way, ...] = (small_batches, threads, compressed, planned)


def random_pieces(data: bytes, chance: random.Random) -> Iterator[bytes]:
    place = 0
    while place < len(data):
        size = chance.choice((1, 7, 64, 400))
        yield data[place : place + size]
        place += size


def check(number: int, folder: Path) -> None:
    """Compares all ways to read one log."""
    data, chance = log(number).data, random.Random(number)
    whole = found(turnwire.scan(data))
    for way in WAYS:
        assert way(data, chance, folder / f"{number}.log") == whole, (number, way.__name__)
    said, errors = fed(turnwire.Decoder(), random_pieces(data, chance))
    messages = [turnwire.encode(one.message, strict=False) for one in turnwire.scan(data).messages()]
    assert [turnwire.encode(one, strict=False) for one in said] == messages, number
    faults = sorted((str(row["reason"]), row["fault"]) for row in whole[1])
    assert sorted((str(error.reason), error.offset) for error in errors) == faults, number
    check_resumed(number, data, chance, folder / f"{number}.resumed")


def check_resumed(number: int, data: bytes, chance: random.Random, path: Path) -> None:
    """A file that grows between scans gives what it gives when it is there at once."""
    path.write_bytes(data)
    whole = found(turnwire.scan(path, resume={}))
    path.unlink()
    records: list[Any] = []
    rejects: list[Any] = []
    token: dict[str, Any] = {}
    for stop in (*sorted(chance.randrange(len(data) + 1) for _ in range(chance.randrange(1, 4))), len(data)):
        path.write_bytes(data[:stop])
        scan = turnwire.scan(path, resume=token)
        more, bad = found(scan)
        records, rejects, token = records + more, rejects + bad, json.loads(json.dumps(scan.position))
    assert (records, rejects) == whole, (number, "resumed")


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("first", range(0, COUNT, COUNT // 20))
def test_a_log_is_the_same_however_it_is_read(first: int, tmp_path: Path) -> None:
    for number in range(first, first + 2):
        check(number, tmp_path)


@pytest.fixture(scope="module")
def before() -> Any:
    """The results of each generated log that were kept."""
    return kept()[0]


@pytest.mark.usefixtures("scan_core")
@pytest.mark.parametrize("first", [0, 300, 600])
def test_a_log_gives_what_was_kept_of_it(first: int, before: Any) -> None:
    """Of some logs; `make golden` compares all of them, and keeps other results with ``--keep``."""
    different = [number for number in range(first, COUNT, 997) if results(log(number)) != before[number]]
    assert different == [], "python -m tests.golden --show prints what is found in one"


@pytest.mark.soak
def test_many_logs(tmp_path: Path) -> None:
    step = int(os.environ.get("SEAM_STEP", "3"))
    for number in range(1, COUNT, step):
        check(number, tmp_path)
