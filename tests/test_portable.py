"""Compilers: what is theirs is in one header, and wide vectors in a second; each compiles the core without a warning.

So does one that is unknown.
"""

from __future__ import annotations

import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
NATIVE = ROOT / "_native"
POWERS = ROOT / "_build" / "turnwire_powers.py"
"""Makes a header, which is there only where the native core was built."""
SOURCES = sorted(path for path in NATIVE.rglob("*") if path.suffix in (".h", ".pyx", ".pxd", ".pxi"))
MODULES = [path for path in SOURCES if path.suffix == ".pyx"]
WARNINGS = ("-std=c11", "-Wall", "-Wextra", "-Wno-unused-function", "-Wno-unused-parameter", "-Werror")
"""Functions of a header that one module uses and another does not are no fault."""
COMPILERS = {"gcc": ("gcc",), "clang": ("clang",), "plain C": ("gcc", "-DTW_PLAIN_C", "-pedantic")}
BY_HAND = ("gcc", "-DTW_ASK_BY_HAND")
pytestmark = pytest.mark.once


def headers(module: Path) -> list[str]:
    """The headers that a module asks for, in its order; those of the parts it includes, too."""
    found: list[str] = []
    for kind, quoted, package in re.findall(
        r'^(?:cdef extern from|(include)) "([^"]+)"|^from (_native[\w.]+) cimport',
        module.read_text("utf-8"),
        re.MULTILINE,
    ):
        if kind:
            found += headers(ROOT / quoted if (ROOT / quoted).is_file() else module.parent / quoted)
        elif package:
            found += headers(ROOT / f"{package.replace('.', '/')}.pxd")
        else:
            found.append(quoted)
    return [name for name in dict.fromkeys(found) if name.endswith(".h")]


def compiler(command: tuple[str, ...]) -> list[str]:
    found = shutil.which(command[0])
    if found is None:
        pytest.skip(f"there is no {command[0]} here")
    return [found, *command[1:]]


def built(command: list[str], source: str, folder: Path) -> str:
    """The output of a program in C."""
    (folder / "a.c").write_text(source, "utf-8")
    subprocess.run([*command, *WARNINGS, f"-I{ROOT}", folder / "a.c", "-o", folder / "a"], check=True, timeout=600)
    return subprocess.run([folder / "a"], capture_output=True, text=True, check=True, timeout=300).stdout


def checked(command: list[str], units: list[tuple[str, ...]], folder: Path) -> None:
    """Compiles a file for each unit, which includes these headers, to nothing; raises at the first warning.

    What is dear in all of them, the header of the compilers with the vectors of theirs (and what the first unit begins
    with, if it is Python's), is compiled before and once. That each module compiles without that is seen by the build.
    """
    base = [name for name in ("Python.h",) if all(names[0] == name for names in units)]
    (folder / "base.h").write_text("".join(f'#include "{name}"\n' for name in (*base, "_native/common/wide.h")))
    of_gcc = Path(command[0]).name == "gcc"
    options = [*command, *WARNINGS, f"-I{ROOT}", "-I."]
    (folder / "powers_of_ten.h").write_text(runpy.run_path(str(POWERS))["text"](), "utf-8")
    compiled = "base.h.gch" if of_gcc else "base.h.pch"
    subprocess.run([*options, "-x", "c-header", "base.h", "-o", compiled], check=True, cwd=folder, timeout=600)
    first = '#include "base.h"\n' if of_gcc else ""
    files = [f"{at}.c" for at in range(len(units))]
    for file, names in zip(files, units, strict=True):
        lines = "".join(f'#include "{name}"\n' for name in names)
        (folder / file).write_text(f"{first}{lines}extern int something;\n", "utf-8")
    before = [] if of_gcc else ["-include-pch", compiled]
    subprocess.run([*options, *before, "-fsyntax-only", *files], check=True, cwd=folder, timeout=600)


@pytest.mark.parametrize("name", COMPILERS)
def test_the_headers_of_each_module_compile_without_a_warning(name: str, tmp_path: Path) -> None:
    command = compiler(COMPILERS[name])
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        pytest.skip("there are no headers of Python here")
    wanted = {tuple(headers(module)) for module in MODULES} - {()}
    assert len(wanted) >= 10
    checked([*command, "-isystem", include], [("Python.h", *names) for names in sorted(wanted)], tmp_path)


