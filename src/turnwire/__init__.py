"""turnwire: read, write, check, count and search agents' messages in five wire formats, at speed."""

from __future__ import annotations

from importlib import import_module
from turnwire._backend import NAME as backend
from turnwire.contract import LIMITS, Limits, Wire
from turnwire.errors import ConvertError, DecodeError, EncodeError, Issue, MissingDependency
from turnwire.errors import Reason, RuleError, UnknownName, WireError
from turnwire import registry as _registry
from turnwire.registry import check, decode, detect, encode, register, wires

TYPE_CHECKING = False  # see errors.py
if TYPE_CHECKING:
    from typing import Any

    from turnwire import csp, kick, nslip, sap, slip, sstp
    from turnwire.registry import WIRES
    from turnwire.conversion import Context, Converted, Converter, convert
    from turnwire.read.explaining import explain
    from turnwire.read.extraction import extract
    from turnwire.log.output.batch import Batch
    from turnwire.log.scanning import Scan, scan
    from turnwire.message import Message, dec_hook, enc_hook
    from turnwire.prompts import prompt
    from turnwire.read.decoder import Decoder

__version__ = "0.1.0"
__all__ = ["LIMITS", "WIRES", "Batch", "Context", "ConvertError", "Converted", "Converter", "DecodeError", "Decoder"]
__all__ += [
    "EncodeError",
    "Issue",
    "Limits",
    "Message",
    "MissingDependency",
    "Reason",
    "RuleError",
    "Scan",
    "UnknownName",
    "Wire",
]
__all__ += [
    "WireError",
    "backend",
    "check",
    "convert",
    "dec_hook",
    "decode",
    "detect",
    "enc_hook",
    "encode",
    "explain",
    "extract",
]
__all__ += ["nslip", "prompt", "register", "scan", "slip", "wires"]

_LATER = dict.fromkeys(("scan", "Scan", "Batch"), "log")  # imported when asked for, so that a codec costs no NumPy
_LATER |= dict.fromkeys(("Message", "enc_hook", "dec_hook"), "message")
_LATER |= {"Decoder": "read.decoder", "extract": "read.extraction", "prompt": "prompts"}
_LATER["explain"] = "read.explaining"
_LATER |= dict.fromkeys(("convert", "Context", "Converted", "Converter"), "conversion")
_ROOMS = {"slip", "log", "tokens", "ledger", "report", "distributed", "polars", "duckdb"}  # beside those of the wires


def __getattr__(name: str) -> Any:
    if name == "WIRES":
        return _registry.names()
    if name in _ROOMS or (not name.startswith("_") and f"turnwire.{name}" in _registry.packages()):
        return import_module(f"turnwire.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'turnwire' has no attribute {name!r}")
    return globals().setdefault(name, getattr(import_module(f"turnwire.{_LATER[name]}"), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_LATER})
