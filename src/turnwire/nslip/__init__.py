"""nSLIP: the complete wire form of SLIP v0.1, and a drop-in replacement for slipcore 0.1.0."""

from turnwire._lazy import attach
from turnwire.contract import TOKEN, built_in

__version__ = "0.1.0"
"""That of slipcore, for which ``turnwire.slip`` stands in."""

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = built_in(
    "nslip",
    "nSLIP",
    TOKEN,
    message=".codec:SlipMessage",
    check=".rules:check",
    always_strict=True,
    work=".bulk:work",
    plain=".codec:plain",
)
