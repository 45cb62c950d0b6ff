"""UBOS SAP V2.0: tasks, results, receipts, their rules, the cache, the learning loop and the transports."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, Wire

__all__, __getattr__, __dir__ = attach(__name__)

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
