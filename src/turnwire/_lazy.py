"""Names that are imported when they are first asked for, so that any module can be imported first."""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING: bool = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def attach(package: str) -> tuple[list[str], Callable[[str], object], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package, from the stub beside it (``__init__.pyi``).

    The stub is the one list of a package's names, for checkers, editors, the documentation and the run time. Each name
    that it imports as itself (``from turnwire.x import a as a``) comes from there when it is first asked for; what it
    declares as a variable is made by the package itself.
    """
    module = sys.modules[package]
    loader: Any = module.__loader__  # which reads from an archive, too
    stub: str = loader.get_data(os.path.join(module.__path__[0], "__init__.pyi")).decode()
    homes = _imported(stub)

    def get(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name, obj=module)
        home = homes[name]
        try:
            if home == package:
                found: object = import_module(f"{home}.{name}")
            else:  # an attribute, or else a module
                found = getattr(__import__(home, fromlist=[name]), name)
        except ModuleNotFoundError as missing:
            raise explained(missing, f"{package}.{name}") from missing
        module.__dict__[name] = found
        return found

    declared = (line.partition(":")[0] for line in stub.splitlines())
    names = sorted({*homes, *(name for name in declared if name.isidentifier() and name[:1] != "_")})
    return names, get, lambda: sorted({*names, *(name for name in vars(module) if name[:2] == "__")})


SCANNING = ("numpy", "msgspec", "click")
"""The packages of the extra ``scan``, without which the wires' own codecs work."""


def explained(missing: ModuleNotFoundError, what: str) -> ImportError:
    """The error that says what to install, where a package of the extra ``scan`` is missing; else the same again."""
    from turnwire.errors import MissingDependency

    if missing.name not in SCANNING:
        return missing
    return MissingDependency(f"{what} needs the package {missing.name}: pip install 'turnwire[scan]'")


def require_numpy() -> Any:
    """NumPy, for what stands on it: scans, decoders, extraction, arrays of base62. Raises MissingDependency."""
    try:
        return import_module("numpy")
    except ModuleNotFoundError as missing:
        raise explained(missing, "this") from missing


def _imported(stub: str) -> dict[str, str]:
    """The module of each name that a stub imports as itself. No ``ast``: its import costs more than all of turnwire."""
    homes: dict[str, str] = {}
    for statement in f"\n{stub}".split("\nfrom ")[1:]:
        home, _, listed = statement.partition(" import ")
        listed = listed[1:].partition(")")[0] if listed.startswith("(") else listed.partition("\n")[0]
        for item in listed.split(","):
            name, _, alias = item.strip().partition(" as ")
            if alias and alias == name:
                homes[name] = home
    return homes


class Deferred:
    """A function of a module that is imported when it is first called.

    module: its name; name: that of the function.
    """

    __slots__ = ("_found", "_place")

    def __init__(self, module: str, name: str) -> None:
        self._place = module, name
        self._found: Callable[..., Any] | None = None

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Calls the function."""
        return (self._found or self.function)(*args, **options)

    @property
    def function(self) -> Callable[..., Any]:
        """The function itself, for who calls it many times."""
        if self._found is None:
            module, name = self._place
            self._found = getattr(import_module(module), name)
        found: Callable[..., Any] = self._found
        return found
