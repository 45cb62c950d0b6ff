"""nSLIP: the complete wire form of SLIP v0.1, and a drop-in replacement for slipcore 0.1.0."""

from turnwire import _lazy, contract as _contract

__version__ = "0.1.0"
"""That of slipcore, for which ``turnwire.slip`` stands in."""

__all__, __getattr__, __dir__ = _lazy.attach(__name__)

DESCRIPTOR = _contract.built_in(
    "nslip", "nSLIP", _contract.TOKEN, message=".codec:SlipMessage", encode=".codec:text", check=".rules:check"
)
