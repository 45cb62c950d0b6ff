"""UBOS SAP V2.0: tasks, results, receipts, their rules, the cache, the learning loop and the transports."""

from turnwire import _lazy, contract as _contract

__all__, __getattr__, __dir__ = _lazy.attach(__name__)

DESCRIPTOR = _contract.built_in("sap", "SAP V2.0", _contract.OBJECT, message=".messages:Message", check=".rules:check")
