"""Scans of logs of any size: sources, batches of columns, rejects, statistics and files."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
