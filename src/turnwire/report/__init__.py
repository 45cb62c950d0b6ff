"""One self-contained page about a log: volume, who talks to whom, conversations, latencies, rejects, tokens."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
