"""Calls and their results: the records of a format that answer each other."""

PAIRS = ()
