"""SSTP, the Structured Semantic Turn Protocol: seven kinds of messages, strict reading, salvaging from prose, and
sessions."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
