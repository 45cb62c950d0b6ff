"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
