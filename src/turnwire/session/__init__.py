"""Sessions: events that a model rereads, as compact text that loses nothing and reveals damage."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
