"""The bulk scan on native and on pure."""

from __future__ import annotations

import pytest

from tests.cores import use


@pytest.fixture
def scan_core(backend: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes ``turnwire.scan`` and the Arrow export use one backend; its name."""
    use(backend, monkeypatch)
    return backend
