"""What `import turnwire` costs, and which core the installation has. Runs in interpreters of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import turnwire
from tests.conftest import PURE_ONLY

HEAVY = ("numpy", "msgspec", "click", "rich", "dataclasses", "inspect", "sqlite3", "polars", "duckdb", "pyarrow")


def run(code: str, **environment: str) -> str:
    """What a fresh interpreter prints when it runs ``code`` with the path of this one."""
    path = os.pathsep.join(entry for entry in sys.path if entry)
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert finished.returncode == 0, finished.stderr
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
    loaded = modules_after("import turnwire.slip; turnwire.slip.decode('@a3|f0|c3|S0|d1|T1#')")
    assert loaded & {"numpy", "msgspec", "click", "polars", "duckdb", "pyarrow"} == set()


def test_the_environment_forces_pure() -> None:
    assert run("import turnwire; print(turnwire.backend)", TURNWIRE_PURE="1").strip() == "pure"


@pytest.mark.skipif(PURE_ONLY, reason="a run of the pure twin alone")
def test_the_native_core_is_there() -> None:
    """Without TURNWIRE_PURE the suite demands the native build: a failed compile must not pass unnoticed."""
    assert turnwire.backend == "native"
