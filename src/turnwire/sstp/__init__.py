"""SSTP, the Structured Semantic Turn Protocol: seven kinds of messages, strict reading, salvaging from prose, and
sessions."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, Wire

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = Wire(
    "sstp",
    title="SSTP",
    package="turnwire.sstp",
    style=OBJECT,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".messages:Message",
    check=".codec:check",
    prompt=".prompt:prompt",
    bulk=".bulk:SCANNER",
    plan=".bulk:PLAN",
    pairs=".bulk:PAIRS",
    shape="turnwire.conversion.wires:SSTP",
    checklist=".checklist:CHECKLIST",
)
