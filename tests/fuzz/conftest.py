"""Both cores side by side, for tests that compare what they say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.fuzz.cores import Core
from tests.fuzz.inner import LEVELLED


@pytest.fixture(scope="package")
def cores() -> Iterator[tuple[Core, Core]]:
    """The native core and the pure one. Targets choose among the SIMD code of the first: at the end it is the best one
    again."""
    native = Core("native")
    yield native, Core("pure")
    for name in LEVELLED:
        core = native.modules[f"turnwire._native.{name}"]
        core.choose_simd(core.SIMD)  # type: ignore[attr-defined]
