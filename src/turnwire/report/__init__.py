"""One self-contained page about a log: volume, senders and receivers, conversations, latencies, rejects, tokens."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
