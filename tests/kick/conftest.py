"""Runs a test of the package once with each pair of core modules."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from turnwire.kick import codec, space


@pytest.fixture
def twin(core: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> str:
    """Puts the core modules of the backend under test into the package; its name."""
    monkeypatch.setattr(space, "_core", core("space"))
    monkeypatch.setattr(codec, "_core", core("envelope"))
    monkeypatch.setattr(codec, "has_section", core("space").has_section)
    return core("space").__name__
