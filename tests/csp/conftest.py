"""Every test of this package runs on both cores."""

from __future__ import annotations

from importlib import import_module

import pytest

import turnwire.csp.codec


@pytest.fixture(autouse=True)
def csp_core(backend, monkeypatch):
    """The core under test, in the place where the codec looks for it."""
    core = import_module(f"turnwire._{backend}.csp.codec")
    monkeypatch.setattr(turnwire.csp.codec, "_core", core)
    return core
