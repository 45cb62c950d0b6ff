"""Core modules of CSP/1."""
