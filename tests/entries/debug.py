"""The native core for a debug interpreter, which counts every reference there is: `make test-references`.

    python -m tests.entries.debug python3.11d build/debug

Compiles the C that Cython wrote with the headers of that interpreter, so that references that the core takes and gives
back count, too, and goes 10,000 rounds of the calls of each entry, good and refused ones. The interpreter is of the
same version as the one that the environment was made with; the packages of that environment are used as they are.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROUNDS = 10_000
SHARED = "cython_shared.c"
"""What all modules share: Cython writes it beside the rest."""
ASKED = "import sysconfig; print(sysconfig.get_config_var('EXT_SUFFIX')); print(sysconfig.get_path('include'))"


def build(interpreter: str, folder: Path) -> Path:
    """The tree ``folder/site`` with the package and its core for that interpreter; compiles what is old."""
    suffix, include = subprocess.run(
        [interpreter, "-c", ASKED], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    site = folder / "site"
    left_out = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "src" / "turnwire", site / "turnwire", ignore=left_out, dirs_exist_ok=True)
    generated = ROOT / "build" / "_native"
    places = {source: source.relative_to(generated) for source in sorted(generated.rglob("*.c"))}
    for source, place in {ROOT / "build" / SHARED: Path(SHARED), **places}.items():
        target = site / "turnwire" / "_native" / place.with_suffix(suffix)
        if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
            continue
        options = ["-shared", "-fPIC", "-O1", "-w", "-I.", f"-I{include}"]
        subprocess.run(["cc", *options, str(source), "-o", str(target)], cwd=ROOT, check=True)
    return site


def main(interpreter: str, folder: Path) -> int:
    """Builds and counts; the exit code."""
    site = build(interpreter, folder)
    path = os.pathsep.join([str(site), str(ROOT), sysconfig.get_path("purelib")])
    environment = {**os.environ, "PYTHONPATH": path, "TURNWIRE_PURE": "0"}
    return subprocess.run([interpreter, "-m", "tests.entries.counting", str(ROUNDS)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], Path(sys.argv[2])))
