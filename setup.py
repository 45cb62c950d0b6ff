"""Builds the native core. Everything else about the package stands in pyproject.toml.

The compiler is optional: when one module cannot be built, none is installed and the package works in pure Python; why
is kept in the file NOT_COMPILED beside the modules, for ``turnwire info``. Environment:

TURNWIRE_REQUIRE_NATIVE=1   a module that cannot be built is an error (CI, and ``make build``)
TURNWIRE_SKIP_NATIVE=1      build nothing native
TURNWIRE_SANITIZE=LIST      build with ``-fsanitize=LIST``, e.g. ``address,undefined``, with the lines of code
TURNWIRE_QUICK=1            build with -O0, in a third of the time: for tests of what does not depend on how the code is
                            compiled
"""

import os
import re
import shutil
import subprocess
import sys
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "_build"))
import turnwire_c
import turnwire_powers
from turnwire_build import clang_cl, is_set, lack

SOURCES = tuple(sorted(path.replace(os.sep, "/") for path in glob("_native/*/*.pyx")))
"""``_native/json/text.pyx`` becomes ``turnwire._native.json.text``."""
REQUIRED = is_set("TURNWIRE_REQUIRE_NATIVE")
SKIPPED = is_set("TURNWIRE_SKIP_NATIVE")
QUICK = is_set("TURNWIRE_QUICK")
SANITIZE = os.environ.get("TURNWIRE_SANITIZE", "")
C_DIR = "build"
"""Cython writes the C here, which is the same whatever it is compiled with."""
BUILD_DIR = f"{C_DIR}/sanitize-{SANITIZE.replace(',', '-')}" if SANITIZE else f"{C_DIR}/quick" if QUICK else C_DIR
WHY_NOT = os.path.join("turnwire", "_native", "NOT_COMPILED")
"""Says why there are no compiled modules, below the folder that modules are built into."""
SHARED = "turnwire._native.cython_shared"
"""The parts that Cython would write into every module (memory views, functions, fused types), compiled once for all."""
NAMED = re.compile(
    r"""^[ \t]*\#?[ \t]*(?:include|cdef[ \t]+extern[ \t]+from)[ \t]+["']([^"']+)["']  # a header, or a part of a module
      | ^[ \t]*(?:from|cimport)[ \t]+(_native[\w.]+)  # the declarations of another folder""",
    re.MULTILINE | re.VERBOSE,
)
DIRECTIVES = {
    "language_level": 3,
    "embedsignature": True,
    "autotestdict": False,
    "auto_pickle": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "emit_code_comments": False,  # the source beside each line, which the compiler would read
}
HOTTEST = {
    f"turnwire._native.{name}"
    for name in ("nslip.codec", "csp.codec", "json.codec", "log.search", "log.aggregate", "log.arrow", "common.door")
}
"""Modules that cost 3 % or more at less than -O3, by instructions of scans, of files to Arrow and of messages."""
ANNOTATED = {"turnwire._native.nslip.codec"}
"""Those with public classes: made as Python makes its own, these have ``__annotations__``, which no static type has."""
INLINED = (
    *("-O1", "-finline-functions", "-finline-small-functions", "-fpartial-inlining", "-fipa-sra", "-fthread-jumps"),
    *("-foptimize-sibling-calls", "-fcaller-saves", "-ftree-vectorize", "-fvect-cost-model=dynamic"),
    *(f"--param={name}" for name in ("max-inline-insns-auto=30", "max-inline-insns-single=200")),
    *(f"--param={name}" for name in ("early-inlining-insns=14", "inline-min-speedup=15")),
)
"""GCC's way for the other modules: -O1, and of -O3 what makes it quick, for two thirds of the time of compiling."""


