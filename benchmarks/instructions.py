"""Instructions that scans take for a byte, by valgrind: figures that repeat, however busy the machine is.

    python benchmarks/instructions.py [--against SRC] [CASE ...]

Each case is a log and a wire, or all wires. What is counted is the slope: a scan of 2N bytes less a scan of N, by the
number of bytes, so that imports, plans and the first and last block fall out. ``--against`` names the sources of
another tree of turnwire with its native modules built (``SRC/turnwire``); the table then has its figures and the ratio.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import callgrind

SOURCE = Path(__file__).parent.parent / "src"
SIZE = 7 << 19
"""N: two blocks of 2 MiB, the second one not full, so that 2N are four."""
WARM = 64 << 10
"""Bytes that are scanned first, so that everything is imported."""


class Case(NamedTuple):
    """A log (see ``logs.py``) and the wire that is looked for in it, or None for all."""

    log: str
    wire: str | None

    def __str__(self) -> str:
        return f"{self.log}, {'all wires' if self.wire is None else 'by name'}"


WIRES = ("nslip", "csp", "sstp", "sap", "kick")
CASES = {
    str(case): case
    for case in (
        *(Case(wire, wire) for wire in WIRES),
        *(Case(wire, None) for wire in WIRES),
        *(Case(log, None) for log in ("mixed", "prefixed nslip", "nslip in json", "text")),
    )
}


def counted(source: Path, cases: Iterable[Case], size: int = SIZE) -> dict[str, float]:
    """Instructions a byte of each case, by the tree of turnwire whose sources these are."""
    cases = list(cases)
    with TemporaryDirectory() as name:
        folder = Path(name)
        sizes = _write(folder, {case.log for case in cases}, size)
        plan = [(case.log, case.wire) for case in cases]
        (folder / "plan").write_text(json.dumps(plan))
        parts = callgrind.counted(source, __file__, "--scan", name)
    expected = 6 * len(cases) + 1
    if len(parts) != expected:
        raise RuntimeError(f"callgrind gave {len(parts)} figures, not {expected}")
    work = parts[1::2]  # what stands between is preparation
    return {
        str(case): (work[3 * number + 2] - work[3 * number + 1]) / sizes[case.log] for number, case in enumerate(cases)
    }


def _write(folder: Path, logs: Iterable[str], size: int) -> dict[str, int]:
    """The logs as files; by how many bytes the second one of each is longer."""
    from logs import LOGS

    sizes = {}
    for log in logs:
        parts = [LOGS[log](wanted) for wanted in (WARM, size, 2 * size)]  # a message that is cut would be damage
        for number, part in enumerate(parts):
            (folder / f"{log}.{number}").write_bytes(part)
        sizes[log] = len(parts[2]) - len(parts[1])
    return sizes


def _scan(folder: Path) -> None:
    """The process whose instructions are counted: three scans of each case, a mark before and behind each."""
    import gc

    import turnwire

    if turnwire.backend != "native":
        raise RuntimeError("the native modules are not built")
    callgrind.begin()
    for log, wire in json.loads((folder / "plan").read_text()):
        for number in range(3):
            gc.collect()
            if number == 0:
                gc.freeze()
            gc.disable()  # when it runs depends on all that went before
            callgrind.mark()
            for _ in turnwire.scan(str(folder / f"{log}.{number}"), wire=wire):
                pass
            callgrind.mark()
            gc.enable()


def table(figures: Mapping[str, float], against: Mapping[str, float] | None = None) -> str:
    """The figures as text, a line a case; with those of another tree, the ratio."""
    lines = [f"{'instructions a byte':28}{'here':>9}" + ("" if against is None else f"{'there':>9}{'ratio':>8}")]
    for case, figure in figures.items():
        line = f"{case:28}{figure:9.2f}"
        if against is not None:
            line += f"{against[case]:9.2f}{figure / against[case]:8.3f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    """Counts and prints."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"part of the name of a case: {'; '.join(CASES)}")
    parser.add_argument("--against", type=Path, metavar="SRC", help="sources of another tree")
    parser.add_argument("--scan", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scan is not None:
        _scan(options.scan)
        return
    chosen = [case for name, case in CASES.items() if not options.cases or any(part in name for part in options.cases)]
    if not chosen:
        parser.error("no case has such a name")
    figures = counted(SOURCE, chosen)
    print(table(figures, None if options.against is None else counted(options.against, chosen)))


if __name__ == "__main__":
    main()
