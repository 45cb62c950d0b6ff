"""Both cores in one process: two copies of the package, one of which is the one that ``import turnwire`` gives."""

from __future__ import annotations

import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from types import ModuleType

NAME = "turnwire"
LEFT_OUT = ("_native", "cli", "polars", "distributed", "slip", "report")
"""Not imported beforehand: the cores, which their users import, and what no target asks for."""


def _ours() -> dict[str, ModuleType]:
    return {name: module for name, module in sys.modules.items() if name == NAME or name.startswith(f"{NAME}.")}


class Core:
    """A copy of the package with all its modules; :meth:`active` makes it the one that is imported."""

    def __init__(self, name: str) -> None:
        before, said = _ours(), os.environ.get("TURNWIRE_PURE")
        there = getattr(before.get(NAME), "backend", None) == name  # then it is taken as it is, and stays
        if not there:
            for one in before:
                del sys.modules[one]
        os.environ["TURNWIRE_PURE"] = "1" if name == "pure" else "0"
        try:
            self.package = import_module(NAME)
            if self.package.backend != name:
                raise RuntimeError(f"the {name} core is not there: {import_module(f'{NAME}._backend').WHY_PURE}")
            for found in pkgutil.walk_packages(self.package.__path__, f"{NAME}.", onerror=lambda name: None):
                if found.name.split(".")[1] not in LEFT_OUT:
                    with suppress(ImportError):  # what needs an extra that is not there
                        import_module(found.name)
            self.modules = _ours()
        finally:
            if not there:
                for one in _ours():
                    del sys.modules[one]
                sys.modules.update(before)
            os.environ.pop("TURNWIRE_PURE")
            if said is not None:
                os.environ["TURNWIRE_PURE"] = said

    @contextmanager
    def active(self) -> Iterator[ModuleType]:
        """Imports meanwhile are of this core."""
        before = {name: sys.modules.get(name) for name in self.modules}
        sys.modules.update(self.modules)
        try:
            yield self.package
        finally:
            for name, module in before.items():
                if module is None:
                    del sys.modules[name]
                else:
                    sys.modules[name] = module
