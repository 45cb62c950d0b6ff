"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, Wire

__all__, __getattr__, __dir__ = attach(__name__)

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
