"""A stub of a compiled module that takes its names over from the Python twin says what the module has."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import turnwire
from turnwire import _backend

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
    assert {"kick.envelope", "kick.format", "json.codec"} <= TAKEN_OVER.keys()
    for name, taken in TAKEN_OVER.items():
        room, _, stem = name.partition(".")
        assert taken and import_module(f"turnwire.{room}._{stem}_py")
