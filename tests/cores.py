"""The modules that read and write logs, and the packages of SAP and SSTP, made to use one backend."""

from __future__ import annotations

from importlib import import_module
from typing import Any

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


def package_on(backend: str, wire: str, patch: pytest.MonkeyPatch) -> Any:
    """The package of SAP or SSTP, whose reading, judging and writing is that of a backend."""
    package, codec, text = map(import_module, (f"turnwire.{wire}", f"turnwire.{wire}.codec", "turnwire.json.text"))
    core = core_module(backend, "json.codec")
    reader = core_module(backend, "json.text").Reader(wire, getattr(codec, "KEYS", ()))
    if wire == "sap":
        patch.setattr(codec, "_core", core)
        patch.setattr(codec, "_reader", reader)
    else:
        patch.setattr(text, "_core", core_module(backend, "json.text"))
        patch.setattr(text, "_writer", core_module(backend, "json.write"))
        patch.setattr(codec, "_read", reader.read)
        patch.setattr(codec, "_read_source", reader.read_source)
    patch.setattr(codec, "_codec", codec.codec_of(core, reader.read_source))
    return package
