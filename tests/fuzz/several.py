"""``python -m tests.fuzz.several SECONDS [TARGET ...]``: fuzzes targets, as many at a time as there are cores."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

from tests.fuzz.targets import TARGETS


def run(target: str, seconds: str) -> tuple[str, int, str]:
    """Fuzzes one in a process of its own: its name, the exit code, what it wrote."""
    command = [sys.executable, "-m", "tests.fuzz", target, seconds]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return target, done.returncode, done.stdout.decode("utf-8", "replace")


def main(seconds: str, *targets: str) -> int:
    """Fuzzes, a line for each target, and all that a target wrote which found something; the exit code."""
    unknown = [name for name in targets if name not in TARGETS]
    if unknown:
        print(f"no target is called {', '.join(unknown)}; there are {', '.join(TARGETS)}", file=sys.stderr)
        return 2
    found = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for target, code, text in pool.map(lambda name: run(name, seconds), targets or TARGETS):
            runs = re.search(r"(?:executed_units: |: )(\d+)(?: runs)?$", text, re.MULTILINE)
            print(f"{target:16}{runs[1] if runs else '?':>10} runs{'' if code == 0 else '  FAILED'}", flush=True)
            if code:
                found += 1
                print(text)
    print(f"{found} targets found something" if found else "nothing was found")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
