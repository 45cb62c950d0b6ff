"""What `import turnwire` costs, and which core the installation has. Runs in interpreters of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import turnwire
from tests.conftest import PURE_ONLY

pytestmark = pytest.mark.once

HEAVY = ("numpy", "msgspec", "click", "rich", "dataclasses", "inspect", "sqlite3", "polars", "duckdb", "pyarrow")


def run(code: str, *, flags: tuple[str, ...] = (), **environment: str) -> str:
    """What a fresh interpreter prints when it runs ``code`` with the path of this one, without any complaint."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    finished = subprocess.run(
        [sys.executable, *flags, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (finished.returncode, finished.stderr) == (0, "")
    return finished.stdout


def modules_after(statement: str) -> set[str]:
    """The modules that one statement loads, beyond those of a bare interpreter."""
    report = "print(json.dumps(sorted(set(sys.modules) - before)))"
    return set(json.loads(run(f"import sys, json; before = set(sys.modules); {statement}; {report}")))


def test_import_loads_nothing_heavy() -> None:
    loaded = modules_after("import turnwire")
    assert "turnwire" in loaded
    assert loaded & set(HEAVY) == set()


def test_decoding_nslip_loads_nothing_heavy() -> None:
    loaded = modules_after("import turnwire.nslip; turnwire.nslip.decode('@a3|f0|c3|S0|d1|T1#')")
    assert loaded & {"numpy", "msgspec", "click", "polars", "duckdb", "pyarrow"} == set()


def test_the_environment_forces_pure() -> None:
    assert run("import turnwire; print(turnwire.backend)", TURNWIRE_PURE="1").strip() == "pure"


@pytest.mark.skipif(PURE_ONLY, reason="a run of the pure twin alone")
def test_the_native_core_is_there() -> None:
    """Without TURNWIRE_PURE the suite demands the native build: a failed compile must not pass unnoticed."""
    assert turnwire.backend == "native"


def test_a_scan_leaves_no_warning_behind() -> None:
    """Nobody who runs with warnings as errors should hear of temporary files that they never opened."""
    run(
        "import turnwire; list(turnwire.scan(b'@a3|f0|c3|S0|d1|T1# @a3|f0#', wire='nslip'))",
        flags=("-X", "dev", "-W", "error"),
    )
