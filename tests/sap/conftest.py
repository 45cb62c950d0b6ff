"""Runs the tests of messages on both twins of the checker."""

from __future__ import annotations

from importlib import import_module

import pytest

from turnwire import sap
from turnwire.sap import codec


@pytest.fixture
def twin(backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every call of decode, encode and check in this test goes through this twin."""
    monkeypatch.setattr(codec, "_core", import_module(f"turnwire._{backend}.json.sap"))
    reader = import_module(f"turnwire._{backend}.json.text").Reader(sap.WIRE, ())
    monkeypatch.setattr(codec, "_reader", reader)
    return backend
