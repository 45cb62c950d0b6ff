"""Builds the native modules that have code for AVX-512 with ``avx512.h`` in place of the processor: a tree of its own.

    python tests/emulated/build.py build/emulated

Takes what ``make build`` compiled as it is, and compiles anew, quickly, only the modules that include such code, from
the C that Cython wrote then. Their headers are copied, with ``target("avx512...")`` and the questions whether the
processor can do it turned into AVX2's: the code is the same, line by line, and only its intrinsics are other functions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "_native"
QUOTED = re.compile(r'"[^"\n]*\bavx512[^"\n]*"')
"""What a function is compiled for, and what the processor is asked for."""
HERE = "avx512.h"


def includes(path: Path, seen: set[Path]) -> set[Path]:
    """A file of ``_native`` and all files of it that it is made of."""
    if path in seen:
        return seen
    seen.add(path)
    text = path.read_text("utf-8")
    for name in re.findall(r'^\s*#?\s*(?:include|cdef extern from)\s+"([^"]+)"', text, re.MULTILINE):
        for place in (path.parent / name, ROOT / name):
            if place.is_file():
                includes(place.resolve(), seen)
    for name in re.findall(r"^\s*(?:from|cimport)\s+(_native[\w.]+)", text, re.MULTILINE):
        place = ROOT / f"{name.replace('.', '/')}.pxd"
        if place.is_file():
            includes(place, seen)
    return seen


def modules() -> list[str]:
    """The modules that have code for AVX-512: folder/stem."""
    found = []
    for source in sorted(NATIVE.glob("*/*.pyx")):
        if any("_mm512_" in path.read_text("utf-8") for path in includes(source.resolve(), set())):
            found.append(str(source.relative_to(NATIVE).with_suffix("")))
    return found


def emulated(header: str) -> str:
    """A header, compiled for AVX2 and asking for no more."""
    return QUOTED.sub(lambda found: re.sub(r"avx512\w*", "avx2", found[0]), header)


def build(folder: Path, *, compiled: bool = True) -> list[str]:
    """Builds the tree ``folder/site``; the modules that have code for AVX-512, which are compiled."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(
        ROOT / "src" / "turnwire", folder / "site" / "turnwire", ignore=shutil.ignore_patterns("__pycache__")
    )
    for header in NATIVE.rglob("*.h"):
        place = folder / header.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(emulated(header.read_text("utf-8")), "utf-8")
    shutil.copy(Path(__file__).parent / HERE, folder / HERE)
    names = modules()
    if compiled:
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda name: compile_one(name, folder), names))
    return names


def compile_one(name: str, folder: Path) -> None:
    """Compiles one module from the C that Cython wrote."""
    subprocess.run(command(name, folder), cwd=folder, check=True)


def command(name: str, folder: Path, *more: str, first: str = HERE) -> list[str]:
    """What compiles a module in ``folder``: with further options, and with the header that comes before all others."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    source = ROOT / "build" / "_native" / f"{name}.c"
    target = folder / "site" / "turnwire" / "_native" / f"{name}{suffix}"
    options = [
        "-shared",
        "-fPIC",
        "-O1",
        "-w",
        "-Wno-psabi",
        "-include",
        first,
        "-I.",
        f"-I{sysconfig.get_path('include')}",
    ]
    return ["cc", *options, str(source), *more, "-o", str(target.resolve())]


def levels(site: Path) -> str:
    """What the processor of a tree of modules says that it can run."""
    code = (
        "from turnwire._native.nslip import scan; from turnwire._native.json import lines;"
        "print('tokens', scan.SIMD + ', objects', lines.SIMD)"
    )
    environment = {**os.environ, "PYTHONPATH": str(site)}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout


def main(folder: Path) -> int:
    """Builds, and says which levels run on this processor and which are emulated; the exit code."""
    print("on this processor:", levels(ROOT / "src").strip())
    names = build(folder)
    emulated = levels(folder / "site").strip()
    print(f"emulated, {emulated} (at -O1: {', '.join(names)})")
    if emulated != "tokens avx512, objects avx512":
        print("the emulated core does not take its code for AVX-512: it needs a processor with AVX2", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
