"""The option ``--dask`` of ``turnwire scan``: its blocks on a cluster, or on processes of this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from turnwire.cli import inputs, options
from turnwire.cli.outcome import BAD_RECORDS, GOOD, INPUT_OUTPUT, usage_errors
from turnwire.cli.output import complain, complain_counts
from turnwire.phrases import counted
from turnwire.progress import Progress

LOCAL = "local"
CONNECTING = 10.0
SHOWN = 5
REFUSED = ("as_json", "follow", "borrow", "partition_by", "rejects", "limit", "format")
"""Options without a meaning for blocks, which write Parquet files of their own."""


def dask_options(command: Any) -> Any:
    """The options --dask and --block-bytes of a command."""
    command = click.option(
        "--block-bytes", type=click.IntRange(min=1), default=64 << 20, help="With --dask: approximate bytes of a block."
    )(command)
    text = "Scan in blocks on a Dask cluster, or on processes of this machine; --output is a directory."
    return click.option("--dask", metavar="ADDRESS|local", help=text)(command)


def check(settings: dict[str, Any]) -> None:
    """Raises UsageError for options that do not go with --dask."""
    if settings["dask"] is None:
        return
    for name in REFUSED:
        if settings[name]:
            raise click.UsageError(f"--dask cannot be combined with --{name.removeprefix('as_').replace('_', '-')}")
    if settings["errors"] == "raise":
        raise click.UsageError("--dask cannot be combined with --errors raise: blocks have no first fault")
    if settings["output"] in (None, "-") and settings["resume"] is None:
        raise click.UsageError("--dask writes files: --output DIRECTORY")
    if settings["output"] is not None and settings["resume"] is not None:
        from pathlib import Path

        place = Path(settings["resume"])
        if os.path.realpath(place.parent) != os.path.realpath(settings["output"]):
            raise click.UsageError("with --dask, --resume needs the manifest in the --output directory")


def scan_on_cluster(
    names: tuple[str, ...], wire: str | None, columns: list[str] | None, settings: dict[str, Any]
) -> int:
    """Runs the scan and says what became of its blocks: the exit code, 3 where not all of them are done."""
    from pathlib import Path

    from turnwire.distributed import Manifest, dask_scan

    output = settings["output"] or Path(settings["resume"]).parent
    chosen = {name: settings[name] for name in ("errors", "unknown", "fences", "batch_bytes", "block_bytes")}
    chosen["where"] = options.conditions(settings["conditions"], options.scanner(wire).columns)
    chosen |= {"columns": columns, "wire": wire, "resume": settings["resume"] is not None}
    progress = Progress(inputs.size(names), wanted=not settings["quiet"])

    def tell(manifest: Manifest) -> None:
        counts = manifest.counts
        progress.update(counts.bytes, counts.records, counts.rejects)

    with _client(settings["dask"], settings["threads"]) as client, progress, usage_errors():
        manifest = dask_scan(list(names), client, out=output, progress=tell, **chosen)
    if not settings["quiet"]:
        _summarize(manifest)
    if not manifest.complete:
        return INPUT_OUTPUT
    return BAD_RECORDS if manifest.counts.reasons else GOOD


@contextmanager
def _client(address: str, threads: int) -> Iterator[Any]:
    from turnwire.distributed.driver import distributed, local_cluster

    package = distributed()
    if address == LOCAL:
        with local_cluster(threads if threads > 1 else None) as cluster, package.Client(cluster) as client:
            yield client
        return
    try:
        client = package.Client(address, timeout=CONNECTING)
    except (OSError, ValueError) as error:
        raise OSError(None, f"cannot reach the Dask scheduler: {error}", address) from None
    with client:
        yield client


def _summarize(manifest: Any) -> None:
    complain_counts(manifest.counts, counted(len(manifest.rows), "block"))
    missing = [row for row in manifest.rows if row["state"] != "done"]
    for row in missing[:SHOWN]:
        block = row["block"]
        place = f"{block['files'][0]}: bytes {block['start']} to {block['stop']}"
        complain(f"{row['state']}: {place}: {row['error']}")
    if missing:
        complain(f"{counted(len(missing), 'block')} missing; --resume {manifest.path} tries again")
    complain(f"written {manifest.path}")