def flags() -> tuple[list[str], list[str]]:
    """Arguments of the compiler and of the linker."""
    if sys.platform == "win32":
        return ["/O2"], []
    if SANITIZE:
        chosen = [f"-fsanitize={SANITIZE}"]
        level = "-O0" if QUICK else "-O1"
        return [*chosen, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g1", level], chosen
    strip = {"linux": ["-Wl,-s"], "darwin": ["-Wl,-S,-x"]}.get(sys.platform, [])
    return [
        "-O0" if QUICK else "-O3",
        "-g0",
    ], strip  # debug information of code that no debugger sees costs a quarter of the time


def is_gcc(command: list[str]) -> bool:
    """True if a command compiles with GCC, by the names that it has of itself: clang is called gcc and cc, too."""
    asked = [*command, "-E", "-dM", "-x", "c", os.devnull]
    names = subprocess.run(asked, capture_output=True, text=True, check=False).stdout
    return "__GNUC__" in names and "__clang__" not in names


def needed(source: str) -> list[str]:
    """The other files of ``_native`` that a module is made of: what it includes and cimports, and what those do."""
    found = [source]
    for path in found:  # which grows meanwhile
        with open(path, encoding="utf-8") as file:
            text = file.read()
        for name, module in NAMED.findall(text):
            name = name or f"{module.replace('.', '/')}.pxd"
            beside = os.path.normpath(os.path.join(os.path.dirname(path), name)).replace(os.sep, "/")
            found += [place for place in (beside, name) if place not in found and os.path.isfile(place)]
    return sorted(found[1:])


def extensions() -> list[Extension]:
    """The modules by their Cython sources: Cython itself is asked for when they are built."""
    turnwire_powers.write()
    compile_args, link_args = flags()
    named = {f"turnwire.{source[: -len('.pyx')].replace('/', '.')}": source for source in SOURCES}
    modules = [
        Extension(
            name,
            [source],
            include_dirs=["."],
            depends=needed(source),
            define_macros=[("CYTHON_USE_TYPE_SPECS", "1")] if name in ANNOTATED else [],
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            optional=not REQUIRED,
        )
        for name, source in named.items()
    ]
    modules.append(
        Extension(
            SHARED,
            [turnwire_c.SHARED],  # which Cython writes into the folder of what is built
            extra_compile_args=compile_args,
            extra_link_args=link_args,
            optional=not REQUIRED,
        )
    )
    return modules


def translate(modules: list[Extension]) -> None:
    """Makes the C of the modules their sources: what an sdist carries where it fits, or else what Cython writes."""
    if turnwire_c.take(C_DIR):
        for module, name in zip(modules, turnwire_c.names(), strict=True):
            module.sources = [f"{C_DIR}/{name}"]
        return
    from Cython.Build import cythonize

    for module, source in zip(modules, SOURCES, strict=False):
        module.sources = [source]  # setuptools has written .c here where it came before Cython
    generated = glob(f"{C_DIR}/_native/*/*.c")
    written = cythonize(
        modules,
        include_path=["."],
        build_dir=C_DIR,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        quiet="--quiet" in sys.argv,
        force=any(os.path.getmtime(path) < os.path.getmtime(__file__) for path in generated),  # directives may differ
    )
    turnwire_c.mend(C_DIR)
    made = {module.name: module for module in written}
    for module in modules:
        for name in ("sources", "depends", "define_macros", "include_dirs", "language"):
            setattr(module, name, getattr(made[module.name], name))


def keep_why(folder: str, why: str | None) -> None:
    """Write why there are no compiled modules into the package below ``folder``; None: there are."""
    place = os.path.join(folder, WHY_NOT)
    if why is not None:
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as file:
            file.write(f"{why}\n")
    elif os.path.exists(place):
        os.remove(place)


class BuildPython(build_py):
    """Without extensions there is no build_ext to keep why. What stands in place keeps the modules that it has."""

    def run(self) -> None:
        super().run()
        if SKIPPED and not self.editable_mode:
            keep_why(self.build_lib, lack())


class SourceDistribution(sdist):
    """Carries the C, too, and what it was made of in one digest."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        super().make_release_tree(base_dir, files)
        translate(extensions())
        turnwire_c.carry(C_DIR, base_dir)


class BuildNative(build_ext):
    """Builds modules side by side, and keeps all of them or none: a half-native package would not import."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def run(self) -> None:
        self.why = None if REQUIRED else lack()
        modules = self.extensions or []
        if self.why is None and modules:
            translate(modules)
            super().run()
        if self.why is not None:
            self.warn(f"turnwire is installed in pure Python, many times slower; not compiled: {self.why}")
            for module in modules:
                self.remove(module.name)
        keep_why("src" if self.inplace else self.build_lib, self.why)

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            self.remove(ext.name)  # one of an earlier build must not stand in for it
            raise

    def build_extensions(self) -> None:
        if not QUICK and not SANITIZE and self.compiler.compiler_type == "unix" and is_gcc(self.compiler.compiler_so):
            for module in self.extensions:
                if module.name not in HOTTEST:
                    module.extra_compile_args = [*INLINED, *module.extra_compile_args[1:]]
        cache = shutil.which("ccache")
        if cache and self.compiler.compiler_type == "unix":
            self.compiler.compiler_so = [cache, *self.compiler.compiler_so]
        clang = clang_cl()
        if clang and self.compiler.compiler_type == "msvc":  # which knows of no other compiler than cl.exe
            if not self.compiler.initialized:
                self.compiler.initialize()
            self.compiler.cc = clang
        super().build_extensions()
        names = [module.name for module in self.extensions]
        missing = [name for name in names if not os.path.exists(self.get_ext_fullpath(name))]
        if missing:
            for name in names:
                self.remove(name)
            more = "" if len(missing) == 1 else f" and {len(missing) - 1} more"
            self.why = f"the C compiler failed when installed ({missing[0]}{more})"

    def remove(self, name: str) -> None:
        path = self.get_ext_fullpath(name)
        if os.path.exists(path):
            os.remove(path)


setup(
    ext_modules=[] if SKIPPED else extensions(),
    cmdclass={"build_ext": BuildNative, "build_py": BuildPython, "sdist": SourceDistribution},
    options={"build": {"build_base": BUILD_DIR}},
)
