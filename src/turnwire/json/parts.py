"""The parts of the text of a JSON message, for counting tokens."""

import re

UUID = r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?"
PARTS = re.compile(
    rf"""
    (?P<quotes>")(?P<uuids>{UUID})(?P<quotes_>")
  | (?P<quotes__>")(?P<timestamps>{TIME})(?P<quotes___>")
  | (?P<names>"(?:[^"\\]|\\.)*"(?=\s*:))
  | (?P<quotes____>")(?P<text>(?:[^"\\]|\\.)*)(?P<quotes_____>")
  | (?P<separators>[{{}}\[\],:])
  | (?P<values>[^\s"{{}}\[\],:]+)
  | (?P<spaces>\s+)
""",
    re.VERBOSE | re.DOTALL,
)
"""A named group for each part; a group whose name ends in ``_`` belongs to the part of the name without it."""
