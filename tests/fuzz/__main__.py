"""Fuzzes one target: ``python -m tests.fuzz TARGET [seconds]``. `make fuzz` sets up what it needs.

With atheris, by coverage: of the native core where it was built for that, else of its pure twin. Without it, by
mutation alone. What differs, or what raises what it should not, is written to ``build/fuzz/TARGET-...`` and ends the
run with an error; so does what an address or undefined-behaviour check finds. ``--replay FILE`` runs one such input
again, ``--keep`` takes the smallest inputs that reach all that was reached into ``tests/fuzz/corpus/``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from tests.fuzz.cores import Core
from tests.fuzz.running import FOLDER, checker, fuzz, loaded
from tests.fuzz.seeds import keep
from tests.fuzz.targets import TARGETS

MOST_KEPT, LONGEST_KEPT = 60, 400


def keep_smallest(name: str) -> None:
    """Keeps small inputs of the run before that each reach a place that no smaller one reaches, in the pure twin."""
    pure = Core("pure")
    reached: set[tuple[str, int, int]] = set()
    chosen = []
    files = sorted((FOLDER / name).glob("*"), key=lambda path: path.stat().st_size)
    for data in (path.read_bytes() for path in files):
        if len(data) > LONGEST_KEPT or len(chosen) == MOST_KEPT:
            break
        places = _places(TARGETS[name], data, pure)
        if places - reached:
            reached |= places
            chosen.append(data)
    keep(name, chosen)


def _places(target: Any, data: bytes, core: Core) -> set[tuple[str, int, int]]:
    """The steps from line to line in the twins that an input makes."""
    found: set[tuple[str, int, int]] = set()
    last = 0

    def trace(frame: Any, event: str, _: Any) -> Any:
        nonlocal last
        name = frame.f_code.co_filename
        if "_pure" not in name:
            return None
        found.add((name, last, frame.f_lineno))
        last = frame.f_lineno
        return trace

    with core.active() as package:
        sys.settrace(trace)
        try:
            target(package, data)
        except package.WireError:
            pass
        finally:
            sys.settrace(None)
    return found


def main() -> None:
    """Reads the command."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("seconds", type=int, nargs="?", default=60)
    parser.add_argument("--replay", type=Path, help="an input to run again")
    parser.add_argument("--keep", action="store_true", help="take what the run before found into the tree")
    options = parser.parse_args()
    if options.replay:
        checker(options.target, Core("native"), Core("pure"))(options.replay.read_bytes())
    elif options.keep:
        keep_smallest(options.target)
    else:
        fuzz(options.target, options.seconds, *loaded())


if __name__ == "__main__":
    main()
