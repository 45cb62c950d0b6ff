"""Without an extra: what needs it says which one to install, and everything else works."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest

import turnwire
from tests.test_imports import fresh

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="each run without an extra is a process, made by fork"),
]

ROOT = Path(__file__).parents[2]
SOURCE = Path(turnwire.__file__).parent
RUNNER = """
import contextlib, importlib, json, os, sys, traceback
for name in ("asyncio", "sqlite3", "ssl", "numpy", "msgspec", "splintr", "pyarrow", "pydantic", "mcp", "nats"):
    with contextlib.suppress(ImportError):  # dear, and not ours: once for all, and taken away where it is blocked
        importlib.import_module(name)
import turnwire


class Absent:
    def find_spec(self, name, path=None, target=None):
        if taken_away(name):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def taken_away(name):
    return name.partition(".")[0] in blocked or name in blocked


sys.meta_path.insert(0, Absent())
for name, (blocked, code) in json.loads(sys.argv[1]).items():
    read, write = os.pipe()
    if child := os.fork():
        os.close(write)
        with open(read, encoding="utf-8") as said:
            print(json.dumps([name, said.read(), os.waitpid(child, 0)[1]]))
        continue
    os.dup2(write, 1)
    os.dup2(write, 2)
    for there in [there for there in sys.modules if taken_away(there)]:
        del sys.modules[there]
    status = 1
    try:
        exec("import turnwire\\nfrom turnwire import MissingDependency\\n" + code, {})
        status = 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)
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
    Case("scan", ("numpy",), "turnwire.slip.base62.encode_array([1])"),
    Case("scan", ("msgspec",), "turnwire.ledger.Ledger('a')", "turnwire.ledger"),
    Case("scan", ("msgspec",), "turnwire.sap.Agent", "turnwire.sap.agent"),
    Case("zstd", ("zstandard",), f"list(turnwire.scan({ZSTD}, wire='nslip'))", "turnwire.log.input.compression"),
    Case("fsspec", ("fsspec",), "list(turnwire.scan('memory://a.log', wire='nslip'))",
         "turnwire.log.input.compression"),
    Case("sign", ("cryptography",), f"{LEDGER}.Checkpoint('', 0, '', '', '').signed(bytes(32))"),
    Case("sign", ("cryptography",), f"{LEDGER}.Checkpoint('', 0, '', '', '', '00', '00').signed_by(bytes(32))"),
    Case("sign", ("cryptography",), "from turnwire.sap.access import sign; sign(b'', bytes(32))",
         "turnwire.sap.access"),
    Case("sign", ("cryptography",), "from turnwire.sap.access import verify; verify(b'', 'AAAA', bytes(32))",
         "turnwire.sap.access"),
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
    Case("formats", ("toon_format",), "from turnwire.tokens.comparison import _package; _package('toon_format', '')",
         "turnwire.tokens"),
    Case("files", ("pyarrow",), "from turnwire.log.output.outputs import arrow; arrow()",
         "turnwire.log.output.outputs"),
    Case("dask", ("distributed",), "from turnwire.distributed import distributed; distributed()",
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


OTHERS = {package for case in CASES for package in case.packages}
OF_SCANS = {package for case in CASES if case.extra == "scan" for package in case.packages}
MORE = {
    "schema": (
        ["jsonschema", "referencing"],
        """
from tests.sap.documents import RESULT, TASK
from turnwire import sap
task, result = sap.Task.from_dict(dict(TASK)), sap.Result.from_dict(dict(RESULT))
print([issue.text for issue in sap.check(result, task=task)])
""",
    ),
    "rich": (
        ["rich"],
        f"""
from turnwire.cli import main
print(main(["scan", {str(ROOT / "examples" / "data" / "damaged.log")!r}, "--wire", "nslip"]))
""",
    ),
    "click": (["click"], "from turnwire.cli import main; print(main(['info']))"),
    "codecs": (
        [*OTHERS, "click", "rich", "polars", "duckdb", "jsonschema", "typing_extensions"],
        """
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
""",
    ),
    "scans": (
        [*OTHERS - OF_SCANS, "polars", "duckdb", "rich", "jsonschema"],
        f"""
message = {GOOD}
print(turnwire.encode(turnwire.convert(message, "csp", context=turnwire.Context(
    defaults={{"csp": {{"block.id": "T1", "block.REQ": "x"}}}})).message).split()[0])
print(len(turnwire.decode("CSP/1\\nFROM A\\nTO B\\nCTX C\\nINTENT QUERY\\n\\nQUERY q\\n").issues))
print(sum(len(batch) for batch in turnwire.scan(b"@a3|f0|c3|S0|d1|T1#", wire="nslip")))
import turnwire.ledger
print(len(turnwire.WIRES), turnwire.sstp.Kind.QUERY, turnwire.kick.WIRE, turnwire.sap.Task.TABLE.name)
""",
    ),
}
"""Name -> what is taken away, and what is run without it."""
EACH = ("numpy", "msgspec", "click", "rich", "pyarrow", "zstandard", "splintr", "httpx", "starlette", "mcp", "nats")
FACES = sorted(".".join(("turnwire", *path.parent.relative_to(SOURCE).parts)) for path in SOURCE.rglob("__init__.pyi"))
EVERYTHING = f"""
import importlib, os, tempfile, warnings
os.chdir(tempfile.mkdtemp())
warnings.simplefilter("ignore")
good = {GOOD}
def used(what, use):
    try:
        return use()
    except MissingDependency as error:
        print(error)
    except ImportError as error:
        print("bare:", what, error)
    except Exception:
        pass  # of arguments that it does not take
for face in {FACES}:
    module = used(face, lambda: importlib.import_module(face))
    for name in getattr(module, "__all__", ()):
        found = used(name, lambda: getattr(module, name))
        for arguments in ((), (turnwire.encode(good).encode(),), (good, "csp"), ([good],)):
            if callable(found) and face != "turnwire.distributed":
                made = used((face, name), lambda: found(*arguments))
                used((face, name), lambda: next(iter(made)))
print("end")
"""
"""Whatever has a name, used with whatever may fit: each error of an import names an extra."""


@pytest.fixture(scope="module")
def said() -> dict[str, list[str]]:
    """Name, or packages -> the lines that are printed without them. Each in a process of its own, made by fork."""
    codes = {
        " ".join(packages): (packages, "".join(EXPECTED.format(code=c.code) for c in PRESENT if c.packages == packages))
        for packages in dict.fromkeys(case.packages for case in PRESENT)
    }
    each = {f"each {package}": ([package], EVERYTHING) for package in EACH}
    found = {}
    for name, text, status in map(json.loads, fresh(RUNNER, argument=json.dumps({**codes, **MORE, **each}))):
        assert "Traceback" not in text and not status, (name, text)
        found[name] = text.splitlines()
    return found


@pytest.mark.parametrize("packages", dict.fromkeys(case.packages for case in PRESENT), ids=" ".join)
def test_what_needs_an_extra_names_it(packages: tuple[str, ...], said: dict[str, list[str]]) -> None:
    extras = [case.extra for case in PRESENT if case.packages == packages]
    lines = zip(extras, said[" ".join(packages)], strict=True)
    assert [f"turnwire[{extra}]" in line for extra, line in lines] == [True] * len(extras)


@pytest.mark.parametrize("package", EACH)
def test_no_name_fails_with_the_bare_error_of_an_import(package: str, said: dict[str, list[str]]) -> None:
    *lines, end = said[f"each {package}"]
    assert end == "end" and all("pip install 'turnwire[" in line for line in lines), lines


def test_an_output_that_could_not_be_validated_is_told(said: dict[str, list[str]]) -> None:
    """Without jsonschema a Result is still checked; the one thing that was not done is an issue."""
    assert "turnwire[schema]" in said["schema"][0]


@pytest.mark.skipif(not (ROOT / "examples").is_dir(), reason="needs the source tree")
def test_tables_and_progress_do_without_rich(said: dict[str, list[str]]) -> None:
    assert said["rich"][-1] in "01"
    assert "REQUEST" in "".join(said["rich"])


def test_the_codecs_work_without_any_dependency(said: dict[str, list[str]]) -> None:
    assert said["codecs"] == [f"{wire} {wire} {wire}" for wire in ("nslip", "csp", "sstp", "sap", "kick")]


def test_the_command_without_click_says_what_to_install(said: dict[str, list[str]]) -> None:
    assert said["click"][-1] == "2"
    assert "turnwire[scan]" in "".join(said["click"])


def test_scans_work_without_any_other_extra(said: dict[str, list[str]]) -> None:
    assert " ".join(said["scans"]).split() == ["CSP/1", "0", "1", "5", "query", "kick", "Task"]


@pytest.mark.skipif(not (ROOT / "pyproject.toml").exists(), reason="needs the source tree")
def test_every_extra_is_taken_away_here() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    (every,) = extras["all"]
    names = set(re.fullmatch(r"turnwire\[(.*)\]", every)[1].split(","))  # type: ignore[index]
    assert names - {case.extra for case in CASES} - WITHOUT_ERROR == set()
