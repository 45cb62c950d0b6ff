"""KickLang: Space Format documents and inter-agent envelopes."""

from turnwire.kick.spec import WIRE  # first: the core modules import it
from turnwire.kick.space import Section, Space, parse_space, salvage_space

__all__ = ["WIRE", "Section", "Space", "parse_space", "salvage_space"]
