"""CSP/1, the Compact State Protocol: messages, the state their patches build, and the rules of its tokens."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
