"""The declared face: the stub beside each package is the one list of its names, at run time, for checkers and pages."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import turnwire
from turnwire import _backend

pytestmark = pytest.mark.once

SOURCE = Path(turnwire.__file__).parent
PACKAGES = sorted(
    ".".join(("turnwire", *path.parent.relative_to(SOURCE).parts))
    for path in SOURCE.rglob("__init__.pyi")
    if path.parent.name != "slip"
)
TYPED = """
import turnwire

def of_each_wire(data: bytes) -> None:
    a: turnwire.nslip.SlipMessage = turnwire.decode(data, "nslip")
    b: turnwire.csp.CspMessage = turnwire.decode(data, "csp")
    c: turnwire.sstp.Message = turnwire.decode(data, "sstp")
    d: list[turnwire.nslip.SlipMessage] = turnwire.Decoder("nslip").feed(data)
    for found in turnwire.scan(data, wire="sstp").messages():
        e: turnwire.sstp.Message = found.message
    print(a.sender, b.kind, c.time, d, turnwire.encode(a), turnwire.tokens.count("x"))

def whatever(scan: turnwire.Scan, decoder: turnwire.Decoder) -> None: ...
"""
MISTAKES = (
    "turnwire.skan(b'')",
    "turnwire.decodee(b'')",
    "turnwire.nslip.stream",
    "turnwire.sap.Tusk",
    "turnwire.decode(b'', 'nslip').block",
    "turnwire.scan(b'', wire='nslip', colums=[])",
    "x: int = turnwire.decode(b'', 'kick')",
    "y: list[int] = turnwire.Decoder('sap').feed(b'')",
)


def test_there_are_stubs() -> None:
    assert {f"turnwire.{wire}" for wire in ("nslip", "csp", "sstp", "sap", "kick", "log", "tokens")} <= {*PACKAGES}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_that_dir_gives_resolves(package: str) -> None:
    module = import_module(package)
    names = [name for name in dir(module) if not name.startswith("_")]
    assert names == sorted(module.__all__)
    for name in names:
        found = getattr(module, name)
        assert not isinstance(found, ModuleType) or found.__name__.startswith("turnwire.")
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018


@pytest.mark.packaging
def test_checkers_know_the_types_and_find_mistakes(tmp_path: Path) -> None:
    """With the settings of `make typecheck`, and with what it has found out by then."""
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(TYPED + "".join(f"{line}\n" for line in MISTAKES), "utf-8")
    first = 1 + TYPED.count("\n")
    command = [sys.executable, "-m", "mypy", program]
    done = subprocess.run(command, cwd=SOURCE.parents[1], capture_output=True, text=True)
    faults = {int(line) for line in re.findall(r"program\.py:(\d+): error:", done.stdout)}
    assert faults == set(range(first, first + len(MISTAKES))), done.stdout


# --- a stub of a compiled module that takes its names over from the Python twin says what the module has --------------


STUBS = Path(turnwire.__file__).parent / "_native"
TAKEN_OVER = {
    f"{path.parent.name}.{path.stem}": re.findall(r"\b(\w+) as \1\b", found[1])
    for path in STUBS.rglob("*.pyi")
    if (found := re.search(r"from turnwire\.\w+\._\w+_py import ((?:\((?:.|\n)*?\))|.*)", path.read_text("utf-8")))
}


def parameters(function: Any) -> list[tuple[str, Any, bool]]:
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default is one.empty) for one in found]


@pytest.mark.skipif(_backend.NAME == "pure", reason="nothing was compiled")
@pytest.mark.parametrize("name", TAKEN_OVER)
def test_what_a_stub_takes_over_from_the_twin_is_compiled_with_the_same_parameters(name: str) -> None:
    native, pure = (_backend.core_module(backend, name) for backend in ("native", "pure"))
    for taken in TAKEN_OVER[name]:
        compiled, twin = getattr(native, taken), getattr(pure, taken)
        if not inspect.isclass(twin):
            assert parameters(compiled) == parameters(twin), taken
            continue
        for member, value in vars(twin).items():
            if inspect.isfunction(value) and not member.startswith("_"):
                assert parameters(getattr(compiled, member)) == parameters(value), (taken, member)
            elif isinstance(value, property):
                assert hasattr(compiled, member), (taken, member)


def test_there_are_such_stubs() -> None:
    assert {"kick.envelope", "json.codec"} <= TAKEN_OVER.keys()
    for name, taken in TAKEN_OVER.items():
        room, _, stem = name.partition(".")
        assert taken and import_module(f"turnwire.{room}._{stem}_py")
