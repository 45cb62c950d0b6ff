"""Messages of one wire as messages of another, with nothing lost unnamed and nothing invented."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
