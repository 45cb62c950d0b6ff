"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, built_in

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = built_in(
    "kick",
    "KickLang",
    OBJECT,
    detect=".space:detect",
    decode=".space:read",
    message=".codec:Envelope",
    plan=".bulk:PLAN",
    work=".bulk:work",
    documents=".space:DOCUMENTS",
)
