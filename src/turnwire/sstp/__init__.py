"""SSTP, the Structured Semantic Turn Protocol: seven kinds of message, strict and salvaged, and sessions of turns."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
