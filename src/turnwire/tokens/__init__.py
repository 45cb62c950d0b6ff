"""Token counts and budgets, counted offline: the cost of messages in every wire and in other formats."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
