"""Packages whose names are imported when they are first asked for, so that any module can be imported first."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


def lazy(
    package: str, homes: Mapping[str, str], modules: str = ""
) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package.

    package: its name. homes: module of the package -> the names that come from it, with spaces between them; "..x.y" is
    a module of another room of turnwire. modules: the modules that are themselves names of the package.
    """
    home = {name: _absolute(package, module) for module, names in homes.items() for name in names.split()}
    whole = {module.rpartition(".")[2]: f"{package}.{module}" for module in modules.split()}

    def get(name: str) -> object:
        if name in whole:
            return import_module(whole[name])
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value: object = getattr(import_module(home[name]), name)
        sys.modules[package].__dict__[name] = value
        return value

    def names() -> list[str]:
        return sorted({*home, *whole})

    return get, names


def _absolute(package: str, module: str) -> str:
    return f"turnwire.{module[2:]}" if module.startswith("..") else f"{package}.{module}"


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
