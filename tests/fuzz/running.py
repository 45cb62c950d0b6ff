"""How a target is run: the two cores, loaded once, and one process of fuzzing or mutation over them."""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.fuzz.cores import Core
from tests.fuzz.mutation import mutated
from tests.fuzz.seeds import dictionary, is_cheap, seeds, words
from tests.fuzz.targets import TARGETS, differs

FOLDER = Path("build/fuzz")
LONGEST = 2048
"""Bytes of an input."""
SEEDS = 25
"""Inputs to begin with for each second, where one costs milliseconds: else a short run would try them and no others."""


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


def loaded() -> tuple[Any, Core, Core]:
    """atheris, or None where it is not there, and the cores. Instrumenting the twin takes 12 CPU seconds."""
    try:
        import atheris
    except ImportError:
        print("there is no atheris for this Python: by mutation alone, which sees no coverage", flush=True)
        return None, Core("native"), Core("pure")
    native = Core("native")
    if os.environ.get("TURNWIRE_FUZZ") == "native":  # the native core counts what it reaches
        return atheris, native, Core("pure")
    with atheris.instrument_imports(include=["turnwire"]):
        return atheris, native, Core("pure")


def fuzz(name: str, seconds: int, atheris: Any, native: Core, pure: Core) -> None:
    """Fuzzes a target: by coverage, which does not return, or by mutation without atheris."""
    check = checker(name, native, pure)
    if atheris is None:
        mutate(name, seconds, check)
    else:
        cover(name, seconds, atheris, check)


def cover(name: str, seconds: int, atheris: Any, check: Callable[[bytes], None]) -> None:
    """Fuzzes by coverage; does not return."""
    corpus = FOLDER / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(beginning(name, seconds)):
        (corpus / f"seed-{number}").write_bytes(data)
    known = FOLDER / f"{name}.words"  # one of its own: another target would find a shared one while it is written
    known.write_text(dictionary(), "ascii")
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-dict={known}", "-timeout=300"]
    options += [f"-artifact_prefix={FOLDER / name}-", "-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], check)
    atheris.Fuzz()


def beginning(name: str, seconds: int) -> list[bytes]:
    """Seeds for a run of so many seconds: all of them, or as many as leave most of the time for other inputs."""
    found = seeds(name)
    return found if is_cheap(name) else random.sample(found, min(len(found), SEEDS * seconds))


def mutate(name: str, seconds: int, check: Callable[[bytes], None]) -> None:
    """Fuzzes by mutation alone, of seeds and of words."""
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
