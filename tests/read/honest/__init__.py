"""Logs that break one clause each, and logs that keep all, for every wire; read from the specifications.

What a name says is what is wrong, or what could look wrong and is not.
"""
