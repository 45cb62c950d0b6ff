"""Token counts and budgets, counted offline: the cost of messages in every wire and in other formats."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
