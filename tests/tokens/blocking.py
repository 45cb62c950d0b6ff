"""Makes a package look as if it were not installed."""

from __future__ import annotations

import sys

import pytest


def block(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """From now on importing these packages fails, whether they were imported before or not."""
    for name in list(sys.modules):
        if name.split(".")[0] in packages:
            monkeypatch.delitem(sys.modules, name)
    for name in packages:
        monkeypatch.setitem(sys.modules, name, None)
