"""Fuzzes both cores against each other: ``python -m tests.fuzz SECONDS [TARGET ...]``, as `make fuzz` does.

atheris makes the inputs, led by the coverage of the pure twin, or of a native core that was built for that
(TURNWIRE_FUZZ=native). Targets are run by as many processes at a time as there are processors; turnwire is loaded once
and each process forked from there, since loading takes 12 CPU seconds. What differs, or what raises what it should not,
is written to ``build/fuzz/TARGET-...``; so is what an address or undefined-behaviour check finds. ``--replay TARGET
FILE`` runs one such input again, ``--keep TARGET FILE`` takes it into ``tests/fuzz/corpus.jsonl``.
"""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

from tests.fuzz.cores import Core
from tests.fuzz.seeds import beginning, dictionary, keep
from tests.fuzz.targets import TARGETS, chosen, results

FOLDER = Path("build/fuzz")
LONGEST = 2048
"""Bytes of an input."""
SEEDS = 25
"""Inputs to begin with for each second: else a short run would try seeds and no others."""


def checker(target: str, native: Core, pure: Core) -> Callable[[bytes], None]:
    """Runs an input on both cores and raises for what they do not agree on."""

    def check(data: bytes) -> None:
        name, given = chosen(target, data)
        one, other = (results(name, [given], core) for core in (native, pure))
        if one != other:
            raise AssertionError(f"{name} on {given!r}\nnative: {one!r}\npure:   {other!r}")

    return check


def loaded(atheris: Any) -> tuple[Core, Core]:
    """The cores; what is to lead the inputs counts what it reaches."""
    native = Core("native")
    if os.environ.get("TURNWIRE_FUZZ") == "native":
        return native, Core("pure")
    with redirect_stderr(io.StringIO()), atheris.instrument_imports(include=["turnwire"]):  # each module is named
        return native, Core("pure")


def fuzz(target: str, seconds: int, atheris: Any, cores: tuple[Core, Core]) -> None:
    """Fuzzes a target in this process, which ends with it."""
    corpus = FOLDER / target
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(beginning(target, SEEDS * seconds)):
        (corpus / f"seed-{number}").write_bytes(data)
    words = FOLDER / f"{target}.words"
    words.write_text(dictionary(), "ascii")
    options = [f"-max_total_time={seconds}", f"-max_len={LONGEST}", f"-dict={words}", "-timeout=300"]
    options += [f"-artifact_prefix={FOLDER / target}-", "-print_final_stats=1", "-verbosity=0", "-rss_limit_mb=4096"]
    atheris.Setup([sys.argv[0], *options, str(corpus)], checker(target, *cores))
    atheris.Fuzz()


def forked(run: Callable[[], None], log: Path) -> int:
    """The number of a process that runs this and writes to ``log``."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        run()
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(1)


def several(targets: Sequence[str], seconds: int) -> int:
    """Fuzzes each in a process of its own, and says how it went; how many found something."""
    try:
        import atheris
    except ImportError:
        sys.exit("there is no atheris for this Python: pip install 'turnwire[fuzz]'")
    FOLDER.mkdir(parents=True, exist_ok=True)
    cores = loaded(atheris)
    waiting, running, found = list(targets), dict[int, str](), 0
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            target = waiting.pop(0)
            work = forked(lambda name=target: fuzz(name, seconds, atheris, cores), FOLDER / f"{target}.log")  # type: ignore[misc]
            running[work] = target
        process, status = os.wait()
        target = running.pop(process)
        text = (FOLDER / f"{target}.log").read_text("utf-8", "replace")
        runs = re.search(r"executed_units: (\d+)$", text, re.MULTILINE)
        print(f"{target:12}{runs[1] if runs else '?':>10} runs{'  FAILED' if status else ''}", flush=True)
        if status:
            print(text)
            found += 1
    print(f"{found} targets found something" if found else "nothing was found")
    return found


def main() -> int:
    """Reads the command; the exit code."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("seconds", type=int, nargs="?", default=60)
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []], help="all of them without it")
    parser.add_argument("--replay", nargs=2, metavar=("TARGET", "FILE"), help="run an input again")
    parser.add_argument("--keep", nargs=2, metavar=("TARGET", "FILE"), help="take an input into the tree")
    options = parser.parse_args()
    if options.replay:
        target, file = options.replay
        checker(target, Core("native"), Core("pure"))(Path(file).read_bytes())
        return 0
    if options.keep:
        target, file = options.keep
        keep(*chosen(target, Path(file).read_bytes()))
        return 0
    return 1 if several(options.targets or list(TARGETS), options.seconds) else 0


if __name__ == "__main__":
    sys.exit(main())
