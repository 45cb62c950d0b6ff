"""For tests of what stands above the cores, in a folder whose tests run on each of them."""

from __future__ import annotations

import pytest

import turnwire


@pytest.fixture
def backend() -> str:
    """The core that turnwire has taken, and no other."""
    return turnwire.backend
