"""Converts messages of one wire to another; reports every loss and invents nothing."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
