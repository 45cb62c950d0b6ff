"""Blocks to rows: the block scanner, all wires at once, the ordered pool of threads, the assembly of a run."""
