"""Token counts and budgets: what messages cost a model in every wire and in other formats, counted offline."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
