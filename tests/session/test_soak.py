"""Many sessions, there and back, and much damage: ``-m soak`` tries a hundred thousand and ten thousand."""

from __future__ import annotations

import pytest

from tests.session.soak import damages, there_and_back

pytestmark = pytest.mark.once


def test_some() -> None:
    assert there_and_back(60, 3) == [] and damages(50, 3) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(100))
def test_all(seed: int) -> None:
    """100,000 sessions and 10,000 damages."""
    assert there_and_back(1000, seed) == [] and damages(100, seed) == []
