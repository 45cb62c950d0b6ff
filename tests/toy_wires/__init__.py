"""Three wires that exist only here, one of each style, each a folder that says all of itself in ``wire.py``."""

NAMES = ("note", "beep", "memo")
