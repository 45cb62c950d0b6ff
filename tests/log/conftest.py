"""The bulk scan on native and on pure."""

from __future__ import annotations

from importlib import import_module

import pytest


@pytest.fixture
def scan_core(backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes ``turnwire.scan`` and the Arrow export use one backend; its name."""
    for module, name, core in (
        ("turnwire.slip.bulk", "_core", "nslip_scan"),
        ("turnwire.csp.bulk", "_core", "csp"),
        ("turnwire.json_bulk", "_core", "json_lines"),
        ("turnwire.log.mixed_block", "_core", "json_lines"),
        ("turnwire.log.mixed_block", "_heads", "line_heads"),
        ("turnwire.log.batch", "_views", "views"),
        ("turnwire.log.batch", "_times", "log_times"),
        ("turnwire.log.arrow", "_views", "views"),
        ("turnwire.log.arrow", "_arrays", "arrays"),
    ):
        monkeypatch.setattr(import_module(module), name, import_module(f"turnwire._{backend}.{core}"))
    return backend
