"""Compiled modules of the ledger."""
