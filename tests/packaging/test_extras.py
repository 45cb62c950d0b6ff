"""Without an extra: what needs it says which one to install, and everything else works. In fresh interpreters."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
BLOCKED = """
import sys


class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r} or name in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)


sys.meta_path.insert(0, Absent())
import turnwire
from turnwire import MissingDependency

{code}
"""
EXPECTED = """
try:
    {code}
except MissingDependency as error:
    print(error)
"""


class Case(NamedTuple):
    """extra: what is taken away. packages: its modules. code: what needs it. home: the module that has to exist."""

    extra: str
    packages: tuple[str, ...]
    code: str
    home: str = "turnwire"


GOOD = "turnwire.decode('@a3|f0|c3|S0|d1|T1#')"
ZSTD = "b'\\x28\\xb5\\x2f\\xfd\\x04\\x00\\x01\\x00\\x00\\x99\\xe9\\xd8\\x51'"
LEDGER = "__import__('turnwire.ledger').ledger"
COMPARED = "__import__('turnwire.tokens').tokens.compare([" + GOOD + "])"
CASES = [
    Case("scan", ("numpy",), "turnwire.scan(b'')"),
    Case("scan", ("numpy",), "turnwire.Decoder('nslip')"),
    Case("scan", ("numpy",), "turnwire.extract('')"),
    Case("scan", ("msgspec",), "turnwire.ledger.Ledger('a')", "turnwire.ledger"),
    Case("scan", ("msgspec",), "turnwire.sap.Agent", "turnwire.sap.agent"),
    Case("zstd", ("zstandard",), f"list(turnwire.scan({ZSTD}, wire='nslip'))", "turnwire.log.input.compression"),
    Case("fsspec", ("fsspec",), "list(turnwire.scan('memory://a.log', wire='nslip'))",
         "turnwire.log.input.compression"),
    Case("sign", ("cryptography",), f"{LEDGER}.Checkpoint('', 0, '', '', '').signed(bytes(32))"),
    Case("sign", ("cryptography",), f"{LEDGER}.Checkpoint('', 0, '', '', '', '00', '00').signed_by(bytes(32))"),
    Case("http", ("starlette",), "turnwire.sap.http"),
    Case("http", ("httpx",), "turnwire.sap.http"),
    Case("mcp", ("mcp",), "turnwire.sap.mcp"),
    Case("nats", ("nats",), "turnwire.sap.nats"),
    Case("tokens", ("splintr",), "__import__('turnwire.tokens').tokens.count('a')", "turnwire.tokens"),
    Case("files", ("pyarrow",), f"{COMPARED}.to_arrow()", "turnwire.tokens"),
    Case("plot", ("matplotlib",), f"{COMPARED}.plot('a.svg')", "turnwire.tokens"),
    Case("otel", ("opentelemetry",), "from turnwire.otel import export_spans; export_spans(b'', None)",
         "turnwire.otel"),
    Case("langchain", ("langchain_core",), "from turnwire.handlers import *; langchain_callback('a')",
         "turnwire.handlers"),
    Case("formats", ("toon_format",), "from turnwire.tokens.formats import _package; _package('toon_format', '')",
         "turnwire.tokens"),
    Case("files", ("pyarrow",), "from turnwire.log.output.writers import arrow; arrow()",
         "turnwire.log.output.writers"),
    Case("dask", ("distributed",), "from turnwire.distributed.driver import distributed; distributed()",
         "turnwire.distributed"),
]  # fmt: skip
WITHOUT_ERROR = {"schema", "sql", "cli"}
"""Extras that nothing refuses to work without; each has a test of its own below, but for what only brings readers."""


def there(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


PRESENT = [case for case in CASES if there(case.home)]


def run(code: str, *blocked: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.run(
        [sys.executable, "-c", BLOCKED.format(blocked=set(blocked), code=code)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.mark.parametrize("packages", dict.fromkeys(case.packages for case in PRESENT), ids=" ".join)
def test_what_needs_an_extra_names_it(packages: tuple[str, ...]) -> None:
    cases = [case for case in PRESENT if case.packages == packages]
    done = run("".join(EXPECTED.format(code=case.code) for case in cases), *packages)
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.splitlines()
    assert [f"turnwire[{case.extra}]" in line for case, line in zip(cases, said, strict=True)] == [True] * len(cases)


def test_an_output_that_could_not_be_validated_is_told() -> None:
    """Without jsonschema a Result is still checked; the one thing that was not done is an issue."""
    code = """
