"""``python -m tests.fuzz.several SECONDS [TARGET ...]``: fuzzes targets, as many at a time as there are processors.

turnwire is loaded once: each target is a process that is forked from there."""

from __future__ import annotations

import io
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path

from tests.fuzz.running import FOLDER, fuzz, loaded
from tests.fuzz.targets import TARGETS


def forked(run: Callable[[], None], log: Path) -> int:
    """The number of a process that runs this and writes to ``log``."""
    sys.stdout.flush()
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        with log.open("wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout = sys.stderr = open(1, "w", encoding="utf-8", errors="replace", closefd=False)  # noqa: SIM115
        run()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        os._exit(code)


def told(target: str, code: int, text: str) -> None:
    """Says how a target went; all that it wrote where it found something."""
    runs = re.search(r"executed_units: (\d+)$|: (\d+) runs$", text, re.MULTILINE)
    print(
        f"{target:16}{runs[runs.lastindex or 0] if runs else '?':>10} runs{'' if code == 0 else '  FAILED'}", flush=True
    )
    if code:
        print(text)


def run(targets: Sequence[str], seconds: int) -> int:
    """Fuzzes each in a process of its own, and tells; how many found something."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with redirect_stderr(io.StringIO()):  # atheris names each module that it instruments
        cores = loaded()
    waiting, running, found = list(targets), dict[int, str](), 0
    while waiting or running:
        while waiting and len(running) < (os.cpu_count() or 1):
            target = waiting.pop(0)
            log = FOLDER / f"{target}.log"
            running[forked(lambda name=target: fuzz(name, seconds, *cores), log)] = target  # type: ignore[misc]
        process, status = os.wait()
        target = running.pop(process)
        code = os.waitstatus_to_exitcode(status)
        told(target, code, (FOLDER / f"{target}.log").read_text("utf-8", "replace"))
        found += code != 0
    return found


def main(seconds: str, *targets: str) -> int:
    """Fuzzes, a line for each target, and all that a target wrote which found something; the exit code."""
    unknown = [name for name in targets if name not in TARGETS]
    if unknown:
        print(f"no target is called {', '.join(unknown)}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    found = run(targets or list(TARGETS), int(seconds))
    print(f"{found} targets found something" if found else "nothing was found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
