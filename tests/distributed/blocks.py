"""Functions that the workers of the tests run: this module is imported in their processes."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from turnwire.distributed import run_block
from turnwire.log.cluster_plan import Block, read_block
from turnwire.log.output.outputs import FileOutput

MARKER = "pid"


def killed_once(block: Block, out: str, index: int) -> dict[str, Any]:
    """The first worker that gets block 1 says its pid, with a file half written, and waits to be killed."""
    marker = Path(out).parent / MARKER
    if index == 1 and not marker.exists():
        found = read_block(block)
        with FileOutput(Path(out, "records", "any.parquet"), found.columns, "parquet") as output:
            output.take(next(iter(found)))
            ready = marker.with_suffix(".new")
            ready.write_text(str(os.getpid()))
            ready.rename(marker)
            time.sleep(60)
    return run_block(block, out, index)


def poison(block: Block, out: str, index: int) -> dict[str, Any]:
    """Block 2 kills every worker."""
    if index == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return run_block(block, out, index)


def failing_at_first(block: Block, out: str, index: int) -> dict[str, Any]:
    """The server of files does not answer, but for the third time."""
    for attempt in range(2):
        marker = Path(out).parent / f"asked-{index}-{attempt}"
        if not marker.exists():
            marker.touch()
            raise TimeoutError("no answer")
    return run_block(block, out, index)


def counting(block: Block, out: str, index: int) -> dict[str, Any]:
    """Leaves a file that says which block was run."""
    (Path(out).parent / f"ran-{index}").touch()
    return run_block(block, out, index)


def planned_with_others(block: Block, out: str, index: int) -> dict[str, Any]:
    """The files of all blocks but the first are not those that were planned with."""
    if index:
        block = block._replace(files=(block.files[0]._replace(mtime_ns=0), *block.files[1:]))
    return run_block(block, out, index)
