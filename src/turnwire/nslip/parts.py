"""The parts of an nSLIP message's text, for counting tokens."""

import re

PARTS = re.compile(
    r"""
    (?P<framing>\A@|\#\Z)
  | (?P<separators>\|)
  | (?<=[tu])(?P<quotes>")(?P<text>(?:[^"\\]|\\.)*)(?P<quotes_>")
  | (?<=[@|])(?P<prefixes>[A-Za-z])(?P<codes>(?<=[@|][af])[0-9A-Za-z]+)?(?P<ids>(?<=[@|][ckgprSd])[0-9A-Za-z]+)?
  | (?P<numbers>[0-9A-Za-z]+)
""",
    re.VERBOSE | re.DOTALL,
)
"""A named group for each part; a group whose name ends in ``_`` belongs to the part of the name without it."""
