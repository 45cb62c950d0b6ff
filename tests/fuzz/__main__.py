"""Fuzzes one target: ``python -m tests.fuzz TARGET [seconds]``. `make fuzz` sets up what it needs.

With atheris, by coverage: of the native core where it was built for that, else of its pure twin. Without it, by
mutation alone. What differs, or what raises what it should not, is written to ``build/fuzz/TARGET-...`` and ends the
run with an error; so does what an address or undefined-behaviour check finds. ``--replay FILE`` runs one such input
again, ``--keep`` takes the smallest inputs that reach all that was reached into ``tests/fuzz/corpus/``.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.cores import Core
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import dictionary, keep, seeds, words
from tests.fuzz.targets import TARGETS, differs

FOLDER = Path("build/fuzz")
LONGEST = 2048
"""Bytes of an input."""
MOST_KEPT, LONGEST_KEPT = 60, 400


class Difference(Exception):
    """The cores do not say the same."""


def checker(name: str, native: Core, pure: Core) -> Callable[[bytes], None]:
    """Runs an input on both cores and raises for what they do not agree on."""
    target = TARGETS[name]

    def check(data: bytes) -> None:
        found = differs(target, data, native, pure)
        if found is not None:
            raise Difference(f"{name} on {data!r}\nnative: {found[0]!r}\npure:   {found[1]!r}")

    return check


def cover(name: str, seconds: int, atheris: Any) -> None:
    """Fuzzes by coverage; does not return."""
    native = Core("native")
    if os.environ.get("TURNWIRE_FUZZ") == "native":  # the native core counts what it reaches
        pure = Core("pure")
    else:
        with atheris.instrument_imports(include=["turnwire"]):
            pure = Core("pure")
    check = checker(name, native, pure)
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(name)):
        (corpus / f"seed-{number}").write_bytes(data)
    (FOLDER / "words").write_text(dictionary(), "ascii")
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-dict={FOLDER / 'words'}", "-timeout=300"]
    options += [f"-artifact_prefix={FOLDER / name}-", "-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], check)
    atheris.Fuzz()


def mutate(name: str, seconds: int) -> None:
    """Fuzzes by mutation alone, of seeds and of words."""
    check = checker(name, Core("native"), Core("pure"))
    chance, pool, known = random.Random(time.time_ns()), seeds(name), words()
    FOLDER.mkdir(parents=True, exist_ok=True)
    end, runs = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        data = mutated(pool, known, chance)[:LONGEST]
        place = FOLDER / f"{name}-now"
        place.write_bytes(data)  # what is left of a run that ends at once
        try:
            check(data)
        except Exception:
            place.rename(FOLDER / f"{name}-finding")
            raise
        runs += 1
    (FOLDER / f"{name}-now").unlink(missing_ok=True)
    print(f"{name}: {runs} runs")


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
        try:
            import atheris
        except ImportError:
            print("there is no atheris for this Python: by mutation alone, which sees no coverage")
            mutate(options.target, options.seconds)
        else:
            cover(options.target, options.seconds, atheris)


if __name__ == "__main__":
    main()
