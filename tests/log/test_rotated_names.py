"""What rotated logs are called: what may be added to a name, where, and with which ending of compressed files."""

from __future__ import annotations

import gzip
import itertools
import os
from pathlib import Path

import pytest

from tests.log.rotating import record
from tests.log.test_rotation_storms import numbers_of
from tests.log.test_scan import scan_nslip
from turnwire.log.input import pieces
from turnwire.log.input.rotated_names import is_counted, is_like, plain_name

pytestmark = pytest.mark.once

COUNTS = ("1", "07", "9999")
DATES = ("20260101", "2026-01-01", "2026.01.01", "2026-01-01T10:20:30Z", "1_2", "12345")
WORDS = ("old", "prev", "bak", "save")
PACKED = ("", ".gz", ".bz2", ".xz", ".zst")
NEITHER = ("error", "new", "oldest", "bakery", "1x", "x1", "", ".1", "log")


@pytest.mark.parametrize("added", [*COUNTS, *DATES, *WORDS])
def test_what_is_added_to_a_name(added: str) -> None:
    """Digits, dates and four words, behind the name or in front of its ending; a count has four digits at most."""
    for sign, packed in itertools.product("._-", PACKED):
        for name, base in (
            (f"app.log{sign}{added}", "app.log"),
            (f"app{sign}{added}.log", "app.log"),
            (f"app{sign}{added}", "app"),
        ):
            assert is_like(name + packed, base)
            assert is_counted(f"there/{name}{packed}", f"elsewhere/{base}") is (added in COUNTS)
            assert plain_name(name + packed) == name
            assert not is_like(name + packed, f"other{base}")
            assert not is_like(f"{name}{packed}.lz4", base)


@pytest.mark.parametrize("added", NEITHER)
def test_what_is_added_to_none(added: str) -> None:
    for name in (f"app.log-{added}", f"app-{added}.log", f"app.log.{added}.gz"):
        assert not is_like(name, "app.log")
        assert not is_counted(name, "app.log")


@pytest.mark.parametrize("added", [*WORDS, "1", "20260101"])
def test_a_scan_that_goes_on_finds_it(added: str, tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    (tmp_path / f"app.log.{added}").write_bytes(record(0) + record(1))
    path.unlink()
    path.write_bytes(record(2))
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == [1, 2]


@pytest.mark.parametrize(("packed", "settled"), [(False, False), (False, True), (True, False), (True, True)])
def test_a_last_line_without_its_end_waits_where_somebody_may_still_write_it(
    packed: bool, settled: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody does in a compressed file, nor in one that was not written for a while."""
    monkeypatch.setattr(pieces, "SETTLED", 1.0 if settled else 1e10)
    path = tmp_path / "app.log"
    path.write_bytes(record(0))
    os.utime(path, (1, 1))
    first = scan_nslip(path, resume={})
    assert numbers_of(first) == [0]
    data = record(0) + record(1) + record(2)[:-1]
    older = tmp_path / ("app.log.1.gz" if packed else "app.log.1")
    older.write_bytes(gzip.compress(data) if packed else data)
    os.utime(older, (2, 2))
    (tmp_path / "new").write_bytes(record(3))
    (tmp_path / "new").rename(path)
    second = scan_nslip(path, resume=first.position)
    assert numbers_of(second) == ([1, 2, 3] if packed or settled else [1, 3])


@pytest.mark.parametrize("longer", ["x.log", "y.log"])
def test_of_two_files_that_began_alike_the_one_that_was_read_further_was_compressed(
    longer: str, tmp_path: Path
) -> None:
    """Whichever of them was read first: what is compressed holds all that was read of both."""
    for name in ("x.log", "y.log"):
        (tmp_path / name).write_bytes(b"".join(map(record, range(8 if name == longer else 4))))
    first = scan_nslip(tmp_path, resume={})
    assert sorted(numbers_of(first)) == sorted([*range(8), *range(4)])
    (tmp_path / "z.gz").write_bytes(gzip.compress(b"".join(map(record, range(10)))))
    for name in ("x.log", "y.log"):
        (tmp_path / name).unlink()
    assert numbers_of(scan_nslip(tmp_path, resume=first.position)) == [8, 9]
