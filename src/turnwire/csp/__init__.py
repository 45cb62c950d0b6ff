"""CSP/1, the Compact State Protocol: messages, the state that patches build, and the token rules."""

from turnwire._lazy import attach
from turnwire.contract import LINES, Wire

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = Wire(
    "csp",
    title="CSP/1",
    package="turnwire.csp",
    style=LINES,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".messages:CspMessage",
    check=".codec:check",
    prompt=".prompt:prompt",
    bulk=".bulk:SCANNER",
    pairs=".bulk:PAIRS",
    work=".bulk:work",
    plain=".messages:plain",
    shape="turnwire.conversion.wires:CSP",
    checklist=".checklist:CHECKLIST",
)
