"""The rules of the house, as CONTRIBUTING.md tells them: who imports whom, how long a file is, what is documented."""

from __future__ import annotations

import ast
import enum
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import turnwire
from turnwire.errors import MissingDependency

pytestmark = pytest.mark.once

PACKAGE = Path(turnwire.__file__).parent
ROOT = Path(__file__).parent.parent
PROTOCOLS = ("nslip", "csp", "sstp", "sap", "kick")
MEETING_PLACES = ("", "framing", "read", "prompts", "conversion", "log", "tokens", "report", "distributed", "cli")
MEETING_PLACES += ("polars", "duckdb")
"""What stands above the protocols ("" is the public face); no protocol imports one of them."""


def imports(path: Path) -> Iterator[str]:
    """Every module of turnwire that a file imports anywhere, also lazily or for type checking, as dotted names."""
    package = ["turnwire", *path.relative_to(PACKAGE).parent.parts]
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.split(".")[0] == "turnwire")


def room(name: str) -> str:
    """The part of turnwire that a dotted name belongs to: "nslip" of "turnwire.nslip.spec.Act"."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


@cache
def rooms_imported(path: Path) -> frozenset[str]:
    return frozenset(room(name) for name in imports(path))


def sources(*parts: str) -> list[Path]:
    return sorted(PACKAGE.joinpath(*parts).rglob("*.py"))


def test_the_walk_sees_imports() -> None:
    """The other tests here would pass on nothing if the walk found nothing."""
    assert {"turnwire.errors.Reason", "turnwire.errors.expect_number"} <= set(imports(PACKAGE / "contract.py"))
    assert len(sources()) > 10


def test_errors_imports_nothing_of_ours() -> None:
    """But for what stands in for ``typing``, which imports nothing."""
    assert rooms_imported(PACKAGE / "errors.py") == {"_light"}
    assert rooms_imported(PACKAGE / "_light.py") == set()


def test_contract_imports_only_errors() -> None:
    assert rooms_imported(PACKAGE / "contract.py") == {"errors", "_light"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_no_protocol_imports_another_or_what_stands_above(protocol: str) -> None:
    forbidden = {*PROTOCOLS, *MEETING_PLACES} - {protocol}
    found = {path.name: rooms_imported(path) & forbidden for path in sources(protocol)}
    assert {name: rooms for name, rooms in found.items() if rooms} == {}


def test_what_protocols_share_knows_no_protocol() -> None:
    imported = {room for protocol in PROTOCOLS for path in sources(protocol) for room in rooms_imported(path)}
    shared = imported - {*PROTOCOLS, "_native", "json"}
    assert {"errors", "contract"} <= shared
    for room in shared:
        for path in sources(room) or [PACKAGE / f"{room}.py"]:
            assert rooms_imported(path) & {*PROTOCOLS, *MEETING_PLACES} == set(), path.name


def test_only_the_dispatcher_imports_the_native_modules() -> None:
    users = {
        path.name
        for path in sources()
        if path.relative_to(PACKAGE).parts[0] != "_native" and "_native" in rooms_imported(path)
    }
    assert users == set(), "load a core module through turnwire._backend.load"


def _needs_native(path: Path) -> bool:
    """Whether a test module imports the native core as it is imported, and does not leave before that where there is
    none."""
    text = path.read_text("utf-8")
    for statement in ast.parse(text).body if "turnwire._native" in text else ():
        if isinstance(statement, ast.If) and "PURE_ONLY" in ast.unparse(statement.test):
            return False
        if isinstance(statement, (ast.Import, ast.ImportFrom)) and "turnwire._native" in ast.unparse(statement):
            return True
    return False


def test_without_a_native_core_all_tests_can_be_collected(tmp_path: Path) -> None:
    assert [str(path) for path in (ROOT / "tests").rglob("*.py") if _needs_native(path)] == []
    bad = tmp_path / "bad.py"
    bad.write_text("from turnwire._native.csp import texts\n")
    assert _needs_native(bad)


def test_the_public_face_is_short() -> None:
    assert len((PACKAGE / "__init__.py").read_text("utf-8").splitlines()) <= 60


@pytest.mark.skipif(not (ROOT / "src").is_dir(), reason="needs the source tree")
def test_every_compiled_module_has_a_pure_twin_beside_what_it_serves_and_a_stub() -> None:
    compiled = {path.relative_to(ROOT / "_native").with_suffix("") for path in (ROOT / "_native").glob("*/*.pyx")}
    assert compiled, "there is no native core"
    assert compiled == {
        path.relative_to(PACKAGE / "_native").with_suffix("") for path in (PACKAGE / "_native").glob("*/*.pyi")
    }
    twins = {PACKAGE / path.parent / f"_{path.name}_py.py" for path in compiled if path.parts[0] != "common"}
    assert {str(path) for path in twins if not path.is_file()} == set()


def public_modules() -> Iterator[str]:
    yield "turnwire"
    for module in pkgutil.walk_packages([str(PACKAGE)], "turnwire."):
        if not any(part.startswith("_") for part in module.name.split(".")[1:]):
            yield module.name


def undocumented(module_name: str) -> Iterator[str]:
    """The public functions, classes and methods of a module that have no docstring of their own or of their base."""
    module = importlib.import_module(module_name)
    if not module.__doc__:
        yield module_name
    for name in getattr(module, "__all__", None) or [name for name in vars(module) if not name.startswith("_")]:
        value = getattr(module, name)
        if not (inspect.isclass(value) or inspect.isroutine(value)):
            continue
        if not str(getattr(value, "__module__", "")).startswith("turnwire"):
            continue
        if not explained(value):
            yield f"{module_name}.{name}"
        if inspect.isclass(value):
            yield from (f"{module_name}.{name}.{method}" for method in undocumented_methods(value))


def undocumented_methods(owner: type) -> Iterator[str]:
    for name, member in vars(owner).items():
        spoken_of = inspect.isroutine(member) or isinstance(member, property)
        if spoken_of and not name.startswith("_") and not explained(getattr(owner, name)):
            yield name


def explained(value: object) -> bool:
    """Whether a docstring says more than the signature that Cython writes into it."""
    if isinstance(value, type) and not issubclass(value, enum.Enum):
        text = vars(value).get("__doc__") or ""
    else:
        text = inspect.getdoc(value) or ""
    name = getattr(value, "__name__", "")
    lines = [line for line in text.splitlines() if line.strip()]
    generated = bool(lines) and bool(name) and lines[0].split(".")[-1].startswith(f"{name}(")
    return len(lines) > generated


@pytest.mark.parametrize("module", list(public_modules()))
def test_every_public_name_is_documented(module: str) -> None:
    try:
        missing = sorted(undocumented(module))
    except MissingDependency as absent:
        pytest.skip(f"an extra is not installed: {absent}")
    assert missing == []
