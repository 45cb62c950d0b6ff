"""CSP/1, the Compact State Protocol: messages, the state that patches build, and the token rules."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
