"""Any module can be imported first; compiled modules have twins and stubs."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import turnwire

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
    codecs = {name for name in loaded.split() if not (name.startswith("turnwire._native.") or name.endswith("_py"))}
    twins = set() if turnwire.backend == "native" else {"turnwire.csp.codec"}  # in which CSP/1's readable core is
    assert codecs <= {"turnwire.nslip.codec", *twins}


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs the source tree")
def test_every_compiled_module_has_a_pure_twin_beside_what_it_serves_and_a_stub() -> None:
    compiled = {path.relative_to(ROOT / "_native").with_suffix("") for path in (ROOT / "_native").glob("*/*.pyx")}
    assert compiled, "there is no native core"
    assert compiled == {
        path.relative_to(PACKAGE / "_native").with_suffix("") for path in (PACKAGE / "_native").glob("*/*.pyi")
    }
    twins = {PACKAGE / path.parent / f"_{path.name}_py.py" for path in compiled if path.parts[0] != "common"}
    assert {str(path) for path in twins if not path.is_file()} == set()
