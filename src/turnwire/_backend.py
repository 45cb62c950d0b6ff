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

_ASKED = "TURNWIRE_PURE is set"


def _choose() -> tuple[str, str | None]:
    if os.environ.get("TURNWIRE_PURE", "") not in ("", "0"):
        return "pure", _ASKED
    try:
        import_module("turnwire._native.nslip.base62")
    except ModuleNotFoundError:
        return "pure", f"not compiled: {_why_not()}"
    except ImportError as error:
        return "pure", str(error)
    return "native", None


def _why_not() -> str:
    """Why there are no compiled modules: what ``setup.py`` kept beside them."""
    place = os.path.join(os.path.dirname(__file__), "_native", "NOT_COMPILED")
    if not os.path.exists(place):
        return "no modules came with this installation (turnwire/_native)"
    with open(place, encoding="utf-8") as file:
        return file.read().strip()


NAME, WHY_PURE = _choose()
"""``NAME`` is "native" or "pure"; ``WHY_PURE`` says why it is pure, or is None."""

MISSING = NAME == "pure" and WHY_PURE != _ASKED
"""Whether it is pure though nobody asked for that."""


def load(module: str) -> ModuleType:
    """The chosen twin of a core module, e.g. ``load("nslip.codec")``."""
    return import_module(f"turnwire._{NAME}.{module}")
