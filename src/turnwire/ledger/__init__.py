"""The ledger: an append-only, tamper-evident store in one SQLite file, with proofs (RFC 9162)."""

from turnwire._lazy import attach

__all__, __getattr__, __dir__ = attach(__name__)
