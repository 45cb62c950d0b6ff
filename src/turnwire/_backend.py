"""The only place that chooses between the compiled modules and their pure-Python twins.

``TURNWIRE_PURE=1`` in the environment forces pure. Without it the compiled modules are used when they import; a
failed import is kept in ``WHY_PURE`` so that ``turnwire info`` can say it.
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType


def _choose() -> tuple[str, str | None]:
    if os.environ.get("TURNWIRE_PURE", "") not in ("", "0"):
        return "pure", "TURNWIRE_PURE is set"
    try:
        import_module("turnwire._native.nslip.base62")
    except ImportError as error:
        return "pure", str(error)
    return "native", None


NAME, WHY_PURE = _choose()
"""``NAME`` is "native" or "pure"; ``WHY_PURE`` says why it is pure, or is None."""


def load(module: str) -> ModuleType:
    """The chosen twin of a core module, e.g. ``load("nslip.codec")``."""
    return import_module(f"turnwire._{NAME}.{module}")
