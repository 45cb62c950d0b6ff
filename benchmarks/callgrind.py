"""Counts instructions with valgrind's callgrind: figures that repeat, however busy the machine is."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MARK = "getppid"
"""The function of the C library at whose calls callgrind writes down what it counted: nothing else here calls it."""


def mark() -> None:
    """What was counted since the last mark ends here."""
    os.getppid()


def counted(source: Path, *command: str) -> list[int]:
    """Instructions of a Python script up to each mark and behind the last one, in order.

    source: the folder whose ``turnwire`` the script imports; command: the script and its arguments.
    """
    environment = os.environ | {
        "PYTHONPATH": str(source.resolve()),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "TURNWIRE_PURE": "0",
    }
    with TemporaryDirectory() as folder:
        out = Path(folder) / "counted"
        options = ["--tool=callgrind", f"--dump-before={MARK}", "--combine-dumps=yes", f"--callgrind-out-file={out}"]
        done = subprocess.run(
            ["valgrind", *options, sys.executable, *command],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{Path(command[0]).name} under valgrind ended with {done.returncode}:\n{done.stderr}")
        return [int(found) for found in re.findall(r"^totals: (\d+)$", out.read_text(), re.MULTILINE)]