from tests.sap.documents import RESULT, TASK
from turnwire import sap
task, result = sap.Task.from_dict(dict(TASK)), sap.Result.from_dict(dict(RESULT))
print([issue.text for issue in sap.check(result, task=task)])
"""
    done = run(code, "jsonschema", "referencing")
    assert (done.returncode, done.stderr) == (0, "")
    assert "turnwire[schema]" in done.stdout


@pytest.mark.skipif(not (ROOT / "examples").is_dir(), reason="needs the source tree")
def test_tables_and_progress_do_without_rich() -> None:
    arguments = ["scan", str(ROOT / "examples" / "data" / "damaged.log"), "--wire", "nslip"]
    done = run(f"from turnwire.cli import main; print(main({arguments!r}))", "rich")
    assert done.stdout.endswith("\n0\n") or done.stdout.endswith("\n1\n")
    assert "REQUEST" in done.stdout


def test_the_codecs_work_without_any_dependency() -> None:
    code = """
from tests.fuzz.messages import MESSAGES
for wire, texts in MESSAGES.items():
    for text in texts:
        message = turnwire.decode(text)
        assert turnwire.wires and message == turnwire.decode(text, wire) == type(message).from_dict(message.to_dict())
        assert turnwire.encode(turnwire.decode(turnwire.encode(message, strict=False)), strict=False)
        assert all(issue.reason for issue in turnwire.check(message))
    try:
        turnwire.decode(text[:20], wire)
    except turnwire.DecodeError:
        print(wire, message.wire, turnwire.detect(text))
"""
    blocked = {package for case in CASES for package in case.packages}
    done = run(code, *blocked, "click", "rich", "polars", "duckdb", "jsonschema", "typing_extensions")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [f"{wire} {wire} {wire}" for wire in ("nslip", "csp", "sstp", "sap", "kick")]


def test_the_command_without_click_says_what_to_install() -> None:
    done = run("from turnwire.cli import main; print(main(['info']))", "click")
    assert (done.returncode, done.stdout) == (0, "2\n")
    assert "turnwire[scan]" in done.stderr


def test_scans_work_without_any_other_extra() -> None:
    blocked = {package for case in CASES if case.extra != "scan" for package in case.packages}
    blocked |= {"polars", "duckdb", "rich", "jsonschema"}
    code = f"""
message = {GOOD}
print(turnwire.encode(turnwire.convert(message, "csp", context=turnwire.Context(
    defaults={{"csp": {{"block.id": "T1", "block.REQ": "x"}}}})).message).split()[0])
print(len(turnwire.decode("CSP/1\\nFROM A\\nTO B\\nCTX C\\nINTENT QUERY\\n\\nQUERY q\\n").issues))
print(sum(len(batch) for batch in turnwire.scan(b"@a3|f0|c3|S0|d1|T1#", wire="nslip")))
import turnwire.ledger
print(len(turnwire.WIRES), turnwire.sstp.Kind.QUERY, turnwire.kick.WIRE, turnwire.sap.Task.TABLE.name)
"""
    done = run(code, *blocked)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == ["CSP/1", "0", "1", "5", "query", "kick", "Task"]


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_every_extra_is_taken_away_here() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (every,) = extras["all"]
    names = set(re.fullmatch(r"turnwire\[(.*)\]", every)[1].split(","))  # type: ignore[index]
    assert names - {case.extra for case in CASES} - WITHOUT_ERROR == set()
