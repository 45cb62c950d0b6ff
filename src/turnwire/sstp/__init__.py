"""SSTP, the Structured Semantic Turn Protocol: seven kinds of messages, strict reading, salvaging from prose, and
sessions."""

from turnwire import _lazy, contract as _contract

__all__, __getattr__, __dir__ = _lazy.attach(__name__)

DESCRIPTOR = _contract.built_in("sstp", "SSTP", _contract.OBJECT, message=".messages:Message")
