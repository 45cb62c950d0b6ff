"""Compiled modules of SSTP."""
