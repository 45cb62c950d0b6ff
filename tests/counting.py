"""What is called in a test, counted: by calls and bytes, not by the clock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from turnwire.log.engine.block_scanner import Engine


def called(
    patch: pytest.MonkeyPatch, owner: Any, name: str, note: Callable[..., Any] = lambda *_args, **_options: 1
) -> list[Any]:
    """One entry for each call of ``owner.name`` from now on: what ``note`` makes of its arguments."""
    found: list[Any] = []
    whole = getattr(owner, name)

    def counted(*args: Any, **options: Any) -> Any:
        found.append(note(*args, **options))
        return whole(*args, **options)

    patch.setattr(owner, name, counted)
    return found


def bytes_looked_at(patch: pytest.MonkeyPatch) -> list[int]:
    """The bytes of each block that is looked at from now on."""
    return called(patch, Engine, "scan", lambda _engine, block, *_rest, **_options: block.size)
