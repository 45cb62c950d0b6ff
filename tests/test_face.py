"""The declared face: the stub beside each package is the one list of its names, at run time, for checkers and pages."""

from __future__ import annotations

import inspect
import json
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
from dataclasses import dataclass

import turnwire

def of_each_wire(data: bytes) -> None:
    a: turnwire.nslip.SlipMessage = turnwire.decode(data, "nslip")
    b: turnwire.csp.CspMessage = turnwire.decode(data, "csp")
    c: turnwire.sstp.Message = turnwire.decode(data, "sstp")
    d: list[turnwire.nslip.SlipMessage] = turnwire.Decoder("nslip").feed(data)
    for found in turnwire.scan(data, wire="sstp").messages():
        e: turnwire.sstp.Message = found.message
    print(a.sender.upper(), b.kind, c.time, d, turnwire.encode(a), turnwire.tokens.count("x"))

@dataclass
class Ping(turnwire.Message):
    sender: str

def of_any_wire(message: turnwire.Message, name: str) -> None:
    print(turnwire.decode(b"", name).kind, turnwire.encode(message), turnwire.check(Ping("ada")), Ping("ada").wire)
    of_any_wire(turnwire.nslip.decode(b"", unknown="keep").replace(turn=2, src=3), name)
    of_any_wire(turnwire.kick.decode(b"").replace(sender="WePlan"), name)
    of_any_wire(turnwire.sap.decode(b""), name)

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
    "turnwire.encode(5)",
    "turnwire.check('x')",
    "turnwire.convert(b'', 'sap')",
    "turnwire.nslip.decode(b'').replace(turnn=1)",
    "turnwire.csp.decode(b'').replace(sender=1)",
    "turnwire.kick.decode(b'').replace(chanel='')",
    "turnwire.nslip.decode(b'').kind = 'ASK'",
    "turnwire.csp.decode(b'').time = None",
    "turnwire.sstp.decode(b'').subject = ''",
    "turnwire.sap.decode(b'').conversation = ''",
    "turnwire.kick.decode(b'').wire = 'sap'",
)
"""A program with the faults that checkers find. They cannot find a wrong name of a wire: a name may be that of a
registered wire, and a ``str`` that was read from somewhere is of the same type as a literal. Nor that of a column,
which depends on the wire."""


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
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_checkers_know_the_types_and_find_mistakes(tmp_path: Path, checker: str) -> None:
    """mypy with the settings of `make typecheck`, and with what it has found out by then."""
    pytest.importorskip(checker)
    program = tmp_path / "program.py"
    program.write_text(TYPED + "".join(f"{line}\n" for line in MISTAKES), "utf-8")
    (tmp_path / "pyrightconfig.json").write_text(json.dumps({"extraPaths": [str(SOURCE.parent)]}), "utf-8")
    first = 1 + TYPED.count("\n")
    command = [sys.executable, "-m", checker, program]
    at = SOURCE.parents[1] if checker == "mypy" else tmp_path
    done = subprocess.run(command, cwd=at, capture_output=True, text=True)
    faults = {int(line) for line in re.findall(r"program\.py:(\d+):(?:\d+ -)? error:", done.stdout)}
    assert faults == set(range(first, first + len(MISTAKES))), done.stdout


# --- completion: Jedi reads the sources, as most editors and IPython do -----------------------------------------------


def offered(code: str) -> set[str]:
    jedi = pytest.importorskip("jedi")
    project = jedi.Project(SOURCE.parent, sys_path=[str(SOURCE.parent), *sys.path])
    found = jedi.Script(f"import turnwire\n{code}", project=project, environment=jedi.InterpreterEnvironment())
    return {one.name for one in found.complete() if not one.name.startswith("_")}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_names_that_are_offered_are_those_that_are_declared(package: str) -> None:
    """And the modules in its folder, which can be imported, and the description of a wire."""
    module = import_module(package)
    folder = {path.stem for path in Path(str(module.__file__)).parent.iterdir()}
    names = offered(f"import {package}\n{package}.")
    assert {*module.__all__} <= names and names - {*module.__all__} <= folder | {"DESCRIPTOR"}


@pytest.mark.parametrize(
    ("code", "names"),
    [
        ("turnwire.decode(b'', 'nslip').", {"conv_id", "to_dict", "subject"}),
        ("turnwire.nslip.decode(b'').", {"conv_id", "replace", "kind"}),
        ("turnwire.sap.decode(b'').", {"task_id", "replace", "kind"}),
        ("turnwire.scan(b'').", {"rejects", "counts", "messages"}),
        ("for batch in turnwire.scan(b''):\n    batch.", {"valid", "message"}),
        ("next(turnwire.scan(b'').messages()).", {"message", "line"}),
    ],
)
def test_what_functions_return_is_offered(code: str, names: set[str]) -> None:
    assert names <= offered(code)


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
    assert {"nslip.codec", "kick.format", "json.codec"} <= TAKEN_OVER.keys()
    for name, taken in TAKEN_OVER.items():
        room, _, stem = name.partition(".")
        assert taken and import_module(f"turnwire.{room}._{stem}_py")
