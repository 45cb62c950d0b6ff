"""Sessions: events for a model to reread, as compact lossless text that reveals damage."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
