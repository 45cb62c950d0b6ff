"""The description of CSP/1 for the rest of turnwire."""

from turnwire.contract import LINES, Wire

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
