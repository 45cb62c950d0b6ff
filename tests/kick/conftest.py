"""Runs a test of the package once with each pair of core modules."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

from tests.kick import traffic
from turnwire.kick import channels, checklist, codec, space


@pytest.fixture
def twin(core: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> str:
    """Puts the core modules of the backend under test into the package; its name."""
    monkeypatch.setattr(space, "_core", core("kick.format"))
    monkeypatch.setattr(codec, "_core", core("kick.envelope"))
    for module in (codec, request.module, channels, checklist, traffic):
        for name in ("decode", "encode", "check", "Envelope"):  # the package hands out those of its own core
            if hasattr(module, name):
                monkeypatch.setattr(module, name, getattr(core("kick.envelope"), name))
    return core("kick.format").__name__
