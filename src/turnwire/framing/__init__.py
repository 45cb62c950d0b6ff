"""Framing: where lines, prefixes, parts and documents begin and end in the bytes of a log."""
