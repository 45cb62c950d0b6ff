"""nSLIP: the complete wire form of SLIP v0.1, and a drop-in replacement for slipcore 0.1.0."""

from turnwire._lazy import attach
from turnwire.contract import TOKEN, Wire

__version__ = "0.1.0"
"""That of slipcore, for which ``turnwire.slip`` stands in."""

__all__, __getattr__, __dir__ = attach(__name__)

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
