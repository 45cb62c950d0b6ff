"""Compiled modules of SAP."""
