"""Compiled modules of framing: lines, prefixes and times."""
