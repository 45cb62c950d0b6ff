"""Any module can be imported first, and costs little; the core is the native one; compiled modules have twins."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import turnwire
from tests.cli.running import environment
from tests.conftest import PURE_ONLY

HEAVY = {"numpy", "msgspec", "click", "rich", "dataclasses", "inspect", "sqlite3", "polars", "duckdb", "pyarrow"}
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


@pytest.mark.once  # on the pure core .ci/bare runs it
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each import is a process of its own, made by fork")
def test_every_package_and_public_module_can_be_imported_first() -> None:
    names = [".".join(("turnwire", *path.parent.relative_to(PACKAGE).parts)) for path in PACKAGE.rglob("__init__.py")]
    names += [f"turnwire.{path.stem}" for path in PACKAGE.glob("[a-z]*.py")]
    assert len(names) > 40
    done = subprocess.run([sys.executable, "-c", EACH_FIRST, *names], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [], done.stderr


def fresh(code: str, *flags: str, given: str = "", argument: str = "") -> list[str]:
    """The lines that a fresh interpreter prints, with the path of this one and without any complaint."""
    done = subprocess.run(
        [sys.executable, *flags, "-c", code, argument],
        input=given,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


@pytest.mark.once
def test_importing_turnwire_loads_no_part_of_it_and_nothing_heavy() -> None:
    """Nor does decoding a message."""
    code = """if True:
        import sys
        before = {*sys.modules}
        import turnwire
        print(*{*sys.modules} - before)
        turnwire.nslip.decode("@a3|f0|c3|S0|d1|T1#")
        print(*{*sys.modules} - before)
    """
    imported, decoded = (line.split() for line in fresh(code))
    light = {"_backend", "_lazy", "_native", "contract", "errors", "registry"}
    assert "turnwire" in imported
    assert {name.split(".")[1] for name in imported if name.startswith("turnwire.")} <= light
    assert {*imported} & HEAVY == set()
    assert {*decoded} & HEAVY - {"dataclasses", "inspect"} == set()


@pytest.mark.skipif(PURE_ONLY, reason="a run of the pure twin alone")
def test_the_native_core_is_there() -> None:
    """Without TURNWIRE_PURE the suite demands the native build: a failed compile must not pass unnoticed."""
    assert turnwire.backend == "native"


@pytest.mark.parametrize("package", ["csp", "kick"])
def test_a_name_is_looked_for_once(package: str) -> None:
    """Then it is in the package as any other name."""
    found = import_module(f"turnwire.{package}")
    names = [name for name in dir(found) if not isinstance(getattr(found, name), ModuleType)]
    assert names and all(getattr(found, name) is vars(found).get(name, found) for name in names)


@pytest.mark.once
def test_a_scan_imports_no_codec_of_what_it_does_not_find() -> None:
    """Every command starts with such imports: what few of them need waits until it is asked for. And nobody who runs
    with warnings as errors hears of temporary files that they never opened."""
    code = """if True:
        import sys
        from turnwire.cli import main
        sys.stderr, told = sys.stdout, sys.stderr
        main(["scan", "-", "-q"])
        sys.stderr = told
        dear = {"asyncio", "email", "hashlib", "importlib.metadata", "msgspec", "tempfile"}
        print(*sorted(name for name in sys.modules if name in dear or name.endswith(".codec")))
        import turnwire
        list(turnwire.scan(b"@a3|f0|c3|S0|d1|T1# @a3|f0#", wire="nslip"))
    """
    *table, loaded = fresh(code, "-X", "dev", "-W", "error", given="@a1|f0|c0|S1|d2|T0#\n")
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
