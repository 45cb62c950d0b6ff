"""Blocks on Dask: one scan, whatever happens to the workers. One cluster of two processes, on loopback, for all."""

from __future__ import annotations

import os
import pickle
import runpy
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

import turnwire  # noqa: E402
from tests.cli.running import turnwire as turnwire_command  # noqa: E402
from tests.distributed.blocks import MARKER, counting, failing_at_first, killed_once, planned_with_others, poison  # noqa: E402
from tests.log.engines import UPSTREAM  # noqa: E402
from turnwire.distributed import NAME, Manifest, dask_scan, local_cluster, run_block  # noqa: E402
from turnwire.log import plan, write  # noqa: E402

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(os.name != "posix", reason="kills processes as POSIX does"),
    pytest.mark.filterwarnings("ignore"),  # of Dask, of tornado and of what they find on this machine
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    settings = {
        "distributed.scheduler.allowed-failures": 1,
        "distributed.worker.daemon": False,
        "distributed.admin.system-monitor.gil.enabled": False,
        "distributed.worker.multiprocessing-method": "forkserver",  # a new worker has imported Dask
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=60
        ) as cluster,
        distributed.Client(cluster) as connected,
    ):
        yield connected


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two files, one of them with damage, which make six blocks of ``SIZE`` bytes."""
    folder = tmp_path / "logs"
    folder.mkdir()
    data = UPSTREAM.read_bytes()
    (folder / "a.log").write_bytes(data[:100_000])
    (folder / "b.log").write_bytes(data[100_000:180_000].replace(b"|f0|", b"|f$|", 9))
    return folder


SIZE = 32_000


def one_scan(logs: Path) -> tuple[Any, Any]:
    scan = turnwire.scan(str(logs), wire="nslip")
    return pa.table(scan).to_pylist(), pa.table(scan.rejects).to_pylist()


def many(manifest: Manifest) -> tuple[Any, Any]:
    found: tuple[list[Any], list[Any]] = [], []
    for row in manifest.of_state("done"):
        for rows, what in zip(found, ("output", "quarantine"), strict=True):
            rows += parquet.read_table(manifest.out / row[what]["file"]).to_pylist()
            for one in rows[len(rows) - (row["rejects"] if what == "quarantine" else row["selected"]) :]:
                one.update({"record": one["record"] + (row["first_record"] or 0)} if "record" in one else {})
    return found


def run(client: Any, logs: Path, **options: Any) -> Manifest:
    return dask_scan(str(logs), client, out=logs.parent / "out", wire="nslip", block_bytes=SIZE, **options)


def test_the_blocks_are_one_scan(client: Any, logs: Path) -> None:
    ended: list[int] = []
    manifest = run(client, logs, progress=lambda so_far: ended.append(len(so_far.rows)))
    assert manifest.complete and len(manifest.rows) == 7
    assert ended == [1, 2, 3, 4, 5, 6, 7]
    assert many(manifest) == one_scan(logs)
    scan = turnwire.scan(str(logs), wire="nslip")
    list(scan)
    assert manifest.counts == scan.counts
    assert Manifest.read(logs.parent / "out").rows == manifest.rows
    names = sorted(path.name for path in (logs.parent / "out" / "records").iterdir())
    assert names == [path.name for path in manifest.paths()]


def test_a_killed_worker_costs_nothing_but_time(client: Any, logs: Path) -> None:
    killed: list[int] = []

    def kill() -> None:
        marker = logs.parent / MARKER
        while not marker.exists():
            time.sleep(0.02)
        killed.append(int(marker.read_text()))
        os.kill(killed[0], signal.SIGKILL)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    manifest = run(client, logs, run=killed_once)
    thread.join(120)
    assert len(killed) == 1
    assert manifest.complete
    assert many(manifest) == one_scan(logs)
    assert [path for path in (logs.parent / "out").rglob("*") if path.suffix == ".tmp"] == []


def test_a_block_that_always_kills_is_named_and_the_others_are_done(client: Any, logs: Path) -> None:
    manifest = run(client, logs, run=poison)
    assert [row["state"] for row in manifest.rows] == ["done"] * 2 + ["quarantined"] + ["done"] * 4
    (bad,) = manifest.of_state("quarantined")
    assert (bad["block"]["files"], bad["block"]["start"]) == ([str(logs / "a.log")], manifest.rows[1]["block"]["stop"])
    assert [row["first_record"] is None for row in manifest.rows] == [False] * 3 + [True] * 4
    again = run(client, logs, resume=True)
    assert again.complete
    assert many(again) == one_scan(logs)


def test_resume_runs_only_what_is_missing_or_not_what_it_was(client: Any, logs: Path) -> None:
    out = logs.parent / "out"
    first = run(client, logs)
    lines = (out / NAME).read_bytes().splitlines(keepends=True)
    (out / NAME).write_bytes(b"".join(lines[:4]) + lines[4][:50])  # cut off while the fifth row was written
    with open(out / first.rows[2]["output"]["file"], "r+b") as file:
        file.seek(100)
        file.write(b"?")
    (out / first.rows[3]["quarantine"]["file"]).unlink()
    (out / "records" / "mine.parquet").touch()
    again = run(client, logs, resume=True, run=counting)
    ran = {int(path.name[4:]) for path in logs.parent.glob("ran-*")}
    assert ran == {2, 3, 4, 5, 6}
    assert again.complete
    assert many(again) == one_scan(logs)
    assert (out / "records" / "mine.parquet").exists(), "what is not ours is left alone"


def test_the_command_goes_on_with_a_manifest_by_a_scheduler_elsewhere(client: Any, logs: Path) -> None:
    out = logs.parent / "out"
    sources = ("scan", "--wire", "nslip", logs, "--dask", client.scheduler.address, "--block-bytes", SIZE)
    assert turnwire_command(*map(str, sources), "-o", out).code == 1
    first = Manifest.read(out)
    first.paths()[0].unlink()
    again = turnwire_command(*map(str, sources), "--resume", first.path, "-q")
    assert again.code == 1 and "blocks" not in again.err, again.err
    assert Manifest.read(out).complete and first.paths()[0].exists()


def test_resume_after_the_inputs_changed(client: Any, logs: Path) -> None:
    run(client, logs)
    (logs / "0.log").write_bytes(b"@a0|f0|c1|S0|d1|T1#\n")
    (logs / "a.log").unlink()
    again = run(client, logs, resume=True, run=counting)
    assert [path.name for path in logs.parent.glob("ran-*")] == ["ran-0"], "the blocks of b.log moved, and were kept"
    assert many(again) == one_scan(logs)
    assert len(list((logs.parent / "out" / "records").iterdir())) == len(again.rows) == 4


def test_a_block_that_fails_is_named_and_the_others_are_done(client: Any, logs: Path) -> None:
    manifest = run(client, logs, run=planned_with_others)
    assert len(manifest.rows) == len(plan(str(logs), wire="nslip", block_bytes=SIZE))
    assert manifest.rows[0]["state"] == "done"
    failed = manifest.of_state("failed")
    assert failed and all("file_changed" in row["error"] for row in failed)
    assert not manifest.complete


def test_a_block_is_tried_again_after_an_error_of_the_system(client: Any, logs: Path) -> None:
    manifest = run(client, logs, run=failing_at_first)
    assert manifest.complete and len(list(logs.parent.glob("asked-*"))) == 2 * len(manifest.rows)
    assert many(manifest) == one_scan(logs)


def test_nobody_to_run_it(logs: Path) -> None:
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None, silence_logs=60) as cluster,
        distributed.Client(cluster) as nobody,
        pytest.raises(TimeoutError, match="no Dask worker"),
    ):
        run(nobody, logs, patience=0.1)


def test_workers_of_this_machine_are_not_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor do they say anything: one that outlives the scheduler would print a traceback."""
    set_then: dict[str, Any] = {}

    def cluster(**options: Any) -> None:
        for name in ("worker.profile.enabled", "nanny.pre-spawn-environ.DASK_LOGGING__DISTRIBUTED"):
            set_then[name.rpartition(".")[2]] = dask.config.get(f"distributed.{name}")
        set_then["host"] = options["host"]

    monkeypatch.setattr(distributed, "LocalCluster", cluster)
    local_cluster(1)
    assert set_then == {"enabled": False, "DASK_LOGGING__DISTRIBUTED": "critical", "host": "127.0.0.1"}


