"""Blocks to rows: the block scanner, all wires at once, the ordered pool of threads, the collector of results."""

from turnwire._lazy import require_numpy

require_numpy()
