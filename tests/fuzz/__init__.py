"""Fuzzing: any bytes, both cores, and what they say must be the same. `make fuzz` runs it."""
