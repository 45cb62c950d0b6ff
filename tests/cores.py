"""The modules that read and write logs, made to use one backend."""

from __future__ import annotations

from importlib import import_module

import pytest

from turnwire._backend import core_module

CORES = (
    ("csp.bulk", "_core", "csp.codec"),
    ("json.scanner", "_core", "json.text"),
    ("log.engine.all_wires", "_core", "log.search"),
    ("log.output.texts", "_core", "log.arrow"),
    ("log.output.arrow", "_core", "log.arrow"),
)


def use(backend: str, patch: pytest.MonkeyPatch) -> None:
    """Makes ``turnwire.scan``, ``Decoder`` and the Arrow export use a backend."""
    for module, name, core in CORES:
        patch.setattr(import_module(f"turnwire.{module}"), name, core_module(backend, core))
