"""For tests of what stands above the cores, in a folder whose tests run on each of them."""

from __future__ import annotations

import pytest

import turnwire


@pytest.fixture
def backend() -> str:
    """The core that turnwire has taken, and no other: a file that imports this runs once (``tests/halves.py``)."""
    return turnwire.backend
