"""Formats of real traffic: what their tables find, and what is added up of it."""
