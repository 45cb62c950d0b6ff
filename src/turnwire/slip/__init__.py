"""Another name of :mod:`turnwire.nslip`, as slipcore and its users call the wire.

``turnwire.slip.X`` is ``turnwire.nslip.X``, whatever X is: the same modules and the same objects, never a second copy.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

_NAME = "turnwire.slip"
_REAL = "turnwire.nslip"


class _Alias:
    """Finds and loads a submodule under this name: the module that has the real one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self) if fullname.startswith(f"{_NAME}.") else None

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        real = _REAL + name[len(_NAME) :]
        try:
            sys.modules[name] = import_module(real)
        except ModuleNotFoundError as error:
            if error.name != real:
                raise
            raise ModuleNotFoundError(f"No module named {name!r}", name=name) from None


sys.meta_path.insert(0, _Alias())  # before the finder of paths, which would read the files of nslip a second time
sys.modules[_NAME] = import_module(_REAL)