def test_what_makes_no_sense_is_refused_before_anything_runs(client: Any, logs: Path) -> None:
    with pytest.raises(ValueError, match="collect"):
        run(client, logs, errors="raise")
    (logs.parent / "out").mkdir()
    (logs.parent / "out" / "something").touch()
    with pytest.raises(FileExistsError):
        run(client, logs)


# --- without Dask ---------------------------------------------------------------------------------------------------


def test_a_block_run_twice_gives_the_same_files(tmp_path: Path) -> None:
    block = plan(str(UPSTREAM), wire="nslip", block_bytes=50_000)[1]
    first = run_block(block, str(tmp_path), 1)
    second = run_block(pickle.loads(pickle.dumps(block)), str(tmp_path), 1)
    assert first == second
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    write(turnwire.scan(str(UPSTREAM), wire="nslip"), tmp_path / "all.parquet")
    assert first["records"] > 500 and first["rejects"] == 0


def test_rejects_that_are_only_counted_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "bad.log").write_bytes(b"@a0|f0|c$#\n")
    (block,) = plan(str(tmp_path / "bad.log"), wire="nslip", errors="skip")
    row = run_block(block, str(tmp_path), 0)
    assert (row["rejects"], row["reasons"]) == (1, {"bad_digit": 1})
    assert parquet.read_table(tmp_path / row["quarantine"]["file"]).num_rows == 0


SPARK_SOURCE = Path(__file__).parents[2] / "examples" / "spark_source.py"


@pytest.mark.skipif(not SPARK_SOURCE.exists(), reason="needs the source tree")
def test_the_data_source_for_spark_reads_the_blocks(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With others in the place of pyspark's classes, which no extra brings: blocks as partitions, types of Spark."""
    classes = SimpleNamespace(DataSource=object, DataSourceReader=object)
    classes.InputPartition = lambda block: SimpleNamespace(value=pickle.loads(pickle.dumps(block)))
    for name in ("pyspark", "pyspark.sql", "pyspark.sql.datasource"):
        monkeypatch.setitem(sys.modules, name, classes)
    reader = runpy.run_path(str(SPARK_SOURCE))["TurnwireReader"](
        {"path": str(logs), "wire": "nslip", "block_bytes": str(SIZE)}
    )
    batches = [[*reader.read(one)] for one in reader.partitions()]
    assert len(batches) == len(plan(str(logs), wire="nslip", block_bytes=SIZE)) > 2
    table = pa.Table.from_batches([batch for several in batches for batch in several])
    assert not {"uint64", "uint8", "string_view"} & {str(field.type) for field in table.schema}
    expected = pa.table(turnwire.scan(str(logs), wire="nslip")).drop_columns("record")  # which a block does not know
    assert table.drop_columns("record").to_pylist() == expected.to_pylist()
