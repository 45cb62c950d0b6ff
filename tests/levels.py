"""The kinds of code that a compiled module has for processors: each is tested, not only the best that this one runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType


def levels_of(module: ModuleType) -> list[str]:
    """Those that this processor runs; of a twin in Python, one without a name."""
    if not hasattr(module, "choose_simd"):
        return [""]
    try:
        return [level for level in module.LEVELS if module.choose_simd(level) == level]
    finally:
        module.choose_simd(module.SIMD)


def each_level(module: ModuleType) -> Iterator[str]:
    """Goes through them, each chosen in turn; the best one is chosen again at the end."""
    try:
        for level in levels_of(module):
            if level:
                module.choose_simd(level)
            yield level
    finally:
        if hasattr(module, "choose_simd"):
            module.choose_simd(module.SIMD)
