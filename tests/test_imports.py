"""Any module can be imported first, and imports have no circle."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import turnwire
from tests.conftest import BACKENDS

PACKAGE = Path(turnwire.__file__).parent
_EACH = r"""
import gc, json, os, sys
from importlib import import_module
# Not ours, and dear to import so often. (What few modules import would make each fork dearer.)
import asyncio, bz2, concurrent.futures, copy, csv, dataclasses, glob, hashlib, hmac, html, http, importlib.metadata
import logging, pathlib, queue, secrets, sqlite3, ssl, statistics, tempfile, tomllib, unicodedata, urllib.parse, zlib
import click, msgspec, numpy

cores = json.load(sys.stdin)
read, write = os.pipe()
gc.disable()
gc.freeze()


def problem(name):
    try:
        import_module(name)
    except ModuleNotFoundError as missing:
        return repr(missing) if (missing.name or "turnwire").split(".")[0] == "turnwire" else ""
    except BaseException as error:
        return "" if type(error).__name__ == "MissingDependency" else repr(error)
    return ""


def say(core, name, said):
    os.write(write, (json.dumps([core, name, said[:1000]]) + "\n").encode())


def ours():
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "turnwire"}


# The import of a module begins with that of its package: each package is imported in a child, and from there each of
# its modules that it has not loaded. What was loaded is forgotten before the next one, and where that cannot be, since
# compiled modules are there for good, the next one has a new child.
def visit(core, parent):
    inside = [name for name in cores[core] if name.rpartition(".")[0] == parent]
    there = [name for name in inside if name in sys.modules]
    waiting = [name for name in inside if name not in sys.modules]
    while waiting:
        child = os.fork()
        if not child:
            before = {name: (module, dict(vars(module))) for name, module in ours().items()}
            for done, name in enumerate(waiting, 1):
                say(core, name, problem(name))
                visit(core, name)
                new = ours().keys() - before.keys()
                if any(not getattr(sys.modules[each], "__file__", ".so").endswith(".py") for each in new):
                    break
                for each in new:
                    del sys.modules[each]
                for module, names in before.values():
                    vars(module).clear()
                    vars(module).update(names)
            os._exit(done)
        done = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if done < 1:
            say(core, waiting[0], "an import from this one on crashed")
            break
        del waiting[:done]
    for name in there:
        say(core, name, "")
        visit(core, name)


def both():
    for core in cores:
        child = os.fork()
        if not child:
            os.environ["TURNWIRE_PURE"] = str(int(core == "pure"))
            import turnwire
            say(core, "turnwire", "" if turnwire.backend == core else f"the core is {turnwire.backend}")
            visit(core, "turnwire")
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            say(core, "turnwire", "it crashed")


if any(name.split(".")[0] == "turnwire" for name in sys.modules):
    raise SystemExit("a module of turnwire is there before all the others")
outer = os.fork()
if not outer:
    both()
    os._exit(0)
os.close(write)
with os.fdopen(read) as said:
    print(said.read(), end="")
sys.exit(os.waitpid(outer, 0)[1])
"""


def modules(core: str) -> Iterator[str]:
    """All modules of turnwire that can be imported with a core, by their dotted names."""
    for path in sorted(PACKAGE.rglob("*")):
        parts = path.relative_to(PACKAGE).parts
        compiled = path.suffix in {".so", ".pyd"}
        if path.suffix != ".py" and not (compiled and core == "native"):
            continue
        if path.name != "__main__.py":
            stem = path.name.partition(".")[0]
            yield ".".join(["turnwire", *parts[:-1], *([] if stem == "__init__" else [stem])])


def is_package(name: str) -> bool:
    return PACKAGE.joinpath(*name.split(".")[1:]).is_dir()


def chooses_core(name: str) -> bool:
    """Whether a module is one of the pure core, or loads modules of the core that there is."""
    path = PACKAGE.joinpath(*name.split(".")[1:]).with_suffix(".py")
    return name.endswith("_py") or "_backend" in path.read_text("utf-8")


@pytest.mark.once
@pytest.mark.skipif(not hasattr(os, "fork"), reason="each import is a process of its own, made by fork")
def test_every_module_can_be_imported_first() -> None:
    """After ``import turnwire``, which every import of a part of it does first and which loads no part of it."""
    names = {core: sorted(modules(core)) for core in BACKENDS}
    assert all(len(each) > 250 for each in names.values())
    if "native" in names:  # most modules import the same with either core
        names["pure"] = [name for name in names["pure"] if is_package(name) or chooses_core(name)]
        assert len(names["pure"]) > 50
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", _EACH],
        input=json.dumps(names),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    said = {(core, name): problem for core, name, problem in map(json.loads, done.stdout.splitlines())}
    assert {each: problem for each, problem in said.items() if problem} == {}
    assert said.keys() == {(core, name) for core, each in names.items() for name in each}


def test_importing_turnwire_loads_no_part_of_it() -> None:
    code = "import sys, turnwire; print(*(name for name in sys.modules if name.startswith('turnwire.')))"
    path = os.pathsep.join(entry for entry in sys.path if entry)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    light = {"_backend", "_light", "_native", "contract", "errors", "registry"}
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


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports when it is imported itself; a core module by the name of its twin."""
    body = list(ast.parse(path.read_text("utf-8")).body)
    while body:
        node = body.pop()
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "turnwire":
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "turnwire")
        elif isinstance(node, ast.If):
            typing = isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
            body += node.orelse if typing else [*node.body, *node.orelse]
        elif isinstance(node, ast.Try):
            body += [*node.body, *node.orelse, *node.finalbody]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            for call in (each for each in ast.walk(node) if isinstance(each, ast.Call)):
                loads = isinstance(call.func, ast.Attribute) and call.func.attr == "load"
                if loads and call.args and isinstance(call.args[0], ast.Constant):
                    room, _, stem = call.args[0].value.partition(".")
                    yield f"turnwire.{room}._{stem}_py"


def arrows() -> dict[str, set[str]]:
    """Module -> the modules that it imports; the pure twins stand for both cores."""
    files = {name: place for name in modules("pure") if (place := source(name)) is not None}
    graph: dict[str, set[str]] = {}
    for name, path in files.items():
        met = (each if each in files else each.rpartition(".")[0] for each in imported(path))
        graph[name] = {each for each in met if each in files and each not in {name, "turnwire"}}
    return graph


def source(name: str) -> Path | None:
    place = PACKAGE.joinpath(*name.split(".")[1:])
    return next((path for path in (place.with_suffix(".py"), place / "__init__.py") if path.is_file()), None)


@pytest.mark.once
def test_imports_have_no_circle() -> None:
    """What is left when every module that imports nothing of the rest is taken away, again and again, are circles."""
    graph = arrows()
    assert sum(map(len, graph.values())) > 500
    while free := [name for name, needed in graph.items() if not needed & graph.keys()]:
        for name in free:
            del graph[name]
    while free := [name for name in graph if not any(name in needed for needed in graph.values())]:
        for name in free:
            del graph[name]
    assert {name: sorted(needed & graph.keys()) for name, needed in graph.items()} == {}
