"""UBOS SAP V2.0: tasks, results, receipts, their rules, the cache, the learning loop and the transports."""

from turnwire._lazy import attach
from turnwire.contract import OBJECT, built_in

__all__, __getattr__, __dir__ = attach(__name__)

DESCRIPTOR = built_in(
    "sap", "SAP V2.0", OBJECT, message=".messages:Message", check=".rules:check", plan=".bulk:PLAN", work=".bulk:work"
)
