"""The metadata of the installed distribution and what the package says about itself agree."""

from __future__ import annotations

import re
from importlib.metadata import metadata, requires, version

import pytest

import turnwire
from turnwire.cli.commands.info import facts

pytestmark = pytest.mark.once


def brought_by(extra: str) -> set[str]:
    """The distributions that an extra requires, by the metadata, beside turnwire with another extra."""
    lines = [line for line in requires("turnwire") or () if re.search(rf'extra == "{extra}"', line)]
    return {re.match(r"[\w.-]+", line).group() for line in lines} - {"turnwire"}  # type: ignore[union-attr]


def test_the_version_is_told_once() -> None:
    assert version("turnwire") == turnwire.__version__


def test_info_knows_the_extras() -> None:
    extras = facts()["extras"]
    assert {"scan", "cli", "tokens"} <= set(extras) <= set(metadata("turnwire").get_all("Provides-Extra") or ())
    assert {extra: set(names) for extra, names in extras.items()} == {extra: brought_by(extra) for extra in extras}
