"""Core modules of strict JSON and of the wires that are JSON objects."""
