"""Builds one core that has all faults, each behind a switch (``switches.py``), with the code for AVX-512 emulated."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.emulated import build
from tests.planting.__main__ import made_of
from tests.planting.faults import ROOT, Fault, headers
from tests.planting.switches import CHOSEN, NOTES, VARIABLE, Writing, located, numbered, written

FOLDER = ROOT / "build" / "switched"
NOTED = 1 << 16
"""Bytes of notes, one for each fault."""
WATCHED_FOLDER = ROOT / "build" / "watched"
LIBRARY = "planted.so"
ATTEMPTS = 30
"""How often what the compiler refuses is left out, a few faults at a time."""


def faults() -> dict[str, list[tuple[int, Fault]]]:
    """All faults, with their numbers, by header."""
    return numbered(headers())


SHARED = f"""
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
int {VARIABLE};
static unsigned char none[{NOTED}];
unsigned char *{NOTES} = none;
__attribute__((constructor)) static void begin(void)
{{
    const char *name = getenv("TURNWIRE_NOTES");
    int file = name ? open(name, O_RDWR) : -1;
    void *memory = file < 0 ? MAP_FAILED : mmap(NULL, sizeof none, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (memory != MAP_FAILED) {NOTES} = memory;
    if (file >= 0) close(file);
}}
"""
"""The library that all modules share. The file TURNWIRE_NOTES (NOTED bytes) has what all processes note."""


def made(folder: Path, how: Writing = CHOSEN) -> set[int]:
    """Builds the tree; the numbers of the faults that are in it, which its file ``built`` has, too."""
    build.build(folder, compiled=False)
    every = faults()
    (folder / "planted.c").write_text(SHARED, "ascii")
    subprocess.run(["cc", "-shared", "-fPIC", "planted.c", "-o", LIBRARY], cwd=folder, check=True)
    shared = f"extern int {VARIABLE};\nextern unsigned char *{NOTES};\n"
    (folder / "planted.h").write_text(f'#include "{build.HERE}"\n{shared}', "ascii")
    for attempt in range(ATTEMPTS):
        for header, known in every.items():
            text = written((ROOT / header).read_text("utf-8"), located(header, known), how)
            (folder / header).write_text(build.emulated(text), "utf-8")
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            told = set().union(*pool.map(lambda name: refused(name, folder), made_of()))
        if not told:
            found = compiled(folder)
            (folder / "built").write_text(",".join(map(str, sorted(found))), "ascii")
            return found
        print(f"attempt {attempt + 1}: the compiler refuses something in {len(told)} lines", flush=True)
        for header, known in every.items():
            every[header] = [one for one in known if (header, one[1].line) not in told]
    raise RuntimeError("the compiler refuses the core with switches, whatever is left out")


def built(folder: Path) -> set[int]:
    """The numbers of the faults in a tree."""
    return set(map(int, (folder / "built").read_text("ascii").split(",")))


def compiled(folder: Path) -> set[int]:
    """The numbers of the faults that are in what the preprocessor leaves: not those for another processor."""
    found = rb"\b%s(?: == |\[)(\d+)" % f"(?:{VARIABLE}|{NOTES})".encode()
    texts = (
        subprocess.run([*build.command(name, folder, first="planted.h")[:-2], "-E"], cwd=folder, capture_output=True)
        for name in made_of()
    )
    return {int(number) for text in texts for number in re.findall(found, text.stdout)}


def refused(name: str, folder: Path) -> set[tuple[str, int]]:
    """Compiles a module; the lines of headers with which that failed."""
    library = (str(folder.resolve() / LIBRARY), f"-Wl,-rpath,{folder.resolve()}")
    command = build.command(name, folder, *library, first="planted.h")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return set()
    found = re.findall(r"(_native/[\w/]+\.h):(\d+):\d+: (?:error|note)", done.stderr)
    if not found:
        raise RuntimeError(f"{name} cannot be compiled: {done.stderr[-3000:]}")
    return {(header, int(line)) for header, line in found}


def planted(number: int) -> None:
    """From now on the core of this process has the fault of this number; 0: none."""
    ctypes.c_int.in_dll(ctypes.CDLL(str(FOLDER / LIBRARY)), VARIABLE).value = number
