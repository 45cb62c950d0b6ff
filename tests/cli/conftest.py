from collections.abc import Iterator

import pytest

from tests.cli.aside import Aside
from tests.cli.running import log

__all__ = ["aside", "log"]


@pytest.fixture(scope="session")
def aside() -> Iterator[Aside]:
    """Runs commands in a second process, the same for all tests."""
    with Aside() as there:
        yield there
