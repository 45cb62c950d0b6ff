"""The modules that read and write logs, and the packages of SAP and SSTP, made to use one backend."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest

from turnwire._backend import core_module
from turnwire.kick import codec
from turnwire.kick.messages import Envelope
from turnwire.kick.spec import FIELDS

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
    """The package of SAP, SSTP or KickLang, whose reading, judging and writing is that of a backend."""
    package, wire_codec, text = map(import_module, (f"turnwire.{wire}", f"turnwire.{wire}.codec", "turnwire.json.text"))
    core = core_module(backend, "json.codec")
    reader = core_module(backend, "json.text").Reader(wire, getattr(wire_codec, "KEYS", ()))
    if wire == "sap":
        patch.setattr(wire_codec, "_core", core)
        patch.setattr(wire_codec, "_reader", reader)
    else:
        patch.setattr(text, "_core", core_module(backend, "json.text"))
        patch.setattr(text, "_writer", core_module(backend, "json.write"))
        patch.setattr(wire_codec, "_read", reader.read)
        patch.setattr(wire_codec, "_read_source", reader.read_source, raising=False)
    patch.setattr(wire_codec, "_codec", wire_codec.codec_of(core, reader.read_source))
    return package


class Envelopes:
    """``decode``, ``encode`` and ``check`` of KickLang's envelopes on a backend, whatever the package is on."""

    Envelope = Envelope

    def __init__(self, backend: str) -> None:
        self.reading = core_module(backend, "json.text").Reader("kick", FIELDS).read
        self.codec = codec.codec_of(core_module(backend, "json.codec"), None)

    def __getattr__(self, name: str) -> Any:
        def call(*values: Any, **options: Any) -> Any:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(codec, "_read", self.reading)
                patch.setattr(codec, "_codec", self.codec)
                return getattr(codec, name)(*values, **options)

        return call
