"""The twin fixture: every test that asks for ``backend`` or ``core`` runs on native and on pure."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import pytest

PURE_ONLY = os.environ.get("TURNWIRE_PURE", "") not in ("", "0")
BACKENDS = ["pure"] if PURE_ONLY else ["native", "pure"]


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """ "native" and "pure" in turn. A missing native build is an error, never a skip."""
    name: str = request.param
    return name


@pytest.fixture
def core(backend: str) -> Callable[[str], ModuleType]:
    """``core("nslip")`` is the core module of that name in the backend under test."""
    import turnwire.slip  # noqa: F401  (the core modules expect the package to be there)

    return lambda name: import_module(f"turnwire._{backend}.{name}")
