"""Builds the native core. Everything else about the package stands in pyproject.toml.

The compiler is optional: when one module cannot be built, none is installed and the package works in pure Python
(``turnwire info`` says so). Environment:

TURNWIRE_REQUIRE_NATIVE=1   a module that cannot be built is an error (CI, and ``make build``)
TURNWIRE_SKIP_NATIVE=1      build nothing native
TURNWIRE_SANITIZE=LIST      build with ``-fsanitize=LIST``, e.g. ``address,undefined``, with debug information
"""

import os
import re
import shutil
import sys
from glob import glob

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

SOURCES = tuple(sorted(path.replace(os.sep, "/") for path in glob("_native/*/*.pyx")))
"""``_native/json/text.pyx`` becomes ``turnwire._native.json.text``."""
REQUIRED = os.environ.get("TURNWIRE_REQUIRE_NATIVE", "") not in ("", "0")
SKIPPED = os.environ.get("TURNWIRE_SKIP_NATIVE", "") not in ("", "0")
SANITIZE = os.environ.get("TURNWIRE_SANITIZE", "")
BUILD_DIR = f"build/sanitize-{SANITIZE.replace(',', '-')}" if SANITIZE else "build"
SHARED = "turnwire._native.cython_shared"
"""What Cython would write into every module (memory views, functions, fused types), compiled once for all of them."""
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
    "freethreading_compatible": True,
}


def flags() -> tuple[list[str], list[str]]:
    """Arguments of the compiler and of the linker."""
    if sys.platform == "win32":
        return ["/O2"], []
    if SANITIZE:
        chosen = [f"-fsanitize={SANITIZE}"]
        return [*chosen, "-fno-sanitize-recover=undefined", "-fno-omit-frame-pointer", "-g", "-O1"], chosen
    return ["-O3", "-g0"], []  # debug information of code that no debugger sees costs a quarter of the time


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
    if SKIPPED:
        return []
    from Cython.Build import cythonize

    compile_args, link_args = flags()
    modules = [
        Extension(
            f"turnwire.{source[: -len('.pyx')].replace('/', '.')}",
            [source],
            include_dirs=["."],
            depends=needed(source),
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
        for source in SOURCES
    ]
    modules.append(
        Extension(
            SHARED,
            [f"{SHARED.rpartition('.')[2]}.c"],  # which Cython writes into the folder of what is built
            extra_compile_args=compile_args,
            extra_link_args=link_args,
        )
    )
    generated = glob(f"{BUILD_DIR}/_native/*/*.c")
    built: list[Extension] = cythonize(
        modules,
        include_path=["."],
        build_dir=BUILD_DIR,
        compiler_directives=DIRECTIVES,
        shared_utility_qualified_name=SHARED,
        quiet="--quiet" in sys.argv,
        force=any(os.path.getmtime(path) < os.path.getmtime(__file__) for path in generated),  # directives may differ
    )
    for module in built:
        module.optional = not REQUIRED  # cythonize drops the flag of the modules it is given
    return built


class BuildNative(build_ext):
    """Builds modules side by side, and keeps all of them or none: a half-native package would not import."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()

    def build_extension(self, ext: Extension) -> None:
        try:
            super().build_extension(ext)
        except Exception:
            self.remove(ext.name)  # one of an earlier build must not stand in for it
            raise

    def build_extensions(self) -> None:
        cache = shutil.which("ccache")
        if cache and self.compiler.compiler_type == "unix":
            self.compiler.compiler_so = [cache, *self.compiler.compiler_so]
        super().build_extensions()
        names = [module.name for module in self.extensions]
        missing = [name for name in names if not os.path.exists(self.get_ext_fullpath(name))]
        if missing:
            for name in names:
                self.remove(name)
            self.warn(f"could not compile {', '.join(missing)}; turnwire is installed in pure Python (slower)")

    def remove(self, name: str) -> None:
        path = self.get_ext_fullpath(name)
        if os.path.exists(path):
            os.remove(path)


setup(ext_modules=extensions(), cmdclass={"build_ext": BuildNative}, options={"build": {"build_base": BUILD_DIR}})
