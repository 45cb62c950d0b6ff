"""Runs a test of the package once with each pair of core modules."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.cores import package_on
from turnwire.kick import space


@pytest.fixture
def twin(backend: str, core: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> str:
    """Puts the core modules of the backend under test into the package; its name."""
    monkeypatch.setattr(space, "_core", core("kick.format"))
    package_on(backend, "kick", monkeypatch)
    return core("kick.format").__name__
