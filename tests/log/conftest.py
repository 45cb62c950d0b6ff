"""The bulk scan on native and on pure."""

from __future__ import annotations

from importlib import import_module

import pytest

from turnwire._backend import core_module


@pytest.fixture
def scan_core(backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes ``turnwire.scan`` and the Arrow export use one backend; its name."""
    for module, name, core in (
        ("turnwire.nslip.bulk", "_core", "nslip.scan"),
        ("turnwire.csp.bulk", "_core", "csp.codec"),
        ("turnwire.json.scanner", "_core", "json.lines"),
        ("turnwire.log.engine.block_pass", "_core", "json.lines"),
        ("turnwire.log.engine.block_pass", "_heads", "framing.line_heads"),
        ("turnwire.log.engine.shortcut", "_heads", "framing.line_heads"),
        ("turnwire.log.engine.claimed_rows", "_heads", "framing.line_heads"),
        ("turnwire.log.engine.claimed_rows", "_views", "log.views"),
        ("turnwire.framing.assembly", "_heads", "framing.line_heads"),
        ("turnwire.log.output.texts", "_views", "log.views"),
        ("turnwire.log.output.batch", "_times", "framing.times"),
        ("turnwire.log.engine.fill", "_views", "log.views"),
        ("turnwire.log.output.texts", "_views", "log.views"),
        ("turnwire.log.output.texts", "_arrays", "log.arrays"),
        ("turnwire.log.output.arrow", "_arrays", "log.arrays"),
    ):
        monkeypatch.setattr(import_module(module), name, core_module(backend, core))
    return backend
