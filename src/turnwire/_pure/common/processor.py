"""The twin of ``_native/common/processor.pyx``: plain Python uses no feature of the processor."""

from __future__ import annotations


def cpu_features() -> tuple[str, ...]:
    """The features beyond the compiler's baseline that the compiled modules can use on this machine: none here."""
    return ()
