"""The ledger: an append-only, tamper-evident store in one SQLite file, with proofs (RFC 9162)."""

from turnwire import _lazy

__all__, __getattr__, __dir__ = _lazy.attach(__name__)
