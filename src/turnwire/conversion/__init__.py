"""Converts messages of one wire to another; reports every loss and invents nothing."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
