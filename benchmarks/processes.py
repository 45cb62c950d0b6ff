"""What needs a process of its own: the time that an import adds to an interpreter's start, and peak memory."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import traffic
from file_readers import DISTINCT, STREAMING, WHOLE, sizes, write
from measure import Group, by_turns

IMPORTS = {
    "bare interpreter": "pass",
    "turnwire": "import turnwire",
    "msgspec": "import msgspec",
    "turnwire, and one decode": "import turnwire; turnwire.nslip.decode(b'@a3|f0|c1|S0|d1|T1#')",
    "turnwire.scan": "import turnwire; turnwire.scan",
    "numpy": "import numpy",
}
INSIDE = "from time import perf_counter; start = perf_counter(); {}; print(perf_counter() - start)"
MEASURED = {
    "streamed": ("turnwire", "turnwire, as Arrow batches", "pyarrow CSV", "Polars CSV", "DuckDB CSV"),
    "one table": ("turnwire", "pyarrow CSV", "Polars CSV", "DuckDB CSV"),
}


def start(code: str) -> float:
    """Seconds from starting an interpreter with this code to its end."""
    begun = perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True)
    return perf_counter() - begun


def inside(code: str) -> float:
    """Seconds that the code itself takes in a fresh interpreter, as that interpreter sees it."""
    finished = subprocess.run([sys.executable, "-c", INSIDE.format(code)], check=True, capture_output=True)
    return float(finished.stdout)


def imports(rounds: int) -> list[Group]:
    """Whole processes against a bare one, then the import statements alone."""
    named = [name for name in IMPORTS if name != "bare interpreter"]
    return [
        Group(
            table="start",
            case="whole process",
            facts={"processes each": rounds},
            samples=by_turns({name: partial(start, code) for name, code in IMPORTS.items()}, rounds),
        ),
        Group(
            table="start",
            case="the statement alone",
            facts={"processes each": rounds},
            samples=by_turns({name: partial(inside, IMPORTS[name]) for name in named}, rounds),
        ),
    ]


def memory(wanted: tuple[int, ...]) -> list[Group]:
    """Peak anonymous memory of one reading of files of these sizes; the samples are bytes."""
    groups = []
    with TemporaryDirectory() as name:
        for size in wanted:
            rows = traffic.rows("narrow ids", min(DISTINCT, size // 40))
            paths, total = write(Path(name), rows, size)
            for how, readers in MEASURED.items():
                suffixes = STREAMING if how == "streamed" else WHOLE
                samples = {reader: [peak(how, reader, paths[suffixes[reader][0]])] for reader in readers}
                facts = {"rows": total, **sizes(paths)}
                groups.append(
                    Group(table=f"memory, {how}", case=f"{size >> 20} MiB of nSLIP", facts=facts, samples=samples)
                )
    return groups


def peak(how: str, reader: str, path: Path) -> float:
    """Bytes of anonymous memory that one reading adds at its peak, in a process of its own."""
    child = Path(__file__).with_name("peak_memory.py")
    finished = subprocess.run([sys.executable, child, how, reader, path], check=True, capture_output=True)
    return float(json.loads(finished.stdout)["added"])


def measure(rounds: int, wanted: tuple[int, ...]) -> list[Group]:
    """All groups of this section; memory is known on Linux only."""
    found = imports(rounds)
    return found + memory(wanted) if Path("/proc/self/status").exists() else found
