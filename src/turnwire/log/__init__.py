"""Scans of logs of any size: sources, batches of columns, rejects, statistics and files."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
