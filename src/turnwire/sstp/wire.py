"""The descriptor of SSTP for the rest of turnwire."""

from turnwire.contract import OBJECT, Wire

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
