"""A manifest that is none, or was damaged, is refused with the line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from turnwire.distributed import NAME, Manifest, _todo, dask_scan, run_block
from turnwire.errors import UnknownName
from turnwire.log import plan

pytestmark = pytest.mark.once

LOG = b"@a3|f0|c1|S0|d1|T1#\n"


@pytest.fixture
def lines(tmp_path: Path) -> list[bytes]:
    """The lines of the manifest in ``tmp_path``, of two blocks."""
    pytest.importorskip("pyarrow")
    (tmp_path / "a.log").write_bytes(LOG * 2)
    manifest = Manifest(tmp_path)
    for index, block in enumerate(plan(str(tmp_path / "a.log"), wire="nslip", block_bytes=20)):
        manifest.add(run_block(block, str(tmp_path), index))
    return (tmp_path / NAME).read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize("line", [b"{", b"[]", b"null", b"{}", b'{"key": 1}', b"\xff", b"[" * 100_000, b'"key"'])
def test_a_line_that_is_no_row(tmp_path: Path, lines: list[bytes], line: bytes) -> None:
    (tmp_path / NAME).write_bytes(lines[0] + line + b"\n" + lines[1])
    with pytest.raises(ValueError, match=f"{NAME}:2: this is not a row of a manifest"):
        Manifest.read(tmp_path)


@pytest.mark.parametrize(
    "part",
    [
        *("key", "state", "index", "block", "records", "selected", "text_bytes", "wires", "reasons"),
        *("output", "quarantine"),
    ],
)
def test_a_row_that_lacks_a_part(tmp_path: Path, lines: list[bytes], part: str) -> None:
    row = json.loads(lines[0])
    for changed in ({**row, part: None}, {name: value for name, value in row.items() if name != part}):
        (tmp_path / NAME).write_bytes(json.dumps(changed).encode() + b"\n")
        with pytest.raises(ValueError, match=f"{NAME}:1: this is not a row of a manifest"):
            Manifest.read(tmp_path)


def test_a_last_line_without_its_end_is_left_out(tmp_path: Path, lines: list[bytes]) -> None:
    (tmp_path / NAME).write_bytes(lines[0] + lines[1][:-9])
    assert [row["index"] for row in Manifest.read(tmp_path).rows] == [0]


def test_a_disk_that_takes_no_more_is_named(tmp_path: Path, lines: list[bytes], unflushed: Callable[..., None]) -> None:
    """The row is not taken for written, and what was is there."""
    (tmp_path / NAME).write_bytes(lines[0])
    manifest = Manifest.read(tmp_path)
    unflushed()
    with pytest.raises(OSError, match="Input/output error") as caught:
        manifest.add(json.loads(lines[-1]))
    assert caught.value.filename == str(tmp_path / NAME)
    assert Manifest.read(tmp_path).rows[0] == json.loads(lines[0])


def test_of_two_rows_of_a_block_the_later_one_counts(tmp_path: Path, lines: list[bytes]) -> None:
    row = json.loads(lines[0])
    for states in (
        ("failed", "quarantined"),
        ("quarantined", "failed"),
        ("failed", "done"),
        ("done", "failed", "done"),
    ):
        written = [json.dumps({**row, "state": state}).encode() + b"\n" for state in states]
        (tmp_path / NAME).write_bytes(b"".join(written))
        assert [one["state"] for one in Manifest.read(tmp_path).rows] == [states[-1]]


def test_blocks_that_ended_in_any_order_stand_as_they_were_planned(tmp_path: Path) -> None:
    """Their numbers go on from block to block, as far as all before them are done."""
    pytest.importorskip("pyarrow")
    (tmp_path / "a.log").write_bytes(LOG * 5)
    rows = [
        run_block(block, str(tmp_path), index)
        for index, block in enumerate(plan(str(tmp_path / "a.log"), wire="nslip", block_bytes=20))
    ]
    assert len(rows) == 5
    manifest = Manifest(tmp_path)
    for index in (2, 0, 4, 1, 3):
        manifest.add(dict(rows[index]))
    manifest.finish()
    for one in (manifest, Manifest.read(tmp_path)):
        assert [row["index"] for row in one.rows] == [0, 1, 2, 3, 4]
        assert [row["first_record"] for row in one.rows] == [0, 1, 2, 3, 4]
    manifest = Manifest(tmp_path, [dict(row) for row in rows])
    manifest.rows[1] |= {"state": "failed"}
    manifest.finish()
    assert [row["first_record"] for row in manifest.rows] == [0, 1, None, None, None]
    assert (manifest.complete, manifest.counts.bytes) == (False, 4 * len(LOG))


def test_a_plan_without_blocks_is_finished(tmp_path: Path) -> None:
    """Nobody made the folders that blocks write to."""
    manifest = Manifest(tmp_path)
    manifest.finish()
    assert Manifest.read(tmp_path).complete and manifest.counts.records == 0


@pytest.mark.parametrize("errors", ["collect", "skip"])
@pytest.mark.parametrize("wanted", [None, {"src": 0}, {"src": 7}])
def test_a_row_counts_all_records_and_those_that_were_wanted(
    tmp_path: Path, errors: str, wanted: dict[str, int] | None
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    (tmp_path / "a.log").write_bytes(LOG * 3 + LOG.replace(b"S0", b"S7") + b"@a3|f0 bad\n")
    (block,) = plan(str(tmp_path / "a.log"), wire="nslip", where=wanted, errors=errors)
    row = run_block(block, str(tmp_path), 0)
    selected = 4 if wanted is None else {0: 3, 7: 1}[wanted["src"]]
    assert (row["records"], row["selected"], row["rejects"]) == (4, selected, 1)
    assert (row["wires"], row["reasons"]) == ({"nslip": 4}, {"bad_digit": 1})
    sizes = {"bytes": 91, "record_bytes": 76, "reject_bytes": 10, "text_bytes": 5}
    assert {name: row[name] for name in sizes} == sizes
    tables = [parquet.read_table(tmp_path / row[what]["file"]).num_rows for what in ("output", "quarantine")]
    assert tables == [selected, 1 if errors == "collect" else 0]


@pytest.mark.parametrize("what", ["output", "quarantine"])
def test_a_file_of_a_block_that_was_changed_is_made_again(tmp_path: Path, lines: list[bytes], what: str) -> None:
    (block, _) = plan(str(tmp_path / "a.log"), wire="nslip", block_bytes=20)
    manifest = Manifest.read(tmp_path)
    assert manifest.still_good(block, 0) is not None
    with (tmp_path / json.loads(lines[0])[what]["file"]).open("ab") as file:
        file.write(b"x")
    assert manifest.still_good(block, 0) is None


@pytest.mark.parametrize("what", ["output", "quarantine"])
@pytest.mark.parametrize("name", ["../x/y", "x", "/x/y", "a/b/c", ""])
def test_a_file_outside_the_folder_is_refused(tmp_path: Path, lines: list[bytes], what: str, name: str) -> None:
    row = json.loads(lines[0])
    row[what]["file"] = name
    (tmp_path / NAME).write_bytes(json.dumps(row).encode() + b"\n")
    with pytest.raises(ValueError, match=f"{NAME}:1: this is not a row of a manifest"):
        Manifest.read(tmp_path)


def test_what_is_done_no_more_leaves_the_manifest_that_goes_on(tmp_path: Path, lines: list[bytes]) -> None:
    """Rows of blocks that are not planned any more, and of those that are to be done again."""
    row = json.loads(lines[0])
    gone = json.dumps({**row, "key": "gone", "state": "failed"}).encode() + b"\n"
    (tmp_path / NAME).write_bytes(lines[0] + gone)
    first, second = plan(str(tmp_path / "a.log"), wire="nslip", block_bytes=20)
    manifest = Manifest(tmp_path)
    assert [index for index, _ in _todo(manifest, iter([first, second]), True)] == [1] and len(manifest.rows) == 1
    manifest.finish()
    assert [json.loads(line)["key"] for line in (tmp_path / NAME).read_bytes().splitlines()] == [first.key]


@pytest.mark.parametrize("errors", ["collect", "skip", "raise"])
def test_blocks_have_no_first_error_to_raise(tmp_path: Path, errors: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is connected to where there is nothing to do."""
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("turnwire.distributed.distributed", lambda: None)
    (tmp_path / "logs").mkdir()
    if errors == "raise":
        with pytest.raises(UnknownName, match='"collect" or "skip"'):
            dask_scan(str(tmp_path / "logs"), out=tmp_path / "out", errors=errors)
        assert not (tmp_path / "out").exists()
        return
    for folder in ("records", "rejects"):
        (tmp_path / "out" / folder).mkdir(parents=True)
    manifest = dask_scan(str(tmp_path / "logs"), out=tmp_path / "out", errors=errors, resume=True)
    assert (manifest.rows, manifest.complete, manifest.path.read_bytes()) == ([], True, b"")
