"""CSP/1, the Compact State Protocol: messages, the state that patches build, and the token rules."""

from turnwire import _lazy, contract as _contract

__all__, __getattr__, __dir__ = _lazy.attach(__name__)

DESCRIPTOR = _contract.built_in("csp", "CSP/1", _contract.LINES, message=".messages:CspMessage")
