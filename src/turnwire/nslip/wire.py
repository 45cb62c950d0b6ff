"""The descriptor of nSLIP for the rest of turnwire."""

from turnwire.contract import TOKEN, Wire

DESCRIPTOR = Wire(
    "nslip",
    title="nSLIP",
    package="turnwire.nslip",
    style=TOKEN,
    detect=".codec:detect",
    decode=".codec:decode",
    encode=".codec:encode",
    message=".codec:SlipMessage",
    check=".rules:check",
    prompt=".prompt:prompt",
    always_strict=True,
    bulk=".bulk:SCANNER",
    pairs=".bulk:PAIRS",
    work=".bulk:work",
    plain=".codec:plain",
    shape="turnwire.conversion.wires:NSLIP",
    checklist=".checklist:CHECKLIST",
)
