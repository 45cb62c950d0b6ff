"""Any module can be imported first; compiled modules have twins that take the same arguments."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import turnwire
from tests.conftest import needs_both
from turnwire._backend import core_module

PACKAGE = Path(turnwire.__file__).parent
ROOT = Path(__file__).parent.parent
EACH_FIRST = """
import os, sys
from importlib import import_module
import asyncio, csv, importlib.metadata, logging, sqlite3, ssl, click, msgspec, numpy  # dear, and not ours
import turnwire

for name in sys.argv[1:]:
    child = os.fork()
    if not child:
        try:
            import_module(name)
        except ModuleNotFoundError as missing:  # of an extra that is not there
            os._exit(missing.name.partition(".")[0] == "turnwire")
        except BaseException as error:
            os._exit(type(error).__name__ != "MissingDependency")
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        print(name)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="each import is a process of its own, made by fork")
def test_every_package_and_public_module_can_be_imported_first() -> None:
    names = [".".join(("turnwire", *path.parent.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("__init__.py")]
    names += [f"turnwire.{path.stem}" for path in PACKAGE.glob("[a-z]*.py")]
    assert len(names) > 40
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", EACH_FIRST, *names],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [], done.stderr


def test_importing_turnwire_loads_no_part_of_it() -> None:
    code = "import sys, turnwire; print(*(name for name in sys.modules if name.startswith('turnwire.')))"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    light = {"_backend", "_lazy", "_light", "_native", "contract", "errors", "registry"}
    assert {name.split(".")[1] for name in done.stdout.split()} <= light


@pytest.mark.parametrize("package", ["csp", "kick"])
def test_a_name_is_looked_for_once(package: str) -> None:
    """Then it is in the package as any other name."""
    found = import_module(f"turnwire.{package}")
    names = [name for name in dir(found) if not isinstance(getattr(found, name), ModuleType)]
    assert names and all(getattr(found, name) is vars(found).get(name, found) for name in names)


def test_a_scan_imports_no_codec_of_what_it_does_not_find() -> None:
    """Every command starts with such imports: what few of them need waits until it is asked for."""
    code = """if True:
        import sys
        from turnwire.cli import main
        main(["scan", "-"])
        dear = {"asyncio", "email", "hashlib", "importlib.metadata", "msgspec", "tempfile"}
        print(*sorted(name for name in sys.modules if name in dear or name.endswith(".codec")))
    """
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code],
        input="@a1|f0|c0|S1|d2|T0#\n",
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    *table, loaded = done.stdout.splitlines()
    assert len(table) == 2
    assert {name for name in loaded.split() if not (name.startswith("turnwire._native.") or name.endswith("_py"))} <= {
        "turnwire.nslip.codec"
    }


COMPILED = sorted(path.relative_to(ROOT / "_native").with_suffix("") for path in (ROOT / "_native").glob("*/*.pyx"))
TWINNED = [path for path in COMPILED if path.parts[0] != "common"]


def test_every_compiled_module_has_a_pure_twin_beside_what_it_serves() -> None:
    assert COMPILED or not (ROOT / "src").is_dir(), "there is no native core"
    twins = {PACKAGE / path.parent / f"_{path.name}_py.py" for path in TWINNED}
    assert {str(path) for path in twins if not path.is_file()} == set()


@needs_both
@pytest.mark.parametrize("path", TWINNED, ids=str)
def test_what_is_called_takes_the_same_in_both_cores(path: Path) -> None:
    native, pure = (core_module(backend, ".".join(path.parts)) for backend in ("native", "pure"))
    for name, one in vars(native).items():
        other = getattr(pure, name, None)
        if name.startswith("_") or other is None or getattr(one, "__module__", None) != native.__name__:
            continue
        members = [member for member in vars(one) if member[0] != "_"] if isinstance(one, type) else []
        pairs = [(getattr(one, member), getattr(other, member, None)) for member in members]
        for each, twin in pairs if isinstance(one, type) else [(one, other)]:
            if callable(each):
                assert twin is not None, f"{name} lacks {each}"
                taken, further = _parameters(each), _parameters(twin)
                assert taken[: len(further)] == further, f"{name}: {each}"
                assert all(optional for _, optional in taken[len(further) :]), f"{name}: {each}"


def _parameters(called: Callable[..., object]) -> list[tuple[str, bool]]:
    """Names, and whether each may be left out."""
    found = inspect.signature(called).parameters.values()
    return [(one.name, one.default is not one.empty) for one in found]
