"""UBOS SAP V2.0: tasks, results, receipts, their rules, the cache, the learning loop and the transports."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
