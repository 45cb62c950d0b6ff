"""Blocks to rows: the search of all wires, the run that gives results in order."""

from turnwire._lazy import require_numpy

require_numpy()