BITS = """
#include <stdio.h>
#include "_native/common/portable.h"

int main(void)
{
    uint64_t word = 88172645463325252ull;
    int64_t count = 5;
    for (int turn = 0; turn < 300; turn++) {
        uint64_t one = (turn % 3 ? word >> (turn % 64) : (uint64_t)1 << (turn % 64));
        if (turn % 5 == 0) one |= (uint64_t)1 << 63;
        if (!one) one = 1;
        printf("%d %d %d %d %llx\\n", tw_low_zeros_32((uint32_t)one | 1u << 31), tw_low_zeros(one), tw_high_zeros(one),
               tw_ones_64(one), (unsigned long long)tw_swapped(one));
        word ^= word << 13, word ^= word >> 7, word ^= word << 17;
    }
    printf("%d %d", tw_ones_64(0), tw_ones_64(~(uint64_t)0));
    printf(" %d", (int)tw_add_counted(&count, -2));
    printf(" %d", (int)count);
    return 0;
}
"""


def test_bits_are_counted_alike_in_plain_c(tmp_path: Path) -> None:
    plain = built(compiler(COMPILERS["plain C"]), BITS, tmp_path)
    assert plain == built(compiler(COMPILERS["gcc"]), BITS, tmp_path)
    assert plain.endswith("0 64 3 3")
    words = [line.split() for line in plain.splitlines()[:-1]]
    assert len(words) == 300
    for low_32, low, high, ones, swapped in words:
        word = int.from_bytes(int(swapped, 16).to_bytes(8, "little"), "big")
        assert int(low) == (word & -word).bit_length() - 1
        assert (int(high), int(ones)) == (64 - word.bit_length(), word.bit_count())
        half = word & 0xFFFFFFFF | 1 << 31
        assert int(low_32) == (half & -half).bit_length() - 1


FEATURES = ["ssse3", "sse4.1", "popcnt", "pclmul", "avx2", "bmi", "bmi2"]


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="asks an x86-64")
def test_the_processor_says_the_same_when_it_is_asked_by_hand(tmp_path: Path) -> None:
    """As it is asked on Windows, where the compiler's own answer needs a library that is not linked with."""
    asked = "".join(f'    printf("%d ", TW_PROCESSOR_HAS("{name}"));\n' for name in FEATURES)
    program = (
        f'#include <stdio.h>\n#include "_native/common/portable.h"\nint main(void)\n{{\n{asked}    return 0;\n}}\n'
    )
    by_hand = built(compiler(BY_HAND), program, tmp_path)
    assert by_hand == built(compiler(COMPILERS["gcc"]), program, tmp_path)
    assert len(by_hand.split()) == len(FEATURES)


@pytest.mark.skipif(sys.platform != "linux", reason="the vectors of Linux's headers")
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_clang_takes_it_for_windows_as_far_as_headers_go(machine: str, tmp_path: Path) -> None:
    """Those of the C library and of Python are not here: only what includes neither them nor names of them."""
    clang = compiler(COMPILERS["clang"])
    (tmp_path / "string.h").write_text(
        "#include <stddef.h>\nvoid *memcpy(void *, const void *, size_t);\nvoid *memset(void *, int, size_t);\n"
        "int memcmp(const void *, const void *, size_t);\nvoid *memchr(const void *, int, size_t);\n"
        "size_t strlen(const char *);\nchar *strchr(const char *, int);\nint strcmp(const char *, const char *);\n"
        "void *memmove(void *, const void *, size_t);\nvoid *memrchr(const void *, int, size_t);\n",
        "utf-8",
    )
    (tmp_path / "stdlib.h").write_text(
        "#include <stddef.h>\nvoid *malloc(size_t);\nvoid *realloc(void *, size_t);\nvoid *calloc(size_t, size_t);\n"
        "void free(void *);\n",
        "utf-8",
    )
    wanted = {tuple(headers(module)) for module in MODULES} - {()}
    with_python = {names for names in wanted if any(includes(ROOT / name, set(), "Python.h") for name in names)}
    free_standing = sorted(wanted - with_python)
    assert len(free_standing) >= 8
    target = (f"--target={machine}-pc-windows-msvc", "-ffreestanding", "-isystem", str(tmp_path))
    checked([*clang, *target], free_standing, tmp_path)


def includes(path: Path, seen: set[Path], wanted: str) -> bool:
    """True if a header is this one, or includes it, or one that does."""
    if path in seen or not path.is_file():
        return path.name == wanted
    seen.add(path)
    names = re.findall(r'^#\s*include [<"]([^">]+)', path.read_text("utf-8"), re.MULTILINE)
    places = [path.parent / name if (path.parent / name).is_file() else ROOT / name for name in names]
    return any(place.name == wanted or includes(place, seen, wanted) for place in places)
