"""Builds the native core; without a compiler the package installs pure (see ``turnwire info``)."""

import os
import sys

from setuptools import Extension, setup

MODULES = ("base62", "canonical", "json_text", "nslip", "sap")
REQUIRED = os.environ.get("TURNWIRE_REQUIRE_NATIVE", "") not in ("", "0")


def extensions() -> list[Extension]:
    if os.environ.get("TURNWIRE_SKIP_NATIVE", "") not in ("", "0"):
        return []
    from Cython.Build import cythonize

    modules = [
        Extension(
            f"turnwire._native.{stem}",
            [f"_native/{stem}.pyx"],
            include_dirs=["."],
            extra_compile_args=[] if sys.platform == "win32" else ["-O3"],
        )
        for stem in MODULES
    ]
    built = cythonize(
        modules,
        include_path=["."],
        build_dir="build",
        compiler_directives={
            "language_level": 3,
            "embedsignature": True,
            "autotestdict": False,
            "boundscheck": False,
            "wraparound": False,
            "cdivision": True,
            "freethreading_compatible": True,
        },
    )
    for module in built:
        module.optional = not REQUIRED  # cythonize drops the flag of the modules it is given
    return built


setup(ext_modules=extensions())
