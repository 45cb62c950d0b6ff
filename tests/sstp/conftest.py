"""Runs the codec of SSTP on both twins."""

from __future__ import annotations

import pytest

from tests.cores import package_on


@pytest.fixture
def sstp(backend, monkeypatch):
    """The package with the cores of the backend under test."""
    return package_on(backend, "sstp", monkeypatch)
