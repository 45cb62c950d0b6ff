"""The packages of SAP and SSTP on each core."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from tests.cores import package_on


@pytest.fixture
def package_of(backend: str, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Any]:
    """The package of a wire, on the backend under test."""
    return partial(package_on, backend, patch=monkeypatch)
