"""Counts instructions with valgrind's callgrind: figures that repeat, however busy the machine is."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

MARK = "getppid"
"""The function of the C library at whose calls callgrind writes down what it counted: nothing else here calls it."""


BEGIN = "#include <valgrind/callgrind.h>\nvoid begin(void) { CALLGRIND_START_INSTRUMENTATION; }\n"
LIBRARY = "TURNWIRE_COUNTING"
"""The variable that names a library with ``begin``: what runs before that is not counted, in a tenth of the time."""


def begin() -> None:
    """Counting begins here: what is imported is."""
    ctypes.CDLL(os.environ[LIBRARY]).begin()


def mark() -> None:
    """Ends the part that is counted since the last mark."""
    os.getppid()


def counted(source: Path, *command: str) -> list[int]:
    """Instructions of a Python script from ``begin`` to each mark and behind the last one, in order.

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
        out, library = Path(folder) / "counted", Path(folder) / "begin.so"
        compiler = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", str(library)]
        subprocess.run(compiler, input=BEGIN, text=True, check=True)
        environment[LIBRARY] = str(library)
        options = [
            "--tool=callgrind",
            "--instr-atstart=no",
            f"--dump-before={MARK}",
            "--combine-dumps=yes",
            f"--callgrind-out-file={out}",
        ]
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
