"""Every test of this package runs on both cores."""

from __future__ import annotations

import pytest

import turnwire.csp
import turnwire.csp.codec
from turnwire._backend import core_module


@pytest.fixture(autouse=True)
def csp_core(backend, monkeypatch, request):
    """The core under test, in the place where the codec looks for it."""
    core = core_module(backend, "csp.codec")
    monkeypatch.setattr(turnwire.csp.codec, "_core", core)
    for name in ("decode", "encode", "check"):  # the package hands out those of its own core
        own = getattr(turnwire.csp.codec, name)
        for module in (turnwire.csp, turnwire.csp.codec, request.module):
            if getattr(module, name, None) is own:
                monkeypatch.setattr(module, name, getattr(core, name))
    return core
