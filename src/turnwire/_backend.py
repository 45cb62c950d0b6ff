"""Chooses between the compiled modules and their pure-Python twins; nothing else does.

``TURNWIRE_PURE=1`` in the environment forces pure. Without it the compiled modules are used when they import; a
failed import is kept in ``WHY_PURE`` so that ``turnwire info`` can say it.
"""

from __future__ import annotations

import os
from importlib import import_module

TYPE_CHECKING: bool = False
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
    """The reason that ``setup.py`` kept beside the modules that it did not compile."""
    place = os.path.join(os.path.dirname(__file__), "_native", "NOT_COMPILED")
    if not os.path.exists(place):
        return "no modules came with this installation (turnwire/_native)"
    with open(place, encoding="utf-8") as file:
        return file.read().strip()


NAME, WHY_PURE = _choose()
"""``NAME`` is "native" or "pure"; ``WHY_PURE`` says why it is pure, or is None."""

MISSING = NAME == "pure" and WHY_PURE != _ASKED
"""It is pure though nobody asked for that."""


def core_module(backend: str, name: str) -> ModuleType:
    """A module of the core by its name, "room.stem", in one of the backends.

    "native" is compiled from ``_native/<room>/<stem>.pyx``; its "pure" twin is ``<room>/_<stem>_py.py``.
    """
    room, _, stem = name.partition(".")
    return import_module(f"turnwire._native.{name}" if backend == "native" else f"turnwire.{room}._{stem}_py")


def load(name: str) -> ModuleType:
    """The chosen twin of a core module, e.g. ``load("nslip.codec")``."""
    return core_module(NAME, name)


def cpu_features() -> tuple[str, ...]:
    """The features of the processor that the compiled core may use; none in pure Python."""
    return tuple(core_module("native", "common.processor").cpu_features()) if NAME == "native" else ()
