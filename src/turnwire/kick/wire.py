"""The descriptor of KickLang for the rest of turnwire."""

from turnwire.contract import OBJECT, Wire

DESCRIPTOR = Wire(
    "kick",
    title="KickLang",
    package="turnwire.kick",
    style=OBJECT,
    detect=".documents:detect",
    decode=".documents:read",
    encode=".codec:encode",
    message=".codec:Envelope",
    check=".codec:check",
    prompt=".prompt:prompt",
    bulk=".bulk:SCANNER",
    plan=".bulk:PLAN",
    pairs=".bulk:PAIRS",
    work=".bulk:work",
    shape="turnwire.conversion.wires:KICK",
    checklist=".checklist:CHECKLIST",
    documents=".documents:DOCUMENTS",
)
