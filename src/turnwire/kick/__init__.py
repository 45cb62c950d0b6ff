"""KickLang: Space Format documents, envelopes between agents, and a monitor of their two loops."""

from turnwire import _lazy, contract as _contract

__all__, __getattr__, __dir__ = _lazy.attach(__name__)

DESCRIPTOR = _contract.built_in(
    "kick",
    "KickLang",
    _contract.OBJECT,
    detect=".space:detect",
    decode=".space:read",
    message=".codec:Envelope",
)
