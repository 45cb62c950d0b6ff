"""Sessions: events that a model reads again and again, as text of few tokens, nothing lost and loss detected."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
