"""The build backend: that of setuptools, behind two questions that are to be answered before anything is downloaded.

Is this Python new enough (pip asks a project for its metadata, and so for its backend, before it knows), and can a
native core be built here at all? Where it cannot, or where the C is there already (``turnwire_c``), Cython is not asked
for. This file runs on Pythons that are too old.
"""

import os
import shlex
import shutil
import sys
import sysconfig

OLDEST = (3, 11)
SETUPTOOLS, CYTHON = "setuptools>=80", "Cython>=3.2"

if sys.version_info < OLDEST:
    found = "this is {}.{}.{} ({})".format(*sys.version_info[:3], sys.executable)
    sys.exit("turnwire needs Python {}.{} or newer; {}".format(*OLDEST, found))

import turnwire_c  # noqa: E402


def is_set(name):
    """True if a switch of the environment is on."""
    return os.environ.get(name, "") not in ("", "0")


def lack():
    """The lack of a native core here, in words that follow "not compiled: "; None if nothing is missing."""
    if is_set("TURNWIRE_SKIP_NATIVE"):
        return "TURNWIRE_SKIP_NATIVE was set when built, as for the pure wheel"
    if sys.platform == "win32":
        return None  # where the compiler stands there is known to setuptools alone
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    if shutil.which(compiler[0]) is None:
        return "no C compiler when installed"
    if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
        return "no headers of Python when installed (Debian and Ubuntu: apt install python3-dev)"
    return None


def clang_cl():
    """The compiler that takes the place of Microsoft's on Windows, which vectorizes nothing; None: it is not there."""
    return shutil.which(os.environ.get("CC") or "clang-cl")


def _translating():
    """The requirements for having the C: Cython, but in an sdist, which carries it."""
    return [SETUPTOOLS] if turnwire_c.fits() else [SETUPTOOLS, CYTHON]


def _needed():
    wanted = lack() is None or is_set("TURNWIRE_REQUIRE_NATIVE")
    return _translating() if wanted else [SETUPTOOLS]


def get_requires_for_build_wheel(config_settings=None):
    """The requirements of a wheel built here."""
    return _needed()


def get_requires_for_build_editable(config_settings=None):
    """The requirements of building in place."""
    return _needed()


def get_requires_for_build_sdist(config_settings=None):
    """The requirements of an sdist: it carries the C, but nothing is compiled."""
    return _translating()


def __getattr__(name):
    """The other hooks are those of setuptools, which is there once they are asked for.

    Tools look up hooks that a backend may lack, also before that.
    """
    if name.startswith("__"):
        raise AttributeError(name)
    try:
        from setuptools import build_meta
    except ImportError:
        raise AttributeError(name) from None
    return getattr(build_meta, name)


if __name__ == "__main__":
    if is_set("TURNWIRE_PURE"):
        sys.exit(0)
    missing = lack()
    if missing is not None:
        hint = "Debian and Ubuntu: apt install gcc python3-dev. Without a native core: TURNWIRE_PURE=1 make demo"
        sys.exit("turnwire cannot compile its native core: {}. {}".format(missing.replace(" when installed", ""), hint))
