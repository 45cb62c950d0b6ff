"""turnwire: read, write, check, count and search agents' messages in five wire formats, at speed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnwire import slip
from turnwire._backend import NAME as backend
from turnwire.contract import LIMITS, WIRES, Limits
from turnwire.errors import DecodeError, EncodeError, Issue, MissingDependency, Reason, RuleError, WireError
from turnwire.wires import decode, detect, encode

if TYPE_CHECKING:
    from turnwire.log.batch import Batch
    from turnwire.log.scan import Scan, scan
    from turnwire.stream import Decoder

__version__ = "0.1.0"

__all__ = [
    "LIMITS",
    "WIRES",
    "Batch",
    "DecodeError",
    "Decoder",
    "EncodeError",
    "Issue",
    "Limits",
    "MissingDependency",
    "Reason",
    "RuleError",
    "Scan",
    "WireError",
    "backend",
    "decode",
    "detect",
    "encode",
    "scan",
    "slip",
]

# Imported when first asked for, so that a codec costs no NumPy.
_LATER = {"scan": "turnwire.log", "Scan": "turnwire.log", "Batch": "turnwire.log", "Decoder": "turnwire.stream"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'turnwire' has no attribute {name!r}")
    value = getattr(import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
