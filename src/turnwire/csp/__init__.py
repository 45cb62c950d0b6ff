"""CSP/1, the Compact State Protocol: messages, the state that patches build, and the token rules."""

from turnwire._lazy import attach
from turnwire.contract import LINES, built_in

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = built_in("csp", "CSP/1", LINES, message=".messages:CspMessage", work=".bulk:work", plain=".messages:plain")
