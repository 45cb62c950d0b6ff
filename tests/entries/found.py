"""The entries of the native core, as its modules have them, and real calls of each, good ones and refused ones.

A call is recorded where the package itself makes it: every function of the compiled modules is replaced, wherever the
package keeps it, the targets of fuzzing and a few more workloads are run, and the first arguments of each way to end
are kept. Methods of compiled classes cannot be replaced: ``WORK`` in ``work.py`` names what runs those.
"""

from __future__ import annotations

import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from inspect import isroutine
from typing import Any

import numpy as np

Call = Callable[[], object]
KEPT = 3
"""Calls that are kept of each entry and way to end."""
LEFT_OUT = ("log.callbacks.foreign",)
"""It keeps six functions for ever, which is what it is for."""
ADDRESSED = ("log.arrays.export",)
"""It takes an address, which is good for one call."""


def modules() -> Iterator[tuple[str, Any]]:
    """The compiled modules with their names within ``_native``."""
    package = import_module("turnwire._native")
    for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not found.ispkg and not found.name.endswith("cython_shared"):
            yield found.name.removeprefix(f"{package.__name__}."), import_module(found.name)


def entries() -> dict[str, Any]:
    """Each public function of the compiled modules, and each public method of their classes, by name."""
    found: dict[str, Any] = {}
    for place, module in modules():
        for name, value in vars(module).items():
            if name.startswith("_") or getattr(value, "__module__", None) != module.__name__:
                continue
            if isinstance(value, type):
                own = [one for one, inner in vars(value).items() if not one.startswith("_") and isroutine(inner)]
                found |= {f"{place}.{name}.{one}": getattr(value, one) for one in own}
            elif callable(value):
                found[f"{place}.{name}"] = value
    return found


def kept(value: Any) -> Any:
    """An argument that can be given again: arrays become plain buffers, whose references the interpreter counts."""
    if isinstance(value, np.ndarray) and value.size and value.dtype.kind in "biuf":
        return memoryview(bytearray(value.tobytes())).cast(value.dtype.char, value.shape)
    if isinstance(value, memoryview):
        return memoryview(bytearray(value.cast("B").tobytes())).cast(value.format) if value.contiguous else value
    if type(value) is dict:
        return {name: kept(inner) for name, inner in value.items()}
    if type(value) in (list, bytearray):
        return value.copy()
    return value


class Recorder:
    """Keeps calls of functions: ``calls`` has, for each entry and how it ended, the first few."""

    def __init__(self) -> None:
        self.calls: dict[str, dict[str, list[Call]]] = {}

    def around(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its calls kept."""

        def call(*arguments: Any, **named: Any) -> Any:
            ways = self.calls.setdefault(name, {})
            if sum(map(len, ways.values())) >= 4 * KEPT:
                return function(*arguments, **named)
            again, names = [kept(one) for one in arguments], {key: kept(one) for key, one in named.items()}
            try:
                result = function(*arguments, **named)
            except Exception as error:
                keep(ways, type(error).__name__, lambda: function(*again, **names))
                raise
            keep(ways, type(result).__name__, lambda: function(*again, **names))
            return result

        return call

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Meanwhile the calls of all functions are kept."""
        functions = {id(one): (name, one) for name, one in entries().items() if isroutine(one) or callable(one)}
        functions = {
            key: one for key, one in functions.items() if one[0].count(".") == 2 and one[0] not in LEFT_OUT + ADDRESSED
        }
        placed: list[tuple[Any, str, Any]] = []
        for module in [one for name, one in sys.modules.items() if name.partition(".")[0] == "turnwire"]:
            for name, value in list(vars(module).items()):
                if id(value) in functions:
                    placed.append((module, name, value))
                    setattr(module, name, self.around(*functions[id(value)]))
        try:
            yield
        finally:
            for module, name, value in placed:
                setattr(module, name, value)


def keep(ways: dict[str, list[Call]], way: str, call: Call) -> None:
    """Keeps a call where there are few that ended this way."""
    calls = ways.setdefault(way, [])
    if len(calls) < KEPT:
        calls.append(call)


def ended(call: Call) -> Any:
    """What a call gives, or which exception, as something that compares: not by where an object lies."""
    try:
        return placeless(repr(call()))
    except Exception as error:
        return type(error).__name__, str(error)


def placeless(text: str) -> str:
    """A text without the addresses of objects."""
    return re.sub(r" at 0x[0-9a-f]+>", ">", text)
