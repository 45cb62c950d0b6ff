"""Sessions: events for a model to reread, as compact lossless text that reveals damage."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
