"""SSTP, the Structured Semantic Turn Protocol: seven kinds of messages, strict reading, salvaging from prose, and
sessions."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, built_in

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = built_in("sstp", "SSTP", OBJECT, message=".messages:Message", plan=".bulk:PLAN")
