"""The parts of a CSP/1 message's text, for counting tokens."""

import re

from turnwire.json.parts import TIME, UUID

PARTS = re.compile(
    rf"""
    (?P<magic>^CSP/1$)
  | (?P<words>^(?:FROM|TO|CTX|INTENT|TASK|RESULT|ERROR|PATCH|FILEOP|PLAN|QUERY|MEM|BASE|APPLY|[A-Z][A-Z0-9_]*)(?=[ \n]))
  | (?P<heredocs>^(?:<{{3,}}|>{{3,}})$)
  | (?P<newlines>\n)
  | (?P<uuids>{UUID})
  | (?P<timestamps>{TIME})
  | (?P<ids>\ [TEPFC]\d+\b)
  | (?P<text>[^\n]+?)(?=\ [TEPFC]\d+\b|{UUID}|{TIME}|$)
""",
    re.VERBOSE | re.MULTILINE,
)
"""A named group for each part."""
