"""Prints the ratio tables: turnwire against the codecs and readers that people use, in one process.

python benchmarks/tables.py            all of it, some minutes
python benchmarks/tables.py --quick    under two minutes, for a look; not for quoting
python benchmarks/tables.py --write  also keeps the raw figures in benchmarks/results and rewrites the README there
python benchmarks/tables.py --kept   measures nothing: the tables of the kept figures
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

os.environ["POLARS_MAX_THREADS"] = "1"  # before anything imports Polars: the tables compare one thread with one

import plots
import report

HERE = Path(__file__).parent
RESULTS = HERE / "results"
MARK, END = "<!-- written by `python benchmarks/tables.py --write` -->", "<!-- end -->"
"""Between them stands the table of the wires in the README of the project."""


class Effort(NamedTuple):
    """How much is measured: rounds, seconds for a statement, bytes of input. growth: sizes of logs in bytes."""

    rounds: int
    seconds: float
    bulk_rounds: int
    bulk_bytes: int
    file_rounds: int
    file_bytes: int
    starts: int
    memory_bytes: tuple[int, ...]
    wire_rounds: int
    wire_bytes: int
    growth: tuple[int, ...]


FULL = Effort(
    rounds=101,
    seconds=0.002,
    bulk_rounds=7,
    bulk_bytes=192 << 20,
    file_rounds=5,
    file_bytes=128 << 20,
    starts=41,
    memory_bytes=(24 << 20, 192 << 20),
    wire_rounds=41,
    wire_bytes=64 << 20,
    growth=(1 << 20, 16 << 20, 256 << 20),
)
QUICK = Effort(
    rounds=5,
    seconds=0.002,
    bulk_rounds=2,
    bulk_bytes=16 << 20,
    file_rounds=2,
    file_bytes=512 << 10,
    starts=3,
    memory_bytes=(2 << 20,),
    wire_rounds=5,
    wire_bytes=4 << 20,
    growth=(1 << 20, 8 << 20),
)


def wires(effort: Effort) -> list[Any]:
    import wires

    return list(wires.measure(effort.wire_rounds, effort.wire_bytes))


def growth(effort: Effort) -> list[Any]:
    import wires

    return list(wires.growth(effort.file_rounds, effort.growth))


def messages(effort: Effort) -> list[Any]:
    import single

    return list(single.measure(effort.rounds, effort.seconds))


def bulk(effort: Effort) -> list[Any]:
    import bulk_scan

    return list(bulk_scan.measure(effort.bulk_rounds, effort.bulk_bytes))


def files(effort: Effort) -> list[Any]:
    import file_readers

    return list(file_readers.measure(effort.file_rounds, effort.file_bytes, threads=1))


def files_all_threads(effort: Effort) -> list[Any]:
    """The other readers with all the threads they like, in a process of its own."""
    command = [sys.executable, str(HERE / "file_readers.py"), str(effort.file_rounds), str(effort.file_bytes)]
    environment = {name: value for name, value in os.environ.items() if name != "POLARS_MAX_THREADS"}
    finished = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=environment)
    found: list[Any] = json.loads(finished.stdout)
    return found


def processes(effort: Effort) -> list[Any]:
    import processes

    return list(processes.measure(effort.starts, effort.memory_bytes))


SECTIONS: dict[str, Callable[[Effort], list[Any]]] = {
    "wires": wires,
    "growth": growth,
    "messages": messages,
    "bulk": bulk,
    "files": files,
    "files_all_threads": files_all_threads,
    "processes": processes,
}


def measure(name: str, effort: Effort) -> dict[str, Any]:
    """One section with what it was taken on."""
    from measure import machine

    before = os.getloadavg()[0]
    groups = SECTIONS[name](effort)
    for group in groups:
        group["samples"] = {key: [float(f"{one:.5g}") for one in times] for key, times in group["samples"].items()}
    taken = datetime.now(UTC).isoformat(timespec="minutes")
    return {
        "section": name,
        "taken": taken,
        "effort": "quick" if effort is QUICK else "full",
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "machine": machine(),
        "groups": groups,
    }


def kept(name: str) -> dict[str, Any] | None:
    """The kept figures of a section."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
    return found


def as_json(result: dict[str, Any]) -> str:
    """A result as it is kept: one line for each list of samples, so that a diff can be read."""
    groups = [json.dumps(group, ensure_ascii=False) for group in result["groups"]]
    head = json.dumps({key: value for key, value in result.items() if key != "groups"}, ensure_ascii=False, indent=1)
    return head[:-2] + ',\n "groups": [\n  ' + ",\n  ".join(groups) + "\n ]\n}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds and little data")
    names = list(SECTIONS)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="SECTION", help=", ".join(names))
    parser.add_argument("--kept", action="store_true", help="measure nothing, use what is kept")
    parser.add_argument(
        "--write", action="store_true", help="keep the figures, rewrite README.md from all that is kept"
    )
    arguments = parser.parse_args()
    results = {}
    for name in arguments.only:
        if not arguments.kept:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
        result = kept(name) if arguments.kept else measure(name, QUICK if arguments.quick else FULL)
        if result is None:
            parser.error(f"no figures of {name} are kept")
        results[name] = result
        if arguments.write and not arguments.kept:
            RESULTS.mkdir(exist_ok=True)
            (RESULTS / f"{name}.json").write_text(as_json(result), "utf-8")
    print(report.tables(results))
    if arguments.write:
        everything = {name: result for name in SECTIONS if (result := kept(name)) is not None}
        (HERE / "README.md").write_text(report.readme(everything), "utf-8")
        plots.draw(everything)
        if "wires" in everything:
            page = HERE.parent / "README.md"
            before, mark, rest = page.read_text("utf-8").partition(MARK)
            after = rest[rest.index(END) :]
            page.write_text(f"{before}{mark}\n{report.headline(everything)}\n{after}", "utf-8")


if __name__ == "__main__":
    main()
