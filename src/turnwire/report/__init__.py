"""One self-contained page about a log: volume, senders and receivers, conversations, latencies, rejects, tokens."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
