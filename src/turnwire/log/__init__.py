"""Logs of any size: sources in, batches of columns out, nothing lost."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
