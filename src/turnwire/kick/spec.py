"""KickLang as data. "Section" means a section of the specification (Inter-Agent Communication Rules, 001 to 004)."""

from __future__ import annotations

from turnwire.errors import Reason

WIRE = "kick"

# Space Format ----------------------------------------------------------------------------------------------------

SIGIL = "\u2afb"
SIGIL_BYTES = SIGIL.encode()

HEADER_ISSUES = (
    (1, Reason.EMPTY_HEADER, "the header has no name"),
    (2, Reason.LEADING_SPACE, "white space follows the sigil"),
    (4, Reason.TRAILING_SPACE, "the header ends in white space"),
    (8, Reason.NESTED_SIGIL, "the header holds a second sigil"),
    (16, Reason.SPACE_IN_QUALIFIER, "white space stands in the qualifier"),
)
"""What lenient reading forgives in a header: the bit that both twins report it by, the reason, the words."""
BOM_ISSUE = (Reason.BOM, "the document starts with a byte order mark")

PARTS = ("name", "type", "qualifier", "place", "index", "inline", "content", "raw")
"""The parts of a section, in the order of the constructor."""
