"""The descriptor of SAP V2.0 for the rest of turnwire."""

from turnwire.contract import OBJECT, Wire

DESCRIPTOR = Wire(
    "sap",
    title="SAP V2.0",
    package="turnwire.sap",
    style=OBJECT,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".messages:Message",
    check=".rules:check",
    prompt=".prompt:prompt",
    bulk=".bulk:SCANNER",
    plan=".bulk:PLAN",
    pairs=".bulk:PAIRS",
    work=".bulk:work",
    shape="turnwire.conversion.wires:SAP",
    checklist=".checklist:CHECKLIST",
)
